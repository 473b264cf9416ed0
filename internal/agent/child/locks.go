package child

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockKind is how the sessions of a client take turns at a file of credentials.
type lockKind string

// The kinds. The zero lockKind is none: opencode takes no turns.
const (
	fileLock lockKind = "file"      // flock of a file, which stays (Codex)
	dirLock  lockKind = "directory" // a directory, which its holder removes (proper-lockfile: pi, Claude Code)
)

// lock is the lock of a file of credentials. The zero lock is always free.
type lock struct {
	Kind lockKind `json:"kind"`
	Path string   `json:"path"`
}

// lastPatience bounds the wait for a program that holds the lock of a file of credentials.
const lastPatience = 2 * time.Second

// await takes the lock. Ok is false if another program holds it; with patience, the file is free after that time all the
// same.
func (l lock) await(patience time.Duration) (unlock func(), ok bool) {
	for end := time.Now().Add(patience); ; time.Sleep(exchangePoll / 10) {
		unlock, err := l.take()
		if err == nil {
			return unlock, true
		}
		if !time.Now().Before(end) {
			return func() {}, patience > 0
		}
	}
}

// take takes the lock if it is free. Where the worker may make no lock, the user's sessions make none either: it is free.
func (l lock) take() (unlock func(), err error) {
	switch l.Kind {
	case fileLock:
		unlock, err = takeFile(l.Path)
	case dirLock:
		unlock, err = takeDir(l.Path)
	default:
		return func() {}, nil
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		return func() {}, nil
	}
	return unlock, err
}

// takeFile takes the lock of a file, which ends with its holder. A directory in its place keeps every session of Codex
// from saving a login: one that a worker has left there is removed.
func takeFile(path string) (unlock func(), err error) {
	open := func() (*os.File, error) {
		return os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	}
	f, err := open()
	if errors.Is(err, unix.EISDIR) && removeAbandoned(path) {
		f, err = open()
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// takeDir takes the lock by making a directory. One that its holder has left is removed.
func takeDir(path string) (unlock func(), err error) {
	err = os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) && removeAbandoned(path) {
		err = os.Mkdir(path, 0o700)
	}
	if err != nil {
		return nil, err
	}
	return func() { os.Remove(path) }, nil
}

// abandoned is the age from which the directory of a lock is one that its holder has left: a holder that lives renews it
// every few seconds. pi takes it over after 30 seconds, Claude Code after 60.
const abandoned = time.Minute

// removeAbandoned removes the directory of a lock that its holder has left, and reports whether it did.
func removeAbandoned(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && time.Since(info.ModTime()) > abandoned && os.Remove(path) == nil
}
