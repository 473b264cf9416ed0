package patch_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

// TestFullDisk is R6 of the reliability catalogue for a patch: on a full file system
// nothing changes, the error says so with the path, and the same patch goes in once there is space.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	root := open(t, dir)
	for trial := range 95 {
		name := fmt.Sprintf("t%d/grown.txt", trial)
		lay(t, dir, map[string]string{name: "a\n", fmt.Sprintf("t%d/z.txt", trial): "z\n"})
		ballast := filepath.Join(dir, "ballast")
		fill(t, ballast, trial*4096)
		before := picture(t, dir)
		diff := fmt.Sprintf("--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1,2001 @@\n a\n%[2]s--- a/t%[3]d/z.txt\n+++ b/t%[3]d/z.txt\n@@ -1 +1 @@\n-z\n+Z\n", name, strings.Repeat("+"+strings.Repeat("x", 199)+"\n", 2000), trial)
		c := plan(t, patch.DirTree(root), diff)
		err := patch.WriteChange(root, c)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), fmt.Sprintf("t%d/", trial)) {
			t.Fatalf("trial %d: got %v, want no space left with the path", trial, err)
		}
		if !maps.Equal(picture(t, dir), before) {
			t.Fatalf("trial %d: the tree has changed", trial)
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if err := patch.WriteChange(root, c); err != nil {
			t.Fatalf("trial %d: with space again: %v", trial, err)
		}
		if err := os.RemoveAll(filepath.Join(dir, fmt.Sprintf("t%d", trial))); err != nil {
			t.Fatal(err)
		}
	}
}

// fill takes all space of a file system but for some bytes.
func fill(t *testing.T, name string, leave int) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := bytes.Repeat([]byte{'x'}, 4096)
	size := int64(0)
	for err == nil {
		var n int
		n, err = f.Write(block)
		size += int64(n)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Truncate(max(0, size-int64(leave))); err != nil {
		t.Fatal(err)
	}
}
