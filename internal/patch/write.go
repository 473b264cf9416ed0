package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// ErrMoved says that a file is no longer in the state for which the change was planned.
var ErrMoved = errors.New("the file has changed since the patch was planned")

// WriteChange puts c into the directory at root: all of it or, on any error, nothing. A second WriteChange
// of the same change returns ErrMoved.
//
// It writes every file beside its place, syncs it and renames it into its place, so a hard link elsewhere
// keeps the old content. It renames as a whole a file that becomes a directory, and a directory that
// becomes a file. A journal in the directory records how to undo the change. If a write is interrupted at
// any point, the next WriteChange or Recover undoes it, or finishes it if the change was already made. If
// even the undoing fails, the journal stays for Recover.
func WriteChange(root *os.Root, c *Change) error { return writeWithFault(root, c, nil) }

// writeWithFault is WriteChange with fault called before every step. An error of fault is the error of the
// step.
func writeWithFault(root *os.Root, c *Change, fault func(step, path string) error) error {
	w, err := beginWrite(root, fault)
	if err != nil {
		return err
	}
	wrote := w.makeChange(c)
	made, err := w.recoverJournal()
	switch {
	case made && err != nil:
		return w.locked.Close() // the next writer tidies up
	case err != nil:
		return errors.Join(fmt.Errorf("write %w", wrote), fmt.Errorf("undo: %w", err), w.locked.Close())
	case !made:
		return errors.Join(fmt.Errorf("write %w", wrote), w.endWrite())
	}
	return w.endWrite()
}

// writer writes one change.
type writer struct {
	root   *os.Root
	locked *os.File
	fault  func(step, path string) error
}

// beforeStep calls fault, by which a test learns the next step and can make it fail.
func (w *writer) beforeStep(step, path string) error {
	if w.fault == nil {
		return nil
	}
	return w.fault(step, path)
}

// makeChange performs the steps up to the decisive step: the rename of the journal to its last
// name. The journal tells whether that step was reached.
func (w *writer) makeChange(c *Change) error {
	j, err := w.prepareJournal(c)
	if err != nil {
		return err
	}
	if err := w.recordJournal(j, journalStaged); err != nil {
		return err
	}
	for _, d := range j.Dirs {
		if err := w.makeDir(d); err != nil {
			return err
		}
	}
	for _, p := range j.Puts {
		if err := w.stageEntry(p); err != nil {
			return fmt.Errorf("%s: %w", display.Line(p.Path), err)
		}
	}
	if err := w.advanceJournal(journalStaged, journalPlaced); err != nil {
		return err
	}
	for _, p := range j.Puts {
		if err := w.placeEntry(p); err != nil {
			return fmt.Errorf("%s: %w", display.Line(p.Path), err)
		}
	}
	if err := w.syncDirs(j); err != nil {
		return err
	}
	return w.advanceJournal(journalPlaced, journalDone)
}

// recordJournal writes the journal before any of the changes that it records.
func (w *writer) recordJournal(j journal, at string) error {
	if !j.isWellFormed() {
		return errors.New("journal: a name in it is not allowed, so it could not be undone")
	}
	if err := w.beforeStep("record", at); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	f, err := w.root.OpenFile(journalTemp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	err = writeJournal(f, j)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = w.root.Rename(journalTemp, at)
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return errors.Join(w.syncPath(journalDir), w.syncPath("."))
}

// writeJournal writes j, with the identity of f as its origin.
func writeJournal(f *os.File, j journal) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if j.Origin, err = originOf(info); err != nil {
		return err
	}
	raw, err := json.Marshal(j)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	return err
}

// advanceJournal renames the journal: the change enters its next state.
func (w *writer) advanceJournal(from, to string) error {
	if err := w.beforeStep("advance", to); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := w.root.Rename(from, to); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if to == journalDone {
		_ = w.syncPath(journalDir) // the rename can no longer be undone
		return nil
	}
	return w.syncPath(journalDir)
}

func (w *writer) makeDir(name string) error {
	if err := w.beforeStep("mkdir", name); err != nil {
		return fmt.Errorf("%s: %w", display.Line(name), err)
	}
	parent, err := openSubdir(w.root, path.Dir(name))
	if err != nil {
		return fmt.Errorf("%s: %w", display.Line(name), err)
	}
	defer parent.Close()
	if err := parent.Mkdir(path.Base(name), 0o777); err != nil {
		return fmt.Errorf("%s: %w", display.Line(name), err)
	}
	return nil
}

