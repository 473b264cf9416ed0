package patch_test

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

// memory is a tree of files, with other entries by path.
type memory struct {
	files   map[string]patch.File
	entries map[string]patch.EntryKind
}

func (m memory) Lookup(name string) (patch.File, error) {
	if f, ok := m.files[name]; ok {
		return f, nil
	}
	for dir := name; dir != "."; dir = path.Dir(dir) {
		if e, ok := m.entries[dir]; ok {
			return patch.File{}, &patch.EntryError{Path: dir, Entry: e}
		}
		if _, ok := m.files[dir]; ok {
			return patch.File{}, &patch.EntryError{Path: dir, Entry: patch.Parent}
		}
	}
	if names, _ := m.Names(name); len(names) > 0 {
		return patch.File{}, &patch.EntryError{Path: name, Entry: patch.Directory}
	}
	return patch.File{}, fs.ErrNotExist
}

func (m memory) Names(dir string) ([]string, error) {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	names := make(map[string]bool)
	for _, p := range slices.Concat(slices.Collect(maps.Keys(m.files)), slices.Collect(maps.Keys(m.entries))) {
		if rest, ok := strings.CutPrefix(p, prefix); ok {
			first, _, _ := strings.Cut(rest, "/")
			names[first] = true
		}
	}
	if len(names) == 0 {
		return nil, fs.ErrNotExist
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// after is the tree with a change applied.
func (m memory) after(c *patch.Change) map[string]patch.File {
	files := maps.Clone(m.files)
	for _, f := range c.Files {
		if f.Kind == patch.Deleted {
			delete(files, f.Path)
		}
		if f.Kind == patch.Renamed {
			delete(files, f.OldPath)
		}
	}
	for _, f := range c.Files {
		if f.After != nil {
			files[f.Path] = *f.After
		}
	}
	return files
}
