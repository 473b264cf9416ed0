package child

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTheLockOfAFileOfCredentials(t *testing.T) {
	file := func(t *testing.T, path string) {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held := func(t *testing.T, path string) {
		f, err := os.Create(path)
		if err == nil {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
	}
	dir := func(age time.Duration) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			at := time.Now().Add(-age)
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	linked := func(t *testing.T, path string) {
		file(t, filepath.Join(filepath.Dir(path), "other"))
		if err := os.Symlink("other", path); err != nil {
			t.Fatal(err)
		}
	}
	nothing := func(*testing.T, string) {}
	for name, tt := range map[string]struct {
		kind  lockKind
		there func(t *testing.T, path string)
		free  bool
		left  os.FileMode // the kind of what is there after it; ModeIrregular: nothing
	}{
		"of a client that takes no turns":                    {"", nothing, true, os.ModeIrregular},
		"a file that is not there":                           {fileLock, nothing, true, 0},
		"a file that an earlier save has left":               {fileLock, file, true, 0},
		"a file that a session has locked":                   {fileLock, held, false, 0},
		"a link in the place of the file":                    {fileLock, linked, false, os.ModeSymlink},
		"a directory in the place of the file, left":         {fileLock, dir(time.Hour), true, 0},
		"a directory in the place of the file, in use":       {fileLock, dir(0), false, os.ModeDir},
		"a directory that is not there":                      {dirLock, nothing, true, os.ModeIrregular},
		"a directory that a session holds":                   {dirLock, dir(0), false, os.ModeDir},
		"a directory of a session that has died":             {dirLock, dir(time.Hour), true, os.ModeIrregular},
		"a file in the place of the directory":               {dirLock, file, false, 0},
		"a directory that is younger than its holder's turn": {dirLock, dir(abandoned / 2), false, os.ModeDir},
	} {
		t.Run(name, func(t *testing.T) {
			l := lock{tt.kind, filepath.Join(t.TempDir(), "auth.json.lock")}
			tt.there(t, l.Path)
			unlock, ok := l.await(0)
			if ok != tt.free {
				t.Errorf("free: %v", ok)
			}
			if ok && tt.kind != "" {
				if _, again := l.await(0); again {
					t.Error("it is taken twice")
				}
			}
			unlock()
			left := os.ModeIrregular
			if info, err := os.Lstat(l.Path); err == nil {
				left = info.Mode().Type()
			}
			if left != tt.left {
				t.Errorf("left: %v", left)
			}
		})
	}
}
