package scratch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// item is one name in the tree, in the state in which it was found.
type item struct {
	path  string
	kind  uint32 // one of unix.S_IFMT
	exec  bool
	size  int64
	stamp stamp
}

func (it item) isDir() bool     { return it.kind == unix.S_IFDIR }
func (it item) isRegular() bool { return it.kind == unix.S_IFREG }
func (it item) isSymlink() bool { return it.kind == unix.S_IFLNK }

// kindInWords returns the kind of an item as words for a sentence.
func (it item) kindInWords() string {
	switch it.kind {
	case unix.S_IFREG:
		return "a file"
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFSOCK:
		return "a socket"
	}
	return "a device"
}

// errCrowded reports a directory with too many names.
var errCrowded = errors.New("too many names")

// listDirectory lists a directory of the tree, sorted. It examines every name without following it. The
// error is errCrowded when there are more than most names.
func listDirectory(tree *os.Root, dir string, most int) ([]item, error) {
	f, err := tree.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0) // does not wait for a FIFO's writer
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(most + 1)
	if len(names) > most {
		return nil, errCrowded
	}
	if err != nil && err != io.EOF { // the end, when there is no name
		return nil, err
	}
	slices.Sort(names)
	items := make([]item, 0, len(names))
	for _, name := range names {
		var st unix.Stat_t
		err := unix.Fstatat(int(f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "stat", Path: path.Join(dir, name), Err: err}
		}
		items = append(items, itemOf(path.Join(dir, name), &st))
	}
	return items, nil
}

func itemOf(name string, st *unix.Stat_t) item {
	mode := uint32(st.Mode)
	return item{path: name, kind: mode & unix.S_IFMT, exec: mode&0o100 != 0, size: st.Size, stamp: stampOf(st)}
}

// openRegular opens a regular file of the tree and examines it again. It neither waits for nor reads
// another thing that has taken its place since.
func openRegular(tree *os.Root, name string) (*os.File, item, error) {
	f, err := tree.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, item{}, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	it := itemOf(name, &st)
	if err == nil && !it.isRegular() {
		err = fmt.Errorf("%s has become %s", name, it.kindInWords())
	}
	if err != nil {
		f.Close()
		return nil, item{}, err
	}
	return f, it, nil
}
