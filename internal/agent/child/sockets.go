package child

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// bounds are for a directory of a client, in which an agent of an earlier session may have left any number of files.
type bounds struct{ files, sockets int }

// mostMet bounds the time for which a start looks for sockets, and in which bwrap covers them: that grows with the
// square of their number.
var mostMet = bounds{files: 4 << 20, sockets: 1024}

// findSockets returns the sockets below a directory, but not those below others. A program outside of the box listens
// there, and no network namespace keeps a program in the box from it. Where the worker may not look, a program in the box
// may: it can be the owner, who changes that. Such a directory is returned as a whole. The directory itself may be a link:
// the slash leads the walk to where it ends.
func findSockets(dir string, but []string, most bounds) (found []string, err error) {
	files, top := 0, dir+"/"
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		files++
		hidden := err != nil || d.IsDir() && unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.X_OK, unix.AT_EACCESS) != nil
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case files > most.files:
			return fmt.Errorf("%s holds more than %d files, too many to search for sockets that the sandbox must hide: remove files that are not needed", dir, most.files)
		case hidden && path == top:
			return fmt.Errorf("cannot read %s, where the sandbox must hide sockets: check its owner and mode (chmod u+rwx)", dir)
		case !hidden && d.IsDir() && slices.Contains(but, path):
			return fs.SkipDir
		case !hidden && d.Type() != fs.ModeSocket:
			return nil
		case len(found) == most.sockets:
			return fmt.Errorf("%s holds more than %d sockets and unreadable directories, such as %s, and the sandbox must hide each: remove those that no program needs", dir, most.sockets, path)
		}
		found = append(found, path)
		if hidden {
			return fs.SkipDir
		}
		return nil
	})
	return found, err
}
