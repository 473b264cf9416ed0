package scratch

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
)

// base is the commit below prefix in the form that package patch reads. It keeps the context
// because patch.Tree has none.
type base struct {
	ctx     context.Context
	index   *index
	prefix  string
	objects *git.Objects
	most    int // maximum bytes to read of one file
}

func (b base) Lookup(name string) (patch.File, error) {
	full := path.Join(b.prefix, name)
	e, ok := b.index.find(full)
	switch {
	case ok && e.mode.Regular():
		return b.readBlob(full, e.id, e.mode.Executable())
	case ok:
		return patch.File{}, &patch.EntryError{Path: name, Entry: kindOf(e.mode)}
	case len(b.index.entriesBelow(full)) > 0:
		return patch.File{}, &patch.EntryError{Path: name, Entry: patch.Directory}
	}
	for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
		if e, ok := b.index.find(path.Join(b.prefix, parent)); ok {
			return patch.File{}, &patch.EntryError{Path: parent, Entry: kindOf(e.mode)}
		}
	}
	return patch.File{}, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

func (b base) Names(dir string) ([]string, error) {
	full := path.Join(b.prefix, dir)
	below := b.index.entriesBelow(full)
	if len(below) == 0 && full != "." {
		return nil, fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	var names []string
	for _, e := range below {
		rest := e.path
		if full != "." {
			rest = e.path[len(full)+1:]
		}
		name, _, _ := strings.Cut(rest, "/")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names, nil
}

// readBlob reads a blob. The error matches patch.ErrTooLarge when it is too big.
func (b base) readBlob(name string, id git.ID, executable bool) (patch.File, error) {
	o, err := b.objects.Read(b.ctx, id, int64(b.most))
	if err != nil {
		return patch.File{}, fmt.Errorf("read %s: %w", name, err)
	}
	if o.Size > int64(b.most) {
		return patch.File{}, fmt.Errorf("%s: %d bytes: %w", name, o.Size, patch.ErrTooLarge)
	}
	mode := patch.Regular
	if executable {
		mode = patch.Executable
	}
	return patch.File{Mode: mode, Content: o.Content}, nil
}

// kindOf returns the kind of an entry in the place of a directory or a regular file.
func kindOf(m git.Mode) patch.EntryKind {
	switch {
	case m.Regular():
		return patch.Parent
	case m == git.ModeSymlink:
		return patch.Symlink
	}
	return patch.Gitlink
}
