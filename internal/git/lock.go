package git

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/file"
)

// Lock locks the file of that name. It excludes every other process that locks the file, and the
// gits that a killed process left running, for as long as the returned file is open in one of them.
// The returned file should be the Keep of every Repo that works under the lock. Lock waits until
// ctx ends. The error matches os.ErrNotExist when the directory does not exist.
func Lock(ctx context.Context, name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open lock: %w", err)
		}
		if err := file.WaitLock(ctx, f, unix.LOCK_EX); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if sameFile(f, name) {
			return f, nil
		}
		f.Close()
	}
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
