package rundir

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"time"

	"golang.org/x/sys/unix"
)

// tempForm matches exactly the names that replace gives to temporary files.
var tempForm = regexp.MustCompile(`^\..+\.[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.tmp$`)

// unlocked is the age up to which sweep keeps a temporary file even if it is not
// locked: a writer locks its file at once after making it.
const unlocked = time.Second

// sweepTemporary removes the temporary files that killed writers have left in a directory. It
// ignores errors: a failed sweep does not hinder the use of the directory. The lock
// of a file reports whether its writer lives.
func sweepTemporary(root *os.Root, dir string) {
	d, err := root.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if tempForm.MatchString(name) && isAbandoned(root, path.Join(dir, name)) {
			_ = root.Remove(path.Join(dir, name))
		}
	}
}

func isAbandoned(root *os.Root, name string) bool {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < unlocked {
		return false
	}
	f, err := root.OpenFile(name, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// Sweep removes the temporary files that killed writers have left anywhere in the
// run's directory.
func (d *Dir) Sweep() {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			sweepTemporary(root, name)
		}
		return nil
	})
}
