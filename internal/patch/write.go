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
)

// ErrMoved says that a file is not what it was when the change was planned.
var ErrMoved = errors.New("the file has changed since the patch was planned")

// Write puts c into the directory at root: all of it or, on any error, nothing.
// A second Write of the same change is ErrMoved.
//
// Every file is written beside its place, synced and renamed into it, so a hard
// link elsewhere keeps the old content. A file that becomes a directory, or the other
// way round, is renamed as a whole. A journal in the directory tells what to undo: a
// Write that is interrupted at any point is undone, or finished when it was made already, by the next Write
// or by Recover. When even the undoing fails the journal stays for Recover.
func Write(root *os.Root, c *Change) error { return write(root, c, nil) }

// write is Write with fault called before every step; an error of it is the step's.
func write(root *os.Root, c *Change, fault func(step, path string) error) error {
	w, err := begin(root, fault)
	if err != nil {
		return err
	}
	wrote := w.write(c)
	made, err := w.recover()
	switch {
	case made && err != nil:
		return w.locked.Close() // the next writer tidies up
	case err != nil:
		return errors.Join(fmt.Errorf("write %w", wrote), fmt.Errorf("undo: %w", err), w.locked.Close())
	case !made:
		return errors.Join(fmt.Errorf("write %w", wrote), w.end())
	}
	return w.end()
}

// writer writes one change.
type writer struct {
	root   *os.Root
	locked *os.File
	fault  func(step, path string) error
}

// step tells a test what comes next.
func (w *writer) step(step, path string) error {
	if w.fault == nil {
		return nil
	}
	return w.fault(step, path)
}

// write goes through the steps up to the one that makes the change: the journal's last
// name. Whether it got there is for the journal to say.
func (w *writer) write(c *Change) error {
	j, err := w.prepare(c)
	if err != nil {
		return err
	}
	if err := w.record(j, journalStaged); err != nil {
		return err
	}
	for _, d := range j.Dirs {
		if err := w.mkdir(d); err != nil {
			return err
		}
	}
	for _, p := range j.Puts {
		if err := w.stage(p); err != nil {
			return fmt.Errorf("%s: %w", Display(p.Path), err)
		}
	}
	if err := w.advance(journalStaged, journalPlaced); err != nil {
		return err
	}
	for _, p := range j.Puts {
		if err := w.place(p); err != nil {
			return fmt.Errorf("%s: %w", Display(p.Path), err)
		}
	}
	if err := w.syncDirs(j); err != nil {
		return err
	}
	return w.advance(journalPlaced, journalDone)
}

// record writes the journal before anything that it tells about.
func (w *writer) record(j journal, at string) error {
	raw, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := w.step("record", at); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	f, err := w.root.OpenFile(journalTemp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = w.root.Rename(journalTemp, at)
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return errors.Join(w.sync(journalDir), w.sync("."))
}

// advance renames the journal: the change enters its next state.
func (w *writer) advance(from, to string) error {
	if err := w.step("advance", to); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := w.root.Rename(from, to); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if to == journalDone {
		_ = w.sync(journalDir) // what has been renamed can no longer be undone
		return nil
	}
	return w.sync(journalDir)
}

func (w *writer) mkdir(name string) error {
	if err := w.step("mkdir", name); err != nil {
		return fmt.Errorf("%s: %w", Display(name), err)
	}
	parent, err := descend(w.root, path.Dir(name))
	if err != nil {
		return fmt.Errorf("%s: %w", Display(name), err)
	}
	defer parent.Close()
	if err := parent.Mkdir(path.Base(name), 0o777); err != nil {
		return fmt.Errorf("%s: %w", Display(name), err)
	}
	return nil
}

// stage writes the new file beside its place. It keeps the permissions of the file it
// replaces, but for the right to execute.
func (w *writer) stage(p put) error {
	if p.Temp == "" {
		return nil
	}
	if err := w.step("stage", p.Path); err != nil {
		return err
	}
	parent, err := w.parent(p)
	if err != nil {
		return err
	}
	defer parent.Close()
	if len(p.Tree) > 0 {
		return w.stageTree(parent, p)
	}
	return w.stageFile(parent, p.Temp, p)
}

// parent opens the directory that p is in. Where there was a file, it was there.
func (w *writer) parent(p put) (*os.Root, error) {
	parent, err := descend(w.root, path.Dir(p.Path))
	if p.Existed && errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMoved
	}
	return parent, err
}

// stageFile writes the new file of p as name.
func (w *writer) stageFile(parent *os.Root, name string, p put) error {
	f, err := parent.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, p.perm)
	if err != nil {
		return err
	}
	_, err = f.Write(p.content)
	if err == nil && p.Existed && !p.swaps() {
		err = keepMode(parent, p, f)
	}
	if err == nil {
		err = w.step("sync", p.Path)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

func keepMode(parent *os.Root, p put, f *os.File) error {
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

// place makes the new file the file, or removes it, after another look at what is
// there. The old file stays beside it until the whole change is made.
func (w *writer) place(p put) error {
	parent, err := w.parent(p)
	if err != nil {
		return err
	}
	defer parent.Close()
	if p.swaps() {
		return w.swap(parent, p)
	}
	name := path.Base(p.Path)
	if err := unmoved(parent, p); err != nil {
		return err
	}
	if err := w.step("keep", p.Path); err != nil {
		return err
	}
	switch {
	case p.Temp == "":
		return parent.Rename(name, p.Old)
	case p.Existed:
		if err := keep(parent, name, p.Old); err != nil {
			return err
		}
	}
	if err := w.step("place", p.Path); err != nil {
		return err
	}
	return parent.Rename(p.Temp, name)
}

// keep gives the file a second name, or only that one on a file system without
// hard links.
func keep(parent *os.Root, name, old string) error {
	err := parent.Link(name, old)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return parent.Rename(name, old)
}

// unmoved checks that a name still is what the plan was made for.
func unmoved(parent *os.Root, p put) error {
	content, info, err := read(parent, p.Path)
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
		errs = append(errs, w.step("sync directory", d), gone(w.sync(d)))
	}
	return errors.Join(errs...)
}

func (w *writer) sync(name string) error {
	r := w.root
	if !strings.HasPrefix(name, journalDir) {
		d, err := descend(w.root, name)
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