// stageEntry writes the new file beside its place. The new file keeps the permissions of the old one,
// except for the right to execute.
func (w *writer) stageEntry(p journalEntry) error {
	if p.Temp == "" {
		return nil
	}
	if err := w.beforeStep("stage", p.Path); err != nil {
		return err
	}
	parent, err := w.openParent(p)
	if err != nil {
		return err
	}
	defer parent.Close()
	if len(p.Tree) > 0 {
		return w.stageTree(parent, p)
	}
	return w.stageFile(parent, p.Temp, p)
}

// openParent opens the directory of p. It returns ErrMoved if an old file is expected there and the
// directory is missing.
func (w *writer) openParent(p journalEntry) (*os.Root, error) {
	parent, err := openSubdir(w.root, path.Dir(p.Path))
	if p.Existed && errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMoved
	}
	return parent, err
}

// stageFile writes the new file of p under the given name.
func (w *writer) stageFile(parent *os.Root, name string, p journalEntry) error {
	f, err := parent.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, p.perm)
	if err != nil {
		return err
	}
	_, err = f.Write(p.content)
	if err == nil && p.Existed && !p.isSwap() {
		err = keepMode(parent, p, f)
	}
	if err == nil {
		err = w.beforeStep("sync", p.Path)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// keepMode gives f the permissions of the old file, with the right to execute taken from the change.
func keepMode(parent *os.Root, p journalEntry, f *os.File) error {
	info, err := parent.Lstat(path.Base(p.Path))
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	if executable := p.perm&0o100 != 0; executable != (mode&0o100 != 0) {
		mode &^= 0o111
		if executable {
			mode |= mode >> 2 & 0o111
		}
	}
	return f.Chmod(mode)
}

// placeEntry checks the old state again and then puts the new file in its place, or removes the old one.
// The old file stays beside its place until the whole change is made.
func (w *writer) placeEntry(p journalEntry) error {
	parent, err := w.openParent(p)
	if err != nil {
		return err
	}
	defer parent.Close()
	if p.isSwap() {
		return w.swapEntry(parent, p)
	}
	name := path.Base(p.Path)
	if err := checkUnmoved(parent, p); err != nil {
		return err
	}
	if err := w.beforeStep("keep", p.Path); err != nil {
		return err
	}
	switch {
	case p.Temp == "":
		return parent.Rename(name, p.Old)
	case p.Existed:
		if err := keepOld(parent, name, p.Old); err != nil {
			return err
		}
	}
	if err := w.beforeStep("place", p.Path); err != nil {
		return err
	}
	return parent.Rename(p.Temp, name)
}

// keepOld gives the old file a second name. On a file system without hard links it renames the file.
func keepOld(parent *os.Root, name, old string) error {
	err := parent.Link(name, old)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return parent.Rename(name, old)
}

// checkUnmoved checks that a name still is in the planned state.
func checkUnmoved(parent *os.Root, p journalEntry) error {
	content, info, err := readRegular(parent, p.Path)
	switch {
	case !p.Existed && errors.Is(err, fs.ErrNotExist):
		return nil
	case !p.Existed && err == nil, p.Existed && errors.Is(err, fs.ErrNotExist):
		return ErrMoved
	case err != nil:
		return err
	case !bytes.Equal(content, p.before.Content) || modeFor(info) != p.before.Mode:
		return ErrMoved
	}
	return nil
}

// syncDirs makes the names of j durable.
func (w *writer) syncDirs(j journal) error {
	dirs := make(map[string]bool)
	for _, p := range j.Puts {
		dirs[path.Dir(p.Path)] = true
	}
	for _, d := range j.Dirs {
		dirs[path.Dir(d)] = true
	}
	var errs []error
	for d := range dirs {
		errs = append(errs, w.beforeStep("sync directory", d), ignoreMissing(w.syncPath(d)))
	}
	return errors.Join(errs...)
}

// syncPath syncs the directory at name.
func (w *writer) syncPath(name string) error {
	r := w.root
	if !strings.HasPrefix(name, journalDir) {
		d, err := openSubdir(w.root, name)
		if err != nil {
			return err
		}
		defer d.Close()
		r, name = d, "."
	}
	return syncDir(r, name)
}

func syncDir(r *os.Root, name string) error {
	f, err := r.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
