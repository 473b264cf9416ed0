package controlsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// ErrInUse reports that a session already listens at the address.
var ErrInUse error = obstacle("another session already uses it")

// obstacle is the reason why a file at an address stays there.
type obstacle string

func (o obstacle) Error() string { return string(o) }

// maxPath is the longest path that fits a socket address, 107 bytes on Linux.
const maxPath = len(unix.RawSockaddrUnix{}.Path) - 1

// bindSocket listens at a path and returns the file that it made there. Only the owner can reach the
// file. A file in the way stays, unless it is the socket of one of the owner's sessions that is
// surely gone.
func bindSocket(ctx context.Context, path string) (*net.UnixListener, fs.FileInfo, error) {
	switch {
	case !filepath.IsAbs(path):
		return nil, nil, errors.New("the path is not absolute")
	case len(path) > maxPath:
		return nil, nil, fmt.Errorf("the path has %d bytes, but a socket's path at most %d: use a shorter directory", len(path), maxPath)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, err
	}
	dir, err := lockDir(ctx, filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	if err := makePrivate(dir); err != nil {
		return nil, nil, err
	}
	if err := removeDead(ctx, path); err != nil {
		return nil, nil, err
	}
	return listenUnix(path)
}

func listenUnix(path string) (*net.UnixListener, fs.FileInfo, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, nil, err
	}
	// Otherwise Close of the listener would remove any file that has the name by then.
	l.SetUnlinkOnClose(false)
	err = os.Chmod(path, 0o600)
	own, lost := os.Lstat(path)
	if err := errors.Join(err, lost); err != nil {
		return nil, nil, errors.Join(err, l.Close(), os.Remove(path))
	}
	return l, own, nil
}

// lockDir takes a lock on the directory. Only the server that holds it may decide about the paths in
// the directory. The lock lasts until the file is closed. Without it, two servers that start
// together would both find a dead socket, and the second would remove the socket of the first.
func lockDir(ctx context.Context, dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := file.WaitLock(ctx, f, unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// makePrivate sets the directory's mode to 0700. It refuses a directory that belongs to another user,
// or that is meant to be shared, and leaves it alone.
func makePrivate(dir *os.File) error {
	info, err := dir.Stat()
	switch {
	case err != nil:
		return err
	case !isOurs(info) || info.Mode()&fs.ModeSticky != 0:
		return fmt.Errorf("other users can use the directory %s", dir.Name())
	case info.Mode().Perm() == 0o700:
		return nil
	}
	return dir.Chmod(0o700)
}

func isOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// RemoveDead removes the owner's socket of a session that is surely gone. Any other file at the
// path stays: a socket that is listened on, a socket whose state is unknown, a file that is no
// socket. A second call does nothing.
func RemoveDead(ctx context.Context, path string) error {
	dir, err := lockDir(ctx, filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("control socket %s: %w", path, err)
	}
	defer dir.Close()
	err = removeDead(ctx, path)
	if _, stays := errors.AsType[obstacle](err); stays {
		return nil
	}
	return err
}

// removeDead removes a dead socket of ours from the path. It returns an obstacle if the path has a file
// of another kind, a socket of another user, or a socket that is not surely dead. The caller has
// claimed the directory.
func removeDead(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	switch s := Look(ctx, path); {
	case s.Conflict != "":
		return obstacle(fmt.Sprintf("a %s is in the way", s.Conflict))
	case s.Liveness == dispatch.Alive:
		return ErrInUse
	case s.Liveness != dispatch.Dead:
		return obstacle("cannot tell whether another session uses it: " + s.Code)
	case !isOurs(info):
		return obstacle("a socket of another user is in the way")
	}
	return os.Remove(path)
}

// unbindSocket removes the path if it is still the file that bind made. The listener is still open, which
// keeps the file's number from being used again.
func unbindSocket(ctx context.Context, path string, own fs.FileInfo) error {
	dir, err := lockDir(ctx, filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if info, err := os.Lstat(path); err != nil || !os.SameFile(info, own) {
		return nil
	}
	return os.Remove(path)
}
