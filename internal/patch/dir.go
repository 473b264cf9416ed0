package patch

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// DirTree returns the tree of the plain directory at root. It reads files through root and never through a
// symbolic link. A directory that has a .git of its own counts as a submodule.
func DirTree(root *os.Root) Tree { return dirTree{root} }

// maxRead bounds the bytes read of one file. Limits bound them further.
const maxRead = 256 << 20

type dirTree struct{ root *os.Root }

func (d dirTree) Lookup(name string) (File, error) {
	parent, err := openSubdir(d.root, path.Dir(name))
	if err != nil {
		return File{}, err
	}
	defer parent.Close()
	content, info, err := readRegular(parent, name)
	if err != nil {
		return File{}, err
	}
	return File{Mode: modeFor(info), Content: content}, nil
}

func (d dirTree) Names(name string) ([]string, error) {
	r, err := openSubdir(d.root, name)
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

// modeFor returns the mode of a file: executable if its owner may execute it.
func modeFor(info fs.FileInfo) Mode {
	if info.Mode()&0o100 != 0 {
		return Executable
	}
	return Regular
}

// openSubdir opens the directory name below root, part by part. It notices a part that is replaced by a
// symbolic link meanwhile, because the opened directory then differs from the inspected one. The
// caller closes the result.
func openSubdir(root *os.Root, name string) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	if err != nil || name == "." {
		return at, err
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		next, err := openPart(at, parts[i], path.Join(parts[:i+1]...))
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// openPart opens the directory part of at. full is its path from the top.
func openPart(at *os.Root, part, full string) (*os.Root, error) {
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

// entryOf returns the kind of entry that info describes. For a regular file it returns file.
func entryOf(info fs.FileInfo, file EntryKind) EntryKind {
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

// readRegular reads the regular file at the last part of full in parent.
func readRegular(parent *os.Root, full string) ([]byte, fs.FileInfo, error) {
	name := path.Base(full)
	seen, err := parent.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, nil, &EntryError{full, entryOf(seen, Parent)}
	}
	f, err := parent.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO may have taken the place
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
		return nil, nil, fmt.Errorf("%s: %w", display.Line(full), ErrTooLarge)
	}
	content := make([]byte, opened.Size(), opened.Size()+1)
	n, err := io.ReadFull(f, content)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, nil, err
	}
	return content[:n], opened, nil
}
