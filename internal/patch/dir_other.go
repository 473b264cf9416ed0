//go:build !unix

package patch

import (
	"errors"
	"io/fs"
	"os"
)

const nonblock = 0

// lockFile does nothing where there are no advisory locks. Only the journal tells two concurrent writers
// apart there.
func lockFile(*os.File) error { return nil }

// originOf returns an error: without an inode no journal could be told from a copy.
func originOf(fs.FileInfo) (origin, error) { return origin{}, errors.New("this system has no inodes") }
