package rundir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is the interval at which a taken lock is tried again.
const lockPoll = 50 * time.Millisecond

// Lock is a lock that this process holds.
type Lock struct{ file *os.File }

// File returns the locked file. A process that inherits the file holds the lock too.
func (l *Lock) File() *os.File { return l.file }

// Unlock releases the lock.
func (l *Lock) Unlock() { l.file.Close() }

// Take takes the lock of that name. It waits for the lock until ctx ends, and calls held, which may be
// nil, repeatedly while it waits, with the id of the process that has the lock, or 0 if the id is not
// known. The kernel releases the lock when this process dies.
func (d *Dir) Take(ctx context.Context, name string, held func(pid int)) (*Lock, error) {
	f, err := d.openBeside(name, os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			signLock(f)
			return &Lock{f}, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
		}
		if held != nil {
			held(holderOf(f))
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(lockPoll):
		}
	}
}

// openBeside opens a file of locks/ and makes it if it does not exist.
func (d *Dir) openBeside(name string, flags int) (f *os.File, err error) {
	root, err := d.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = inDir(root, locksDir, func() (err error) {
		f, err = root.OpenFile(besideName(name), flags|os.O_CREATE, 0o600)
		return err
	})
	return f, err
}

// locksDir is the directory of the locks and the counts.
const locksDir = "locks"

func besideName(name string) string { return path.Join(locksDir, strings.ReplaceAll(name, "/", "-")) }

// signLock writes the id of this process into the file of a lock that it holds. The lock
// holds even if the id cannot be written.
func signLock(f *os.File) {
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
	}
}

func holderOf(f *os.File) (pid int) {
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 0)
	pid, _ = strconv.Atoi(string(b[:n]))
	return pid
}
