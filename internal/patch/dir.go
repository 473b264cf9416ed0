package patch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Dir is the tree of the plain directory at root. Its files are read through
// root and never through a symbolic link. A directory that has a .git of its own counts
// as a submodule. While a Write is under way, or was interrupted, every call fails with
// ErrInterrupted.
func Dir(root *os.Root) Tree { return dir{root} }

// ErrInterrupted says that a change is being written to the directory, or that
// writing one was interrupted and Recover has to put it right.
var ErrInterrupted = errors.New("a patch is being applied here, or applying one was interrupted")

// maxRead bounds what is read of one file; Limits bound it further.
const maxRead = 256 << 20

type dir struct{ root *os.Root }

func (d dir) Lookup(name string) (File, error) {
	if err := d.quiet(); err != nil {
		return File{}, err
	}
	parent, err := descend(d.root, path.Dir(name))
	if err != nil {
		return File{}, err
	}
	defer parent.Close()
	content, info, err := read(parent, name)
	if err != nil {
		return File{}, err
	}
	return File{Mode: modeFor(info), Content: content}, nil
}

func (d dir) Names(name string) ([]string, error) {
	if err := d.quiet(); err != nil {
		return nil, err
	}
	r, err := descend(d.root, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := r.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func (d dir) quiet() error {
	if _, err := d.root.Lstat(journalDir); err == nil {
		return ErrInterrupted
	}
	return nil
}

func modeFor(info fs.FileInfo) Mode {
	if info.Mode()&0o100 != 0 {
		return Executable
	}
	return Regular
}

// descend opens the directory name below root, part by part. A part that is
// replaced by a symbolic link meanwhile is noticed: what was opened is then not what was
// looked at. The caller closes the result.
func descend(root *os.Root, name string) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	if err != nil || name == "." {
		return at, err
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		next, err := enter(at, parts[i], path.Join(parts[:i+1]...))
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// enter opens the directory part of at, which is called full from the top.
func enter(at *os.Root, part, full string) (*os.Root, error) {
	seen, err := at.Lstat(part)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, &EntryError{full, entryOf(seen, Parent)}
	}
	next, err := at.OpenRoot(part)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = &EntryError{full, Symlink}
	}
	if err == nil {
		if _, e := next.Lstat(".git"); e == nil {
			err = &EntryError{full, Gitlink}
		}
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

func entryOf(info fs.FileInfo, file Entry) Entry {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return file
	case mode.IsDir():
		return Directory
	case mode&fs.ModeSymlink != 0:
		return Symlink
	}
	return Special
}

// read reads the regular file at the last part of full in parent.
func read(parent *os.Root, full string) ([]byte, fs.FileInfo, error) {
	name := path.Base(full)
	seen, err := parent.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, nil, &EntryError{full, entryOf(seen, Parent)}
	}
	f, err := parent.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case !os.SameFile(seen, opened):
		return nil, nil, &EntryError{full, Symlink}
	case opened.Size() > maxRead:
		return nil, nil, fmt.Errorf("%s: %w", Display(full), ErrTooLarge)
	}
	content := make([]byte, opened.Size(), opened.Size()+1)
	n, err := io.ReadFull(f, content)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, nil, err
	}
	return content[:n], opened, nil
}
