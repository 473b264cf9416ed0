package scratch

import (
	"errors"
	"io/fs"
	"os"

	"github.com/ratchet-dev/ratchet/internal/git"
)

// emptyDirectory makes name an empty directory. An existing directory stays the same directory, and so do
// the directories of keep below it: they are emptied, because an agent that is still alive may have
// them as its working directory.
func emptyDirectory(root *os.Root, name string, keep []string) error {
	fi, err := root.Lstat(name)
	if err == nil && !fi.IsDir() {
		err = root.Remove(name)
	} else if err == nil {
		err = root.Chmod(name, 0o755)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if len(keep) > 0 && e.Name() == keep[0] && e.IsDir() {
			err = emptyDirectory(dir, e.Name(), keep[1:])
		} else {
			err = git.RemoveAll(dir, e.Name())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
