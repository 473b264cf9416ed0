package patch

import (
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// Mode is one of the two modes a file can have here.
type Mode uint16

// The two modes; git knows them as 100644 and 100755.
const (
	Regular    Mode = 0o644
	Executable Mode = 0o755
)

// String returns git's form of the mode: 100644 or 100755.
func (m Mode) String() string { return fmt.Sprintf("100%03o", uint16(m)) }

// File is a regular file.
type File struct {
	Mode    Mode
	Content []byte // never written to
}

// Tree is the state of a repository that a diff is planned against. Paths are slash-separated, relative
// and already checked by Plan. It must not change during Plan.
type Tree interface {
	// Lookup returns the regular file at path. The error is fs.ErrNotExist when
	// nothing is there, an *EntryError when the path or one of its parents is
	// something else, and ErrTooLarge when the file is too big to be read.
	Lookup(path string) (File, error)
	// Names returns the names in a directory, "." for the top, in any order;
	// fs.ErrNotExist when there is none.
	Names(dir string) ([]string, error)
}

// EntryKind names a kind of entry that is not a regular file.
type EntryKind string

// The entries of a tree that are not regular files.
const (
	Directory EntryKind = "directory"
	Symlink   EntryKind = "symbolic link"
	Gitlink   EntryKind = "submodule"
	Special   EntryKind = "special file" // FIFO, socket, device
	Parent    EntryKind = "file"         // a parent of the path is a file
)

// EntryError says that a path, or one of its parents, is an entry that a change may not touch.
type EntryError struct {
	Path  string // the path that is in the way: the requested one or a parent
	Entry EntryKind
}

func (e *EntryError) Error() string { return fmt.Sprintf("%s is a %s", display.Line(e.Path), e.Entry) }

// ErrTooLarge says that a file is too large for a tree to read.
var ErrTooLarge = errors.New("file too large")
