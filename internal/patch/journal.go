package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// The journal of a write is in the directory that it writes to. Until its name is done, recovery undoes the write;
// afterwards recovery removes the leftovers.
const (
	journalDir    = ownPrefix + "patch"
	journalLock   = journalDir + "/lock"
	journalTemp   = journalDir + "/temp"
	journalStaged = journalDir + "/staged" // temporary files may exist
	journalPlaced = journalDir + "/placed" // all of them exist, or have taken their places
	journalDone   = journalDir + "/done"   // the change is made
)

var journalNames = []string{journalLock, journalTemp, journalStaged, journalPlaced, journalDone}

// ErrForeign says that WriteChange did not write the journal in a directory, or not to this place. Nothing in it is
// believed: a repository, an archive or a copy of a directory can bring one.
var ErrForeign = errors.New("the journal in " + journalDir + " is a checkout, a copy or of an older version and is not used: remove that directory (files that were put aside are called " + ownPrefix + "*.old, and the journal names their places)")

// journal holds everything that is needed to undo a write.
type journal struct {
	Puts   []journalEntry `json:"puts"`
	Dirs   []string       `json:"dirs"` // the directories to make, parents first
	Origin origin         `json:"origin"`
}

// origin is the identity of the file that holds a journal. A checkout and a copy have another one, and a rename within
// the directory changes nothing. The device is no part of it: a file system may have another number after a crash.
type origin struct {
	Inode uint64 `json:"inode"` // never 0
}

// journalEntry is the change of one name.
type journalEntry struct {
	Path    string `json:"path"`
	Temp    string `json:"temp,omitempty"` // the new file's name in the same directory; empty when the file is deleted
	Old     string `json:"old,omitempty"`  // the old file's name in the same directory; empty when there was none
	Existed bool   `json:"existed"`
	Sum     string `json:"sum,omitempty"` // blob id of the new file

	// Tree and Held are set for a name that changes from a file to a directory or back. They
	// list the files below it: Tree for the new directory, Held for the old one.
	Tree []string `json:"tree,omitempty"`
	Held []string `json:"held,omitempty"`

	content []byte
	perm    fs.FileMode
	before  *File
	parts   []journalEntry // the changes of the files in Tree or Held, in the same order
}

