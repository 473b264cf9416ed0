package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveTree removes the file or tree at path, as RemoveAll does. It is no error if there is none.
func RemoveTree(path string) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return RemoveAll(root, filepath.Base(path))
}

// RemoveAll removes the file or tree at name in a work tree, including directories that cannot be
// read or written. It follows no symbolic link.
func RemoveAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if err == nil {
		return nil
	}
	info, unknown := root.Lstat(name)
	if errors.Is(unknown, fs.ErrNotExist) {
		return nil
	}
	if unknown != nil || !info.IsDir() {
		return err
	}
	openDirs(root, name, info)
	return root.RemoveAll(name)
}

// openDirs gives the owner all rights on a directory and on the directories below it.
func openDirs(parent *os.Root, name string, seen fs.FileInfo) {
	_ = parent.Chmod(name, 0o700) // else the next step fails
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return
	}
	defer dir.Close()
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(opened, seen) { // a link has taken its name
		return
	}
	f, err := dir.Open(".")
	if err != nil {
		return
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() {
			openDirs(dir, e.Name(), info)
		}
	}
}
