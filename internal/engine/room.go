package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The disk space of a build, measured for the engine of Temporal server 1.32: 1.2 GB for 1,053 packages, and a
// program of 80 MB that the linker makes in one place and moves to another.
const (
	roomOfPackage = 1200 << 10
	roomOfProgram = 100 << 20
)

// need is the room that a build takes in a directory.
type need struct {
	dir   string
	bytes uint64
	by    string // how to name another directory
}

// checkRoom refuses a build for which a disk has no room. stale is the number of packages to compile.
func (b builder) checkRoom(ctx context.Context, stale int) error {
	cmd := b.goCommand(ctx, "env")
	cmd.Args = []string{"go", "env", "GOCACHE", "GOTMPDIR"} // takes neither flags nor packages
	out, err := cmd.Output()
	lines := bytes.Split(out, []byte("\n"))
	if err != nil || len(lines) < 2 {
		return nil // the build names the fault of the go command
	}
	temporary := cmp.Or(string(lines[1]), os.TempDir())
	return findRoom([]need{
		{string(lines[0]), uint64(stale) * roomOfPackage, "GOCACHE"},
		{temporary, roomOfProgram, "TMPDIR"},
		{b.dir, roomOfProgram, "XDG_CACHE_HOME"},
	}, freeRoom)
}

// findRoom compares the needs with the disks, of which one may hold several directories. A disk that
// cannot be asked is taken for large.
func findRoom(needs []need, free func(dir string) (disk any, bytes uint64, err error)) error {
	wanted := map[any]uint64{}
	for _, n := range needs {
		disk, room, err := free(n.dir)
		if err != nil || n.bytes == 0 {
			continue
		}
		wanted[disk] += n.bytes
		if wanted[disk] > room {
			return fmt.Errorf("building the engine needs %s on the disk of %s, but only %s are free: free disk space, name another directory with %s, or set %s to the path of a built %s",
				megabytes(wanted[disk]), n.dir, megabytes(room), n.by, ProgramVariable, programName)
		}
	}
	return nil
}

func megabytes(n uint64) string { return fmt.Sprintf("%d MB", n>>20) }

// FreeDisk returns how many bytes this user may still write on the disk of a directory, which need not exist yet.
func FreeDisk(dir string) (uint64, error) {
	_, free, err := freeRoom(dir)
	return free, err
}

// freeRoom returns the file system that a directory is on, or will be, and what this user may still write there.
func freeRoom(dir string) (any, uint64, error) {
	var disk unix.Statfs_t
	err := unix.Statfs(dir, &disk)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		err = unix.Statfs(dir, &disk)
	}
	return disk.Fsid, uint64(disk.Bavail) * uint64(disk.Bsize), err
}
