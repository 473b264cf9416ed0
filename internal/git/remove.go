package git

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
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
	// Some directory is closed, or the tree is deeper than a process can have files open: os.Root holds one for each
	// level.
	err = emptyTree(root, name, info)
	last := root.Remove(name)
	if last == nil || errors.Is(last, fs.ErrNotExist) {
		return nil
	}
	return cmp.Or(err, last)
}

// emptyTree removes all within the directory at name. The error is the first of those that it met.
func emptyTree(root *os.Root, name string, info fs.FileInfo) error {
	_ = root.Chmod(name, 0o700) // else the next step fails
	top, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer top.Close()
	if opened, err := top.Stat("."); err != nil || !os.SameFile(opened, info) {
		return fmt.Errorf("remove %s: another file has taken its name: try again", name)
	}
	e := emptying{top: top, fresh: ".removed-" + rand.Text(), pending: []string{"."}}
	for len(e.pending) > 0 {
		dir := e.pending[len(e.pending)-1]
		e.pending = e.pending[:len(e.pending)-1]
		e.emptyDir(dir)
	}
	return e.err
}

// emptying removes a tree by moving the directories within a directory to the top, under fresh names. So no path has
// more than two names, and few files are open at a time.
type emptying struct {
	top     *os.Root
	fresh   string   // begins the names of directories that were moved
	moved   int      // directories
	pending []string // directories at the top that are left to empty, and the top itself
	err     error    // first error
}

// emptyDir removes the files of a directory at the top, moves the directories, and removes it.
func (e *emptying) emptyDir(dir string) {
	_ = e.top.Chmod(dir, 0o700) // else the next step fails
	entries, err := e.readDir(dir)
	e.keepError(err)
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
		err := e.top.Remove(name)
		switch {
		case err == nil || !entry.IsDir():
			e.keepError(err)
		case dir == ".":
			e.pending = append(e.pending, name)
		default:
			e.moveDir(name)
		}
	}
	if dir != "." {
		e.keepError(e.top.Remove(dir))
	}
}

func (e *emptying) readDir(dir string) ([]fs.DirEntry, error) {
	f, err := e.top.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// moveDir moves a directory to the top.
func (e *emptying) moveDir(name string) {
	_ = e.top.Chmod(name, 0o700) // only a directory that can be written can be moved to another
	e.moved++
	fresh := fmt.Sprintf("%s-%d", e.fresh, e.moved)
	if err := e.top.Rename(name, fresh); err != nil {
		e.keepError(err)
		return
	}
	e.pending = append(e.pending, fresh)
}

func (e *emptying) keepError(err error) {
	if e.err == nil && !errors.Is(err, fs.ErrNotExist) {
		e.err = err
	}
}
