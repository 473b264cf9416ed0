package patch

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
)

// isSwap reports whether a directory takes the place of a file, or a file takes the place of a directory.
func (p journalEntry) isSwap() bool { return len(p.Tree)+len(p.Held) > 0 }

// stageTree writes the directory that takes a file's place.
func (w *writer) stageTree(parent *os.Root, p journalEntry) error {
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
	for _, name := range append(parentDirs(p.Tree), ".") {
		errs = append(errs, syncDir(dir, name))
	}
	return errors.Join(errs...)
}

// parentDirs returns the directories on the way to names, each before its own parent.
func parentDirs(names []string) []string {
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

// swapEntry puts the old file or directory aside as a whole, and the staged one in its place.
func (w *writer) swapEntry(parent *os.Root, p journalEntry) error {
	name := path.Base(p.Path)
	if err := p.checkUnswapped(parent, name); err != nil {
		return err
	}
	if err := w.beforeStep("keep", p.Path); err != nil {
		return err
	}
	if err := parent.Rename(name, p.Old); err != nil {
		return err
	}
	if err := p.checkHeld(parent, p.Old); err != nil { // another program may have added a file
		return err
	}
	if err := w.beforeStep("place", p.Path); err != nil {
		return err
	}
	return parent.Rename(p.Temp, name)
}

// checkUnswapped checks that a name still is in the planned state: the file, or the directory with exactly
// the files that are deleted.
func (p journalEntry) checkUnswapped(parent *os.Root, name string) error {
	if len(p.Tree) > 0 {
		return asMoved(checkUnmoved(parent, journalEntry{Path: p.Path, Existed: true, before: p.before}))
	}
	if err := p.checkHeld(parent, name); err != nil {
		return err
	}
	for i, held := range p.Held {
		dir, err := openSubdir(parent, path.Join(name, path.Dir(held)))
		if err == nil {
			err = errors.Join(checkUnmoved(dir, p.parts[i]), dir.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkHeld checks that the directory called name has the files that are deleted and no others.
func (p journalEntry) checkHeld(parent *os.Root, name string) error {
	if len(p.Held) == 0 {
		return nil
	}
	dir, err := openSubdir(parent, name)
	if err != nil {
		return asMoved(err)
	}
	defer dir.Close()
	dirs := parentDirs(p.Held)
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

// asMoved returns ErrMoved for an error that says that something else is there, or nothing. It returns
// other errors unchanged.
func asMoved(err error) error {
	if _, other := errors.AsType[*EntryError](err); other || errors.Is(err, fs.ErrNotExist) {
		return ErrMoved
	}
	return err
}

// undoSwap gives the old file or directory its name back, if it was put aside, and removes the staged one.
func undoSwap(parent *os.Root, p journalEntry) error {
	name := path.Base(p.Path)
	_, err := parent.Lstat(p.Old)
	if err == nil {
		if _, staged := parent.Lstat(p.Temp); errors.Is(staged, fs.ErrNotExist) {
			err = ignoreMissing(parent.Rename(name, p.Temp)) // the new one was in its place
		}
		if err == nil {
			err = parent.Rename(p.Old, name)
		}
	}
	if ignoreMissing(err) != nil {
		return err
	}
	return discardFiles(parent, p.Temp, p.Tree)
}

// discardFiles removes a file, or a directory with the named files. Other files in it stay, and so do the
// directories that lead to them. No link leads to what it removes: it returns ErrForeign for one.
func discardFiles(parent *os.Root, name string, files []string) error {
	if len(files) == 0 {
		return ignoreMissing(parent.Remove(name))
	}
	dir, err := openSubdir(parent, name)
	if err != nil {
		return asForeign(ignoreMissing(err))
	}
	defer dir.Close()
	for _, file := range files {
		if err := removeBelow(dir, file); err != nil {
			return asForeign(err)
		}
	}
	for _, sub := range parentDirs(files) {
		if err := removeBelow(dir, sub); err != nil && !errors.Is(err, fs.ErrExist) {
			return asForeign(err)
		}
	}
	if err := ignoreMissing(parent.Remove(name)); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// removeBelow removes a file or an empty directory below dir, if it is there.
func removeBelow(dir *os.Root, name string) error {
	parent, err := openSubdir(dir, path.Dir(name))
	if err != nil {
		return ignoreMissing(err)
	}
	defer parent.Close()
	return ignoreMissing(parent.Remove(path.Base(name)))
}

// asForeign returns ErrForeign for an error that says that something else is where a directory was put. It returns
// other errors unchanged.
func asForeign(err error) error {
	if _, other := errors.AsType[*EntryError](err); other {
		return ErrForeign
	}
	return err
}
