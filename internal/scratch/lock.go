package scratch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// enter makes Dir and locks it: one call at a time, whatever process it is in.
// The returned file goes to every git as git.Repo.Keep, so that a git that a
// killed worker left running keeps the next one out until it has ended. The
// lock is free when the last holder has closed the file.
func (s *Scratch) enter(ctx context.Context) (*os.File, error) {
	name := filepath.Join(s.spec.Dir, lockName)
	for {
		if err := os.MkdirAll(s.spec.Dir, 0o700); err != nil {
			return nil, err
		}
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

// tryLock returns no file when another holds the lock, or has just removed it.
func tryLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
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

// sameFile says whether name is still the locked file: Remove deletes it.
func sameFile(f *os.File, name string) bool {
	a, err1 := f.Stat()
	b, err2 := os.Lstat(name)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}
