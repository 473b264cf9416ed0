package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
)

// The journal of a Write lies in the directory it writes to. Until it is called done,
// whatever was written is undone; afterwards whatever is left over is removed.
const (
	journalDir    = ownPrefix + "patch"
	journalLock   = journalDir + "/lock"
	journalTemp   = journalDir + "/temp"
	journalStaged = journalDir + "/staged" // temporary files may exist
	journalPlaced = journalDir + "/placed" // all of them exist, or have taken their places
	journalDone   = journalDir + "/done"   // the change is made
)

// journal is what has to be known to undo a Write.
type journal struct {
	Puts []put    `json:"puts"`
	Dirs []string `json:"dirs"` // directories that are made, parents first
}

// put is the change of one name.
type put struct {
	Path    string `json:"path"`
	Temp    string `json:"temp,omitempty"` // name beside it of the new file; empty when it is deleted
	Old     string `json:"old,omitempty"`  // name beside it of the file as it was; empty when there was none
	Existed bool   `json:"existed"`
	Sum     string `json:"sum,omitempty"` // blob id of the new file

	// Of a name that is a file before and a directory afterwards, or the other way
	// round: the files below it, which the new directory has or the old one had.
	Tree []string `json:"tree,omitempty"`
	Held []string `json:"held,omitempty"`

	content []byte
	perm    fs.FileMode
	before  *File
	parts   []put // what Tree or Held are
}

// Recover undoes what an interrupted Write has left in the directory at root, or
// removes what a finished one has. It does nothing when there is nothing to do, and again
// when it is interrupted itself and called once more. A Write of another process that is
// under way is ErrInterrupted.
func Recover(root *os.Root) error {
	if _, err := root.Lstat(journalDir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	w, err := begin(root, nil)
	if err != nil {
		return err
	}
	return w.end()
}

// begin takes the lock and puts right what an earlier Write has left.
func begin(root *os.Root, fault func(step, path string) error) (*writer, error) {
	w := &writer{root: root, fault: fault}
	if err := root.Mkdir(journalDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("begin to write: %w", err)
	}
	if info, err := root.Lstat(journalDir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("begin to write: %s is no directory", journalDir)
	}
	f, err := root.OpenFile(journalLock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin to write: %w", err)
	}
	w.locked = f
	if err := w.take(); err != nil {
		return nil, errors.Join(fmt.Errorf("begin to write: %w", err), f.Close())
	}
	if _, err := w.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("recover: %w", err), f.Close())
	}
	return w, nil
}

// take locks the journal, and makes sure that nobody removed it meanwhile.
func (w *writer) take() error {
	if err := lock(w.locked); err != nil {
		return err
	}
	mine, err := w.locked.Stat()
	if err != nil {
		return err
	}
	there, err := w.root.Lstat(journalLock)
	if err != nil || !os.SameFile(mine, there) {
		return ErrInterrupted
	}
	return nil
}

// recover reads the journal and undoes the change, or tidies up when it was made.
func (w *writer) recover() (made bool, err error) {
	for _, at := range []string{journalDone, journalPlaced, journalStaged} {
		raw, err := w.root.ReadFile(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var j journal
		if err == nil {
			err = json.Unmarshal(raw, &j)
		}
		if err != nil {
			return false, fmt.Errorf("read %s: %w", at, err)
		}
		if at == journalDone {
			return true, w.tidy(j)
		}
		return false, w.undo(j, at == journalPlaced)
	}
	return false, gone(w.root.Remove(journalTemp))
}

// undo makes every name what it was before. It stops at nothing, so that as much
// as can be is put right, but keeps the journal when something failed.
func (w *writer) undo(j journal, placed bool) error {
	var errs []error
	for _, p := range slices.Backward(j.Puts) {
		if err := w.undoPut(p, placed); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", Display(p.Path), err))
		}
	}
	for _, d := range slices.Backward(j.Dirs) {
		if err := w.removeDir(d); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	w.syncDirs(j)
	return errors.Join(w.forget(journalPlaced), w.forget(journalStaged))
}

func (w *writer) undoPut(p put, placed bool) error {
	if err := w.step("undo", p.Path); err != nil {
		return err
	}
	parent, err := descend(w.root, path.Dir(p.Path))
	if err != nil {
		return gone(err)
	}
	defer parent.Close()
	if p.swaps() {
		return undoSwap(parent, p)
	}
	name := path.Base(p.Path)
	if p.Temp != "" {
		err := parent.Remove(p.Temp)
		if err == nil && !p.Existed {
			return nil // it was never put in its place
		}
		if gone(err) != nil {
			return err
		}
	}
	if p.Existed {
		return restore(parent, p.Old, name)
	}
	if placed {
		return removeOurs(parent, p)
	}
	return nil
}

// restore gives the old file its name back, if it was put aside.
func restore(parent *os.Root, old, name string) error {
	if _, err := parent.Lstat(old); err != nil {
		return gone(err)
	}
	// A rename of one name of a file onto another name of it does nothing.
	return errors.Join(parent.Rename(old, name), gone(parent.Remove(old)))
}

// removeOurs removes a file that the Write made, unless it is someone else's by now.
func removeOurs(parent *os.Root, p put) error {
	content, _, err := read(parent, p.Path)
	if err != nil || blobID(content) != p.Sum {
		return gone(err)
	}
	return gone(parent.Remove(path.Base(p.Path)))
}

// gone is err unless it says that nothing is there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeDir removes a directory that the Write made, when nothing else is in it.
func (w *writer) removeDir(name string) error {
	parent, err := descend(w.root, path.Dir(name))
	if err != nil {
		return gone(err)
	}
	defer parent.Close()
	info, err := parent.Lstat(path.Base(name))
	if err != nil || !info.IsDir() {
		return gone(err)
	}
	_ = parent.Remove(path.Base(name)) // someone else's files may be in it by now
	return nil
}

// tidy removes the old files of a change that is made, and directories that it left empty.
func (w *writer) tidy(j journal) error {
	for _, p := range j.Puts {
		parent, err := descend(w.root, path.Dir(p.Path))
		if err != nil {
			continue
		}
		if p.Old != "" {
			err = discard(parent, p.Old, p.Held)
		}
		if err = errors.Join(err, parent.Close()); err != nil {
			return err
		}
		if p.Temp == "" {
			w.removeEmpty(path.Dir(p.Path))
		}
	}
	return w.forget(journalDone)
}

// removeEmpty removes a directory that has become empty, and its parents likewise.
func (w *writer) removeEmpty(name string) {
	for ; name != "."; name = path.Dir(name) {
		parent, err := descend(w.root, path.Dir(name))
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

func (w *writer) forget(at string) error { return gone(w.root.Remove(at)) }

// end gives the lock back and removes the journal.
func (w *writer) end() error {
	err := errors.Join(gone(w.root.Remove(journalLock)), gone(w.root.Remove(journalDir)))
	return errors.Join(err, w.locked.Close())
}
