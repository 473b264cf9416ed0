package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/kballard/go-shellquote"
	"golang.org/x/sys/unix"
)

// ErrNotOurs reports a file or directory that another user may have written, or can read against its purpose.
var ErrNotOurs = errors.New("it is not used")

// Trust states which file is this user's own.
type Trust struct {
	Dir    bool        // it is a directory; otherwise it is a regular file
	Closed fs.FileMode // the permissions that no other user may have: 0o022 to write, 0o077 any
	Root   bool        // it may also belong to root
}

// OpenOwn opens a file or directory for reading and checks it. It follows no link and waits for no fifo. What it
// refuses is ErrNotOurs.
func (t Trust) OpenOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("%s is a link: %w", path, ErrNotOurs)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w: %w", err, ErrNotOurs)
	case err != nil:
		return nil, err
	}
	if err := t.Check(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Check returns ErrNotOurs, with the reason, unless the opened file is this user's own. Another file in its place
// changes nothing meanwhile.
func (t Trust) Check(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	kind, right := "file", info.Mode().IsRegular()
	if t.Dir {
		kind, right = "directory", info.IsDir()
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	open := info.Mode().Perm() & t.Closed
	switch {
	case !right || !known:
		return fmt.Errorf("%s is not a %s: %w", f.Name(), kind, ErrNotOurs)
	case int(owner.Uid) != os.Geteuid() && (owner.Uid != 0 || !t.Root):
		return fmt.Errorf("%s belongs to user %d, not to you: %w", f.Name(), owner.Uid, ErrNotOurs)
	case open&0o022 != 0:
		return fmt.Errorf("%s can be written by other users: %w; run `chmod go-w %s`", f.Name(), ErrNotOurs, shellquote.Join(f.Name()))
	case open != 0:
		return fmt.Errorf("%s can be read by other users: %w; run `chmod go-rwx %s`", f.Name(), ErrNotOurs, shellquote.Join(f.Name()))
	}
	return nil
}

// CheckDir returns ErrNotOurs, with the reason, for a directory in which another user can put files: it belongs to
// one, or others can write it. It may be reached by a link, and root may own it.
func CheckDir(path string) error {
	d, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %w", err, ErrNotOurs)
	}
	if err != nil {
		return err
	}
	return errors.Join(Trust{Dir: true, Closed: 0o022, Root: true}.Check(d), d.Close())
}

// Append opens a regular file for appending and makes it, for this user alone, when it is missing. It follows no
// link and waits for no fifo.
func Append(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	return keepRegular(f, "append to "+path, err)
}
