package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Lock locks the file of that name. It excludes every other process that locks the file, and the
// gits that a killed process left running, for as long as the returned file is open in one of them.
// The returned file should be the Keep of every Repo that works under the lock. Lock waits until
// ctx ends. The error matches os.ErrNotExist when the directory does not exist.
func Lock(ctx context.Context, name string) (*os.File, error) {
	for {
		f, err := tryLock(name)
		if f != nil || err != nil {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for lock %s: %w", name, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// tryLock returns no file when another process holds the lock, or has just removed it.
func tryLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && sameFile(f, name) {
		return f, nil
	}
	f.Close()
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", name, err)
}

// RemoveLock removes the file of a lock that is held. It leaves a file alone that has taken its name.
func RemoveLock(f *os.File) error {
	if !sameFile(f, f.Name()) {
		return nil
	}
	return os.Remove(f.Name())
}

// sameFile reports whether name is still the locked file: its holder may have removed it.
func sameFile(f *os.File, name string) bool {
	a, err1 := f.Stat()
	b, err2 := os.Lstat(name)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}
