package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Count adds one to the count of that name and returns the sum once it is on disk.
// A count begins at zero. Counts are not part of the record: they lie beside the locks.
func (d *Dir) Count(name string) (n int, err error) {
	f, err := d.openBeside(name, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", name, err)
	}
	defer f.Close()
	_, err = f.Write([]byte{'|'})
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", name, err)
	}
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", name, err)
	}
	return int(info.Size()), nil
}

// Forget sets the count of that name back to zero.
func (d *Dir) Forget(name string) error {
	err := os.Remove(filepath.Join(d.path, besideName(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
