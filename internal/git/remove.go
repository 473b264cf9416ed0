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
	if root.RemoveAll(name) == nil {
		return nil
	}
	err := fs.WalkDir(root.FS(), filepath.ToSlash(name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = root.Chmod(path, 0o700)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.RemoveAll(name)
}
