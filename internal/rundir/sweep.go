package rundir

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"time"

	"golang.org/x/sys/unix"
)

// tempForm finds the names that replace gives to temporary files, and no others.
var tempForm = regexp.MustCompile(`^\..+\.[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.tmp$`)

// unlocked is how old a temporary file may be whose writer has not locked it
// yet, as it does at once.
const unlocked = time.Second

// sweep removes the temporary files that killed writers have left in a
// directory, as far as it can: it keeps nobody from what the directory is for.
// The lock of a file says whether its writer lives.
func sweep(root *os.Root, dir string) {
	d, err := root.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if tempForm.MatchString(name) && abandoned(root, path.Join(dir, name)) {
			_ = root.Remove(path.Join(dir, name))
		}
	}
}

func abandoned(root *os.Root, name string) bool {
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

// Sweep removes what killed writers have left anywhere in the run's directory.
func (d *Dir) Sweep() {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			sweep(root, name)
		}
		return nil
	})
}
