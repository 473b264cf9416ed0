//go:build unix

package patch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// nonblock keeps the opening of a FIFO from waiting for a writer.
const nonblock = syscall.O_NONBLOCK

// lockFile locks f for this process, without waiting. The kernel releases the lock when the process ends,
// however it ends.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInterrupted
	}
	return err
}

// originOf returns the identity of a file.
func originOf(info fs.FileInfo) (origin, error) {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known || stat.Ino == 0 {
		return origin{}, fmt.Errorf("%s has no inode", info.Name())
	}
	return origin{Inode: stat.Ino}, nil
}
