package engine

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// leastSpace is what SQLite needs to take a few more transactions.
const leastSpace = 1 << 20

// FullDisk adds to an error that the disk which holds a database is full, when it is: neither server nor SQLite says so to
// who waits for them. A nil error stays nil.
func FullDisk(db string, err error) error {
	var fs unix.Statfs_t
	dir := filepath.Dir(db)
	if err == nil || db == "" || unix.Statfs(dir, &fs) != nil {
		return err
	}
	if free := uint64(fs.Bavail) * uint64(fs.Bsize); free >= leastSpace {
		return err
	}
	return fmt.Errorf("the disk that holds %s is full: make room: %w", dir, err)
}
