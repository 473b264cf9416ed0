package controlsocket_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

const gid dispatch.GardenID = "20260612T093000-0a1b2c"

// folder is a temporary directory whose path leaves room for a socket's name.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// listen listens at a path as another program would, until the test ends.
func listen(t testing.TB, path string) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// stale leaves the file of a socket that nobody listens on.
func stale(t testing.TB, path string) {
	t.Helper()
	l := listen(t, path)
	l.SetUnlinkOnClose(false)
	l.Close()
}

func write(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func symlink(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func beside(path, name string) string { return filepath.Join(filepath.Dir(path), name) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
