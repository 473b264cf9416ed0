package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
)

// edit holds the changes to one name of a tree: to the file there, to names below it, or to both
// where a file gives way to a directory or a directory to a file.
type edit struct {
	file  *exchange
	below map[string]*edit
}

// exchange replaces, makes or deletes a file. A nil entry means an absent file.
type exchange struct{ before, after *git.Entry }

// planEdits turns a change into the edit of the repository's root, and puts the new contents into pack.
func planEdits(pack *git.Pack, like git.ID, prefix string, c *patch.Change) (*edit, error) {
	top := &edit{}
	for _, f := range c.Files {
		before, after := blobEntry(like, f.Before), blobEntry(like, f.After)
		if f.After != nil {
			pack.Add(git.Blob, f.After.Content)
		}
		var err error
		switch f.Kind {
		case patch.Renamed:
			if err = top.add(prefix, f.OldPath, exchange{before: before}); err == nil {
				err = top.add(prefix, f.Path, exchange{after: after})
			}
		case patch.Copied:
			err = top.add(prefix, f.Path, exchange{after: after})
		default:
			err = top.add(prefix, f.Path, exchange{before, after})
		}
		if err != nil {
			return nil, err
		}
	}
	return top, nil
}

// blobEntry returns the tree entry of a file, without its name.
func blobEntry(like git.ID, f *patch.File) *git.Entry {
	if f == nil {
		return nil
	}
	mode := git.ModeFile
	if f.Mode == patch.Executable {
		mode = git.ModeExecutable
	}
	return &git.Entry{Mode: mode, ID: git.Identify(like, git.Blob, f.Content)}
}

// add puts an exchange at a path. Plan has checked the path. add also keeps a caller that did not
// plan inside the tree and out of .git.
func (e *edit) add(prefix, name string, x exchange) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("path %q: not a clean relative path", name)
	}
	for part := range strings.SplitSeq(path.Join(prefix, name), "/") {
		if strings.EqualFold(part, ".git") {
			return fmt.Errorf("path %q: inside a git directory", name)
		}
		if e.below == nil {
			e.below = map[string]*edit{}
		}
		if e.below[part] == nil {
			e.below[part] = &edit{}
		}
		e = e.below[part]
	}
	if e.file != nil {
		return fmt.Errorf("path %q: changed twice", name)
	}
	e.file = &x
	return nil
}

// rewriter makes the trees that result from edits.
type rewriter struct {
	store *store
	pack  *git.Pack
}

// rewriteTree applies the edits below one directory and returns the id of its new tree. The new id is
// empty when nothing is left in the directory. An empty id stands for a directory that does not
// exist yet.
func (r rewriter) rewriteTree(ctx context.Context, dir string, id git.ID, e *edit) (git.ID, error) {
	var entries []git.Entry
	if id != "" {
		old, err := r.store.treeEntries(ctx, id)
		if err != nil {
			return "", err
		}
		entries = slices.Clone(old)
	}
	for _, name := range slices.Sorted(maps.Keys(e.below)) {
		i := slices.IndexFunc(entries, func(e git.Entry) bool { return e.Name == name })
		var old *git.Entry
		if i >= 0 {
			old = &entries[i]
		}
		entry, err := r.rewriteEntry(ctx, path.Join(dir, name), old, e.below[name])
		if err != nil {
			return "", err
		}
		switch {
		case entry == nil && i >= 0:
			entries = slices.Delete(entries, i, i+1)
		case entry != nil && i >= 0:
			entries[i] = git.Entry{Name: name, Mode: entry.Mode, ID: entry.ID}
		case entry != nil:
			entries = append(entries, git.Entry{Name: name, Mode: entry.Mode, ID: entry.ID})
		}
	}
	if len(entries) == 0 {
		return "", nil
	}
	return r.pack.Add(git.Tree, git.FormatTree(entries)), nil
}

// rewriteEntry applies an edit to one name. It empties a directory before a file takes its name, and
// removes a file before a directory takes its name.
func (r rewriter) rewriteEntry(ctx context.Context, name string, at *git.Entry, e *edit) (*git.Entry, error) {
	directory := at != nil && at.Mode == git.ModeTree
	var err error
	if directory && e.below != nil {
		if at, err = r.descendInto(ctx, name, at, e); err != nil {
			return nil, err
		}
	}
	if e.file != nil {
		if !sameEntry(at, e.file.before) {
			return nil, fmt.Errorf("%s: %w", name, ErrPlan)
		}
		at = e.file.after
	}
	if !directory && e.below != nil {
		return r.descendInto(ctx, name, at, e)
	}
	return at, nil
}

func (r rewriter) descendInto(ctx context.Context, name string, at *git.Entry, e *edit) (*git.Entry, error) {
	var id git.ID
	switch {
	case at != nil && at.Mode == git.ModeTree:
		id = at.ID
	case at != nil:
		return nil, fmt.Errorf("%s: %w: it is not a directory", name, ErrPlan)
	}
	id, err := r.rewriteTree(ctx, name, id, e)
	if err != nil || id == "" {
		return nil, err
	}
	return &git.Entry{Mode: git.ModeTree, ID: id}, nil
}

// sameEntry reports whether the entry in the tree equals the entry that the plan saw.
func sameEntry(at, planned *git.Entry) bool {
	if at == nil || planned == nil {
		return at == planned
	}
	return at.ID == planned.ID && at.Mode.Regular() && at.Mode.Executable() == planned.Mode.Executable()
}
