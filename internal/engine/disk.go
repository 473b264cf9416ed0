package engine

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// leastSpace is the space that SQLite needs for a few more transactions.
const leastSpace = 1 << 20

// FullDisk adds to an error that the disk of a database is full, when it is. Neither the server nor
// SQLite reports that to a process that waits for them. A nil error stays nil.
func FullDisk(db string, err error) error {
	var fs unix.Statfs_t
	dir := filepath.Dir(db)
	if err == nil || db == "" || unix.Statfs(dir, &fs) != nil {
		return err
	}
	if free := uint64(fs.Bavail) * uint64(fs.Bsize); free >= leastSpace {
		return err
	}
	return fmt.Errorf("the disk with %s is full: free disk space: %w", dir, err)
}
