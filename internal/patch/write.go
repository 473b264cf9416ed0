package patch

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// ErrMoved says that a file is no longer in the state for which the change was planned.
var ErrMoved = errors.New("the file has changed since the patch was planned")

// WriteChange puts c into the directory at root. It checks every file and writes the new ones beside their places first:
// an error until then leaves everything as it was. Then it renames each file into its place, so a hard link elsewhere
// keeps the old content. An error or a kill from then on may leave some files in the old state and some in the new one,
// but none half-written.
func WriteChange(root *os.Root, c *Change) error {
	w := writer{root}
	puts, deletes, late := c.writes()
	for _, f := range slices.Concat(puts, deletes) {
		if err := w.check(f); err != nil {
			return fmt.Errorf("write %s: %w", display.Line(f.path), err)
		}
	}
	for _, f := range puts {
		if err := w.stage(f); err != nil {
			w.unstage(puts)
			return fmt.Errorf("write %s: %w", display.Line(f.path), err)
		}
	}
	for _, step := range []struct {
		files []*write
		do    func(*write) error
	}{{puts, w.place}, {deletes, w.remove}, {late, w.stage}, {late, w.place}} {
		for _, f := range step.files {
			if err := step.do(f); err != nil {
				w.unstage(slices.Concat(puts, late))
				return fmt.Errorf("write %s: %w; some files of the patch may be written: see git diff", display.Line(f.path), err)
			}
		}
	}
	return nil
}

// write is the effect of a change on one name.
type write struct {
	path          string
	before, after *File  // nil: no file
	temp          string // the name of the new file beside its place
	staged        bool   // the new file has that name
}

// writes returns the effects of c: the files that can be written before any is deleted, the ones to delete, and the
// ones whose names are free only then, such as a file that takes the place of a directory.
func (c *Change) writes() (puts, deletes, late []*write) {
	var all []*write
	byName := make(map[string]*write)
	mark := ownPrefix + rand.Text()[:8]
	at := func(name string) *write {
		if byName[name] == nil {
			byName[name] = &write{path: name, temp: fmt.Sprintf("%s-%d.new", mark, len(all))}
			all = append(all, byName[name])
		}
		return byName[name]
	}
	for _, f := range c.Files {
		switch {
		case f.Kind == Renamed:
			at(f.OldPath).before = f.Before
		case f.Kind != Copied && f.Before != nil:
			at(f.Path).before = f.Before
		}
		if f.After != nil {
			at(f.Path).after = f.After
		}
	}
	var gone []string
	for _, f := range all {
		if f.after == nil {
			deletes, gone = append(deletes, f), append(gone, foldCase(f.path))
		}
	}
	for _, f := range all {
		name := foldCase(f.path)
		switch {
		case f.after == nil:
		case slices.ContainsFunc(gone, func(g string) bool {
			return g == name || strings.HasPrefix(g, name+"/") || strings.HasPrefix(name, g+"/")
		}):
			late = append(late, f)
		default:
			puts = append(puts, f)
		}
	}
	return puts, deletes, late
}

type writer struct{ root *os.Root }

// check returns ErrMoved unless a name still is in the planned state.
func (w writer) check(f *write) error {
	parent, err := openSubdir(w.root, path.Dir(f.path))
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.before == nil:
		return nil
	case err != nil:
		return movedError(err)
	}
	defer parent.Close()
	return f.check(parent)
}

func (f *write) check(parent *os.Root) error {
	content, info, err := readRegular(parent, f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.before == nil:
		return nil
	case err != nil:
		return movedError(err)
	case f.before == nil, !bytes.Equal(content, f.before.Content) || modeFor(info) != f.before.Mode:
		return ErrMoved
	}
	return nil
}

// movedError returns ErrMoved for an error that says that something else is there, or nothing. It returns other errors
// unchanged.
func movedError(err error) error {
	if _, other := errors.AsType[*EntryError](err); other || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrMoved, err)
	}
	return err
}

// stage writes the new file beside its place. The new file keeps the permissions of the old one, except for the right to
// execute.
func (w writer) stage(f *write) error {
	parent, err := w.makeDir(path.Dir(f.path))
	if err != nil {
		return err
	}
	defer parent.Close()
	perm := fs.FileMode(0o666)
	if f.after.Mode == Executable {
		perm = 0o777
	}
	file, err := parent.OpenFile(f.temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	f.staged = true
	_, err = file.Write(f.after.Content)
	if err == nil && f.before != nil {
		err = f.keepMode(parent, file)
	}
	return errors.Join(err, file.Sync(), file.Close())
}

// makeDir opens a directory, and makes it where it is missing.
func (w writer) makeDir(name string) (*os.Root, error) {
	dir, err := openSubdir(w.root, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	parent, err := w.makeDir(path.Dir(name))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	if err := parent.Mkdir(path.Base(name), 0o777); err != nil {
		return nil, err
	}
	return openSubdir(w.root, name)
}

// keepMode gives the new file the permissions of the old one, with the right to execute taken from the change.
func (f *write) keepMode(parent *os.Root, file *os.File) error {
	info, err := parent.Lstat(path.Base(f.path))
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	if executable := f.after.Mode == Executable; executable != (mode&0o100 != 0) {
		mode &^= 0o111
		if executable {
			mode |= mode >> 2 & 0o111
		}
	}
	return file.Chmod(mode)
}

// place checks the old state again and puts the new file in its place.
func (w writer) place(f *write) error {
	parent, err := openSubdir(w.root, path.Dir(f.path))
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := f.check(parent); err != nil {
		return err
	}
	if err := parent.Rename(f.temp, path.Base(f.path)); err != nil {
		return err
	}
	f.staged = false
	return nil
}

// remove checks the old state again and deletes the file, and the directories that it leaves empty.
func (w writer) remove(f *write) error {
	parent, err := openSubdir(w.root, path.Dir(f.path))
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := f.check(parent); err != nil {
		return err
	}
	if err := parent.Remove(path.Base(f.path)); err != nil {
		return err
	}
	w.removeEmpty(path.Dir(f.path))
	return nil
}

// unstage removes the new files that are not in their places, and the directories that are empty without them.
func (w writer) unstage(files []*write) {
	for _, f := range files {
		if parent, err := openSubdir(w.root, path.Dir(f.path)); err == nil {
			if f.staged {
				_ = parent.Remove(f.temp)
			}
			parent.Close()
			w.removeEmpty(path.Dir(f.path))
		}
	}
}

// removeEmpty removes a directory that is empty, and then its parents in the same way.
func (w writer) removeEmpty(name string) {
	for ; name != "."; name = path.Dir(name) {
		parent, err := openSubdir(w.root, path.Dir(name))
		if err != nil {
			return
		}
		info, err := parent.Lstat(path.Base(name))
		if err == nil && info.IsDir() {
			err = parent.Remove(path.Base(name))
		}
		parent.Close()
		if err != nil {
			return
		}
	}
}
