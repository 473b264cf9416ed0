package child

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An agent of an earlier session can take from the worker the right to look into a directory, and a later one can give it
// back.
func TestFindSocketsWhereTheWorkerMayNotLook(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "closed-") // every user can reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	modes := map[string]os.FileMode{"closed": 0, "to search": 0o100, "to list": 0o400, "open": 0o500}
	for name := range modes {
		if err := os.MkdirAll(filepath.Join(dir, name, "below"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, open := range []string{dir, filepath.Join(dir, "open", "below")} {
		if err := os.Chmod(open, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range modes {
		path := filepath.Join(dir, name)
		if err := os.Chmod(path, mode|mode>>3|mode>>6); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(path, 0o700) })
	}
	find := func(dir string) ([]string, error) {
		return asOther(func() ([]string, error) { return findSockets(dir, nil, mostMet) })
	}
	want := []string{filepath.Join(dir, "closed"), filepath.Join(dir, "to list"), filepath.Join(dir, "to search")}
	if found, err := find(dir); err != nil || !slices.Equal(found, want) {
		t.Errorf("%q, %v", found, err)
	}
	for _, closed := range want {
		if _, err := find(closed); err == nil || !strings.Contains(err.Error(), "cannot read "+closed) {
			t.Errorf("%s: %v", closed, err)
		}
	}
}

// asOther calls the function in a thread for which no file system makes the exception that it makes for root.
func asOther[T any](f func() (T, error)) (v T, err error) {
	if os.Geteuid() != 0 {
		return f()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // it ends with the goroutine
		if _, err = unix.SetfsuidRetUid(65534); err == nil {
			v, err = f()
		}
	}()
	<-done
	return v, err
}
