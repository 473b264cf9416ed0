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
	for i, step := range []struct {
		files []*write
		do    func(*write) error
	}{
		{slices.Concat(puts, deletes), w.check}, {puts, w.stage}, // an error of these changes nothing
		{puts, w.replace}, {deletes, w.replace}, {late, w.check}, {late, w.stage}, {late, w.replace},
	} {
		for _, f := range step.files {
			err := step.do(f)
			if err == nil {
				continue
			}
			if i > 0 {
				w.unstage(slices.Concat(puts, late))
			}
			if i > 1 {
				err = fmt.Errorf("%w; some files of the patch may be written: see git diff", err)
			}
			return fmt.Errorf("write %s: %w", display.Line(f.path), err)
		}
	}
	return nil
}

// write is the effect of a change on one name.
type write struct {
	path          string
	before, after *File       // nil: no file
	temp          string      // the name of the new file beside its place
	perm          fs.FileMode // of the file that was there when it was last checked
}

// writes returns the effects of c: the files that can be written before any is deleted, the ones to delete, and the
// ones whose names are free only then, such as a file that takes the place of a directory.
func (c *Change) writes() (puts, deletes, late []*write) {
	var all []*write
	byName := make(map[string]*write)
	at := func(name string) *write {
		if byName[name] == nil {
			byName[name] = &write{path: name, temp: ownPrefix + rand.Text()[:12] + ".new"}
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
			deletes, gone = append(deletes, f), append(gone, foldCase(f.path)+"/")
		}
	}
	for _, f := range all {
		name := foldCase(f.path) + "/"
		switch {
		case f.after == nil:
		case slices.ContainsFunc(gone, func(g string) bool { return strings.HasPrefix(g, name) || strings.HasPrefix(name, g) }):
			late = append(late, f)
		default:
			puts = append(puts, f)
		}
	}
	return puts, deletes, late
}

type writer struct{ root *os.Root }

// check returns ErrMoved unless a name still is in the planned state. The directory of a new file may be missing.
func (w writer) check(f *write) error {
	parent, err := w.openChecked(f)
	if err == nil {
		return parent.Close()
	}
	if f.before == nil && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// openChecked opens the directory of a name that still is in the planned state. Otherwise it returns ErrMoved.
func (w writer) openChecked(f *write) (*os.Root, error) {
	parent, err := openSubdir(w.root, path.Dir(f.path))
	if err == nil {
		var content []byte
		var info fs.FileInfo
		switch content, info, err = readRegular(parent, f.path); {
		case f.before == nil && errors.Is(err, fs.ErrNotExist):
			return parent, nil
		case err == nil && f.before != nil && bytes.Equal(content, f.before.Content) && modeFor(info) == f.before.Mode:
			f.perm = info.Mode().Perm()
			return parent, nil
		case err == nil:
			err = ErrMoved
		}
		parent.Close()
	}
	if _, other := errors.AsType[*EntryError](err); other || errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrMoved, err)
	}
	return nil, err
}

// stage writes the new file beside its place. The new file keeps the permissions of the old one, except for the right to
// execute.
func (w writer) stage(f *write) error {
	if err := w.root.MkdirAll(path.Dir(f.path), 0o777); err != nil {
		return err
	}
	parent, err := openSubdir(w.root, path.Dir(f.path))
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
	_, err = file.Write(f.after.Content)
	if f.before != nil {
		if f.after.Mode != f.before.Mode {
			f.perm = perm & (f.perm&^0o111 | f.perm>>2&0o111) // execute for all who may read, or for no one
		}
		err = errors.Join(err, file.Chmod(f.perm))
	}
	return errors.Join(err, file.Sync(), file.Close())
}

// replace checks the old state again and puts the new file in its place. If there is none, it deletes the old file and
// the directories that this leaves empty.
func (w writer) replace(f *write) error {
	parent, err := w.openChecked(f)
	if err != nil {
		return err
	}
	defer parent.Close()
	if f.after != nil {
		return parent.Rename(f.temp, path.Base(f.path))
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
		_ = w.root.Remove(path.Join(path.Dir(f.path), f.temp))
		w.removeEmpty(path.Dir(f.path))
	}
}

// removeEmpty removes a directory that is empty, and then its parents in the same way.
func (w writer) removeEmpty(name string) {
	for ; name != "."; name = path.Dir(name) {
		if info, err := w.root.Lstat(name); err != nil || !info.IsDir() || w.root.Remove(name) != nil {
			return
		}
	}
}
