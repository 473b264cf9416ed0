package patch

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
)

// swaps reports whether a directory takes the place of a file, or a file that of a
// directory.
func (p put) swaps() bool { return len(p.Tree)+len(p.Held) > 0 }

// stageTree writes the directory that takes a file's place.
func (w *writer) stageTree(parent *os.Root, p put) error {
	if err := parent.Mkdir(p.Temp, 0o777); err != nil {
		return err
	}
	dir, err := parent.OpenRoot(p.Temp)
	if err != nil {
		return err
	}
	defer dir.Close()
	for i, name := range p.Tree {
		if err := dir.MkdirAll(path.Dir(name), 0o777); err != nil {
			return err
		}
		if err := w.stageFile(dir, name, p.parts[i]); err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range append(parents(p.Tree), ".") {
		errs = append(errs, syncDir(dir, name))
	}
	return errors.Join(errs...)
}

// parents are the directories on the way to names, each before those that it is in.
func parents(names []string) []string {
	var dirs []string
	for _, name := range names {
		for dir := path.Dir(name); dir != "." && !slices.Contains(dirs, dir); dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	slices.Reverse(dirs)
	return dirs
}

// swap puts aside what is there as a whole, and what is staged in its place.
func (w *writer) swap(parent *os.Root, p put) error {
	name := path.Base(p.Path)
	if err := p.unswapped(parent, name); err != nil {
		return err
	}
	if err := w.step("keep", p.Path); err != nil {
		return err
	}
	if err := parent.Rename(name, p.Old); err != nil {
		return err
	}
	if err := p.holds(parent, p.Old); err != nil { // somebody else's file may have come
		return err
	}
	if err := w.step("place", p.Path); err != nil {
		return err
	}
	return parent.Rename(p.Temp, name)
}

// unswapped checks that a name still is what the plan was made for: the file, or
// the directory with the files that go and nothing else.
func (p put) unswapped(parent *os.Root, name string) error {
	if len(p.Tree) > 0 {
		return moved(unmoved(parent, put{Path: p.Path, Existed: true, before: p.before}))
	}
	if err := p.holds(parent, name); err != nil {
		return err
	}
	for i, held := range p.Held {
		dir, err := descend(parent, path.Join(name, path.Dir(held)))
		if err == nil {
			err = errors.Join(unmoved(dir, p.parts[i]), dir.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holds checks that the directory called name has the files that go and nothing else.
func (p put) holds(parent *os.Root, name string) error {
	if len(p.Held) == 0 {
		return nil
	}
	dir, err := descend(parent, name)
	if err != nil {
		return moved(err)
	}
	defer dir.Close()
	dirs := parents(p.Held)
	return fs.WalkDir(dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		known := name == "." || slices.Contains(p.Held, name) || d != nil && d.IsDir() && slices.Contains(dirs, name)
		switch {
		case err != nil:
			return err
		case !known:
			return ErrMoved
		}
		return nil
	})
}

// moved is ErrMoved for an error that says that something else is there, or nothing.
func moved(err error) error {
	if _, other := errors.AsType[*EntryError](err); other || errors.Is(err, fs.ErrNotExist) {
		return ErrMoved
	}
	return err
}

// undoSwap gives what was put aside its name back, if it was, and removes what was
// staged.
func undoSwap(parent *os.Root, p put) error {
	name := path.Base(p.Path)
	_, err := parent.Lstat(p.Old)
	if err == nil {
		if _, staged := parent.Lstat(p.Temp); errors.Is(staged, fs.ErrNotExist) {
			err = gone(parent.Rename(name, p.Temp)) // it was in its place
		}
		if err == nil {
			err = parent.Rename(p.Old, name)
		}
	}
	if gone(err) != nil {
		return err
	}
	return discard(parent, p.Temp, p.Tree)
}

// discard removes a file, or a directory with the files named. Whatever else is in
// it stays, and so do the directories that lead to it.
func discard(parent *os.Root, name string, files []string) error {
	if len(files) == 0 {
		return gone(parent.Remove(name))
	}
	for _, file := range files {
		if err := gone(parent.Remove(path.Join(name, file))); err != nil {
			return err
		}
	}
	for _, dir := range append(parents(files), ".") {
		if err := gone(parent.Remove(path.Join(name, dir))); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
