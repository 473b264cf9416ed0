package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"sync"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
)

// draft is a file that does not have its name yet: its bytes are in a temporary file beside it.
type draft struct {
	root       *os.Root
	name, temp string
	file       *os.File // locked, which shows sweepTemporary that the writer lives
}

// writeDraft writes the bytes to a temporary file in the directory of the name. It makes the directory if it does not
// exist.
func writeDraft(root *os.Root, name string, b []byte) (*draft, error) {
	sweepTemporary(root, path.Dir(name))
	d := &draft{root: root, name: name, temp: path.Join(path.Dir(name), "."+path.Base(name)+"."+uuid.NewString()+".tmp")}
	err := inDir(root, path.Dir(name), func() (err error) {
		d.file, err = root.OpenFile(d.temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		return err
	})
	if err != nil {
		return nil, err
	}
	_ = unix.Flock(int(d.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if _, err := d.file.Write(b); err != nil {
		return nil, errors.Join(err, d.discard())
	}
	return d, nil
}

// publish gives the file its name, in the place of the file that has it.
func (d *draft) publish() error {
	failpoint.Hit("rundir.before-rename")
	if err := d.root.Rename(d.temp, d.name); err != nil {
		return err
	}
	d.file.Close() // releases the lock too
	return nil
}

// discard removes the file, which has no name.
func (d *draft) discard() error { return errors.Join(d.root.Remove(d.temp), d.file.Close()) }

// replaceFile replaces the file. It does not wait for the disk.
func replaceFile(root *os.Root, name string, b []byte) error {
	return replaceAfter(root, name, b, func(*os.File) error { return nil })
}

// replaceSynced replaces the file. The bytes are on disk before they have the name.
func replaceSynced(root *os.Root, name string, b []byte) error {
	return replaceAfter(root, name, b, (*os.File).Sync)
}

// replaceAfter replaces the file. It calls prepare on the file before the file gets its name.
func replaceAfter(root *os.Root, name string, b []byte, prepare func(*os.File) error) error {
	d, err := writeDraft(root, name, b)
	if err != nil {
		return err
	}
	if err = prepare(d.file); err == nil {
		err = d.publish()
	}
	if err != nil {
		return errors.Join(err, d.discard())
	}
	return nil
}

// syncAll puts the bytes of the drafts on disk. The disk takes them together: one commit of a file system's journal
// serves all. A draft may be nil.
func syncAll(drafts []*draft) error {
	wrong := make([]error, len(drafts))
	var group sync.WaitGroup
	for i, d := range drafts {
		if d != nil {
			group.Go(func() { wrong[i] = d.file.Sync() })
		}
	}
	group.Wait()
	return errors.Join(wrong...)
}

// discardAll removes the drafts. A draft may be nil.
func discardAll(drafts []*draft) error {
	var wrong []error
	for _, d := range drafts {
		if d != nil {
			wrong = append(wrong, d.discard())
		}
	}
	return errors.Join(wrong...)
}

// inDir calls create, and if the directory is missing, makes it and calls create again.
func inDir(root *os.Root, dir string, create func() error) error {
	err := create()
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return create()
}