// Recover undoes an interrupted WriteChange in the directory at root, or removes the leftovers of a
// finished one. It does nothing if there is nothing to undo or remove. It may be interrupted itself and
// called again. It returns ErrInterrupted if another process is writing.
func Recover(root *os.Root) error {
	if _, err := root.Lstat(journalDir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	w, err := beginWrite(root, nil)
	if err != nil {
		return err
	}
	return w.endWrite()
}

// beginWrite locks the journal and undoes or finishes an earlier write.
func beginWrite(root *os.Root, fault func(step, path string) error) (*writer, error) {
	w := &writer{root: root, fault: fault}
	if err := root.Mkdir(journalDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("begin to write: %w", err)
	}
	if err := checkJournalDir(root); err != nil {
		return nil, fmt.Errorf("begin to write: %w", err)
	}
	f, err := root.OpenFile(journalLock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin to write: %w", err)
	}
	w.locked = f
	if err := w.lockJournal(); err != nil {
		return nil, errors.Join(fmt.Errorf("begin to write: %w", err), f.Close())
	}
	if _, err := w.recoverJournal(); err != nil {
		return nil, errors.Join(fmt.Errorf("recover: %w", err), f.Close())
	}
	return w, nil
}

// checkJournalDir returns ErrForeign if the directory of the journal is a link, or holds anything but the regular files
// of a journal.
func checkJournalDir(root *os.Root) error {
	info, err := root.Lstat(journalDir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return ErrForeign
	}
	dir, err := root.Open(journalDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	for _, e := range entries {
		if !e.Type().IsRegular() || !slices.Contains(journalNames, journalDir+"/"+e.Name()) {
			return ErrForeign
		}
	}
	return err
}

// lockJournal locks the journal, and makes sure that no other process removed it meanwhile.
func (w *writer) lockJournal() error {
	if err := lockFile(w.locked); err != nil {
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

// recoverJournal reads the journal and undoes the change, or removes the leftovers if the change was made.
func (w *writer) recoverJournal() (made bool, err error) {
	for _, at := range []string{journalDone, journalPlaced, journalStaged} {
		j, err := readJournal(w.root, at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		if at == journalDone {
			return true, w.tidyJournal(j)
		}
		return false, w.undoJournal(j, at == journalPlaced)
	}
	return false, ignoreMissing(w.root.Remove(journalTemp))
}

// readJournal reads the journal with this name. It returns ErrForeign for one that WriteChange did not write here.
func readJournal(root *os.Root, at string) (journal, error) {
	dir, err := openSubdir(root, journalDir)
	if err != nil {
		return journal{}, fmt.Errorf("read %s: %w", at, err)
	}
	defer dir.Close()
	raw, info, err := readRegular(dir, at)
	if err != nil {
		return journal{}, fmt.Errorf("read %s: %w", at, err)
	}
	here, err := originOf(info)
	if err != nil {
		return journal{}, fmt.Errorf("read %s: %w", at, err)
	}
	var j journal
	if err := json.Unmarshal(raw, &j); err != nil || j.Origin != here || !j.isWellFormed() {
		return journal{}, ErrForeign
	}
	return j, nil
}

var (
	tempName = regexp.MustCompile(`^\.ratchet-[A-Z2-7]{8}-[0-9]+\.new$`)
	oldName  = regexp.MustCompile(`^\.ratchet-[A-Z2-7]{8}-[0-9]+\.old$`)
)

// isWellFormed reports whether j can come from prepareJournal: it touches only names that a patch may change, and
// temporary files beside them.
func (j journal) isWellFormed() bool {
	return allAllowed(j.Dirs) && !slices.ContainsFunc(j.Puts, func(p journalEntry) bool { return !p.isWellFormed() })
}

// isWellFormed reports whether p can be an entry of prepareJournal.
func (p journalEntry) isWellFormed() bool {
	switch {
	case checkPath(p.Path) != "" || !allAllowed(p.Tree) || !allAllowed(p.Held):
		return false
	case p.Existed != oldName.MatchString(p.Old) || !p.Existed && p.Old != "":
		return false
	case p.Temp == "":
		return p.Existed && !p.isSwap()
	}
	return tempName.MatchString(p.Temp) && (p.Existed || !p.isSwap())
}

// allAllowed reports whether a patch may change all these names.
func allAllowed(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return checkPath(name) != "" })
}

// undoJournal restores every name to its state before the write. It continues after an error, so that as
// much as possible is restored, but keeps the journal if anything failed.
func (w *writer) undoJournal(j journal, placed bool) error {
	var errs []error
	for _, p := range slices.Backward(j.Puts) {
		if err := w.undoEntry(p, placed); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", display.Line(p.Path), err))
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
	return errors.Join(w.removeJournal(journalPlaced), w.removeJournal(journalStaged))
}

// undoEntry restores one name to its state before the write. placed says that every new file was staged.
func (w *writer) undoEntry(p journalEntry, placed bool) error {
	if err := w.beforeStep("undo", p.Path); err != nil {
		return err
	}
	parent, err := openSubdir(w.root, path.Dir(p.Path))
	if err != nil {
		return ignoreMissing(err)
	}
	defer parent.Close()
	if p.isSwap() {
		return undoSwap(parent, p)
	}
	name := path.Base(p.Path)
	if p.Temp != "" {
		err := parent.Remove(p.Temp)
		if err == nil && !p.Existed {
			return nil // the new file was never put in its place
		}
		if ignoreMissing(err) != nil {
			return err
		}
	}
	if p.Existed {
		return restoreOld(parent, p.Old, name)
	}
	if placed {
		return removeOurs(parent, p)
	}
	return nil
}

// restoreOld gives the old file its name back, if it was put aside.
func restoreOld(parent *os.Root, old, name string) error {
	if _, err := parent.Lstat(old); err != nil {
		return ignoreMissing(err)
	}
	// A rename of one name of a file onto another name of it does nothing.
	return errors.Join(parent.Rename(old, name), ignoreMissing(parent.Remove(old)))
}

// removeOurs removes a file that the write made, unless another program has replaced it meanwhile.
func removeOurs(parent *os.Root, p journalEntry) error {
	content, _, err := readRegular(parent, p.Path)
	if err != nil || blobID(content) != p.Sum {
		return ignoreMissing(err)
	}
	return ignoreMissing(parent.Remove(path.Base(p.Path)))
}

// ignoreMissing returns err unless it says that nothing is there.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeDir removes a directory that the write made, if nothing else is in it.
func (w *writer) removeDir(name string) error {
	parent, err := openSubdir(w.root, path.Dir(name))
	if err != nil {
		return ignoreMissing(err)
	}
	defer parent.Close()
	info, err := parent.Lstat(path.Base(name))
	if err != nil || !info.IsDir() {
		return ignoreMissing(err)
	}
	_ = parent.Remove(path.Base(name)) // files of other programs may be in it by now
	return nil
}

// tidyJournal removes the old files of a change that is made, and the directories that it left empty.
func (w *writer) tidyJournal(j journal) error {
	for _, p := range j.Puts {
		parent, err := openSubdir(w.root, path.Dir(p.Path))
		if err != nil {
			continue
		}
		if p.Old != "" {
			err = discardFiles(parent, p.Old, p.Held)
		}
		if err = errors.Join(err, parent.Close()); err != nil {
			return err
		}
		if p.Temp == "" {
			w.removeEmpty(path.Dir(p.Path))
		}
	}
	return w.removeJournal(journalDone)
}

// removeEmpty removes a directory that has become empty, and then its parents in the same way.
func (w *writer) removeEmpty(name string) {
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

// removeJournal removes the journal with this name, if it is there.
func (w *writer) removeJournal(at string) error { return ignoreMissing(w.root.Remove(at)) }

// endWrite removes the journal and releases the lock.
func (w *writer) endWrite() error {
	err := errors.Join(ignoreMissing(w.root.Remove(journalLock)), ignoreMissing(w.root.Remove(journalDir)))
	return errors.Join(err, w.locked.Close())
}
