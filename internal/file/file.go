// Package file reads and writes the small files of the registry. Other programs can write there,
// and a reader therefore follows no symlink, waits for no fifo and reads no more than its bound. A
// writer publishes a file whole or not at all.
package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
)

// MaxDocument bounds a document of the registry.
const MaxDocument = 1 << 20

// The errors for files that a reader refuses.
var (
	ErrIrregular = errors.New("not a regular file")
	ErrTooLarge  = errors.New("too large")
)

// Open opens a regular file to be read. It checks the kind of the opened file and therefore opens
// nothing that is put in the file's place meanwhile.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, readFlags|unix.O_NOFOLLOW, 0)
	return keepRegular(f, "read "+path, err)
}

// OpenIn is Open for a file in a root. A link in the root leads to a file in the root only.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, readFlags, 0)
	return keepRegular(f, "read "+filepath.Join(root.Name(), name), err)
}

// readFlags open a file without a wait for the writer of a fifo.
const readFlags = os.O_RDONLY | unix.O_NONBLOCK

// keepRegular closes a file that is not regular. What begins the text of the error.
func keepRegular(f *os.File, what string, err error) (*os.File, error) {
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO): // a symlink, a socket
		return nil, fmt.Errorf("%s: %w", what, ErrIrregular)
	case err != nil:
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", what, ErrIrregular)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads a regular file of at most that many bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tooLarge := fmt.Errorf("read %s: %w: more than %d bytes", path, ErrTooLarge, most)
	if info.Size() > most {
		return nil, tooLarge
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most { // it grew
		return nil, tooLarge
	}
	return b, err
}

// Replace gives path new content, readable by its owner alone. A reader sees the old content or the
// new, whole, even after a power cut.
func Replace(path string, b []byte) error { return replaceFile(path, b, os.Rename) }

// Create is like Replace for a path that does not exist. It returns fs.ErrExist for a path that
// does. It is exclusive against every program, as an exclusive open is, but the file is never seen
// empty. The file system needs hard links.
func Create(path string, b []byte) error { return replaceFile(path, b, os.Link) }

// replaceFile writes a temporary file beside path, with a name that means nothing to the registry, and
// then gives it its name.
func replaceFile(path string, b []byte, name func(temp, path string) error) error {
	temp := fmt.Sprintf("%s.tmp-%d-%s", path, os.Getpid(), rand.Text()[:tempLen])
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(temp) // gone already where it was renamed
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	failpoint.Hit("citizen.before-name")
	return name(temp, path)
}

// tempLen is the number of random characters in the name of a temporary file.
const tempLen = 8

// tempName matches the names that place gives to temporary files, and no others.
var tempName = regexp.MustCompile(fmt.Sprintf(`.\.tmp-([0-9]+)-[A-Z2-7]{%d}$`, tempLen))

// A temporary file older than abandoned belongs to a writer that was killed. If no process has the
// writer's id, a file older than orphaned does too.
const (
	abandoned = time.Hour
	orphaned  = time.Minute
)

// Sweep removes temporary files that killed writers of ours have left in a directory. It ignores
// errors, which lets callers use the directory anyway. A writer that still runs gets an error, and
// has written nothing.
func Sweep(dir string) {
	names, _ := Names(dir)
	for _, name := range names {
		writer := tempName.FindStringSubmatch(name)
		if writer == nil {
			continue
		}
		patience := abandoned
		if pid, err := strconv.Atoi(writer[1]); err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			patience = orphaned
		}
		path := filepath.Join(dir, name)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > patience {
			_ = os.Remove(path)
		}
	}
}

// Names returns the names in a directory, sorted, and none where there is no directory. A name that
// is changed during the read may be missing, or may appear in its old and its new form.
func Names(dir string) ([]string, error) {
	d, err := openDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// openDir opens a directory, and waits for no fifo in its place.
func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, readFlags|unix.O_DIRECTORY, 0)
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := openDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// lockPoll is how often a taken lock is tried again.
const lockPoll = 2 * time.Millisecond

// Lock takes the lock of the file at path, and waits for it until ctx ends. The lock excludes our
// own processes alone, and is free when its holder dies. The file stays.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := WaitLock(ctx, f, unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { f.Close() }, nil
}

// WaitLock waits for the lock of an open file until ctx ends, unix.LOCK_EX or unix.LOCK_SH. The lock holds until the file is
// closed here and in every process that has inherited it. The error is the cause of the context's end when that was first.
func WaitLock(ctx context.Context, f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for lock %s: %w", f.Name(), context.Cause(ctx))
		case <-time.After(lockPoll):
		}
	}
}

// Overwrite writes into the file itself, which stays the same file for programs that watch it. It
// creates the file where there is none. It follows no link and waits for no fifo.
func Overwrite(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if f, err = keepRegular(f, "overwrite "+path, err); err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.Write(b)
	}
	return errors.Join(err, f.Close())
}

// longestSocketDir is the length of a directory below which there is room for the path of a socket, with 40 bytes more:
// the kernel takes 104 to 108 bytes (unix(7), unix(4)).
const longestSocketDir = 64

// SocketDir returns the directory of temporary files, or /tmp if the paths of sockets below it would be too long.
func SocketDir() string {
	if dir := os.TempDir(); len(dir) <= longestSocketDir {
		return dir
	}
	return "/tmp"
}
