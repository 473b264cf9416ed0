package git_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/need"
)

func TestRemoveTree(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	tree := filepath.Join(dir, "tree")
	if err := errors.Join(
		os.MkdirAll(filepath.Join(tree, "read-only"), 0o700),
		os.WriteFile(filepath.Join(outside, "kept"), nil, 0o600),
		os.WriteFile(filepath.Join(tree, "read-only", "file"), nil, 0o600),
		os.Symlink(outside, filepath.Join(tree, "read-only", "link")),
		os.Symlink(outside, filepath.Join(dir, "link")),
		os.Chmod(filepath.Join(tree, "read-only"), 0o500),
		os.Mkdir(filepath.Join(tree, "closed"), 0),
	); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{tree, filepath.Join(dir, "link"), tree, filepath.Join(dir, "no", "such")} {
		if err := git.RemoveTree(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(outside, "kept")); err != nil {
		t.Error(err)
	}
}

// deepVariable names the tree that a test binary removes while it can have few files open.
const deepVariable = "RATCHET_TEST_REMOVE"

func TestRemoveTreeThatIsDeep(t *testing.T) {
	need.Suite(t, need.CI)
	if tree := os.Getenv(deepVariable); tree != "" {
		if err := errors.Join(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}), git.RemoveTree(tree)); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir, outside := t.TempDir(), t.TempDir()
	tree := filepath.Join(dir, "tree")
	middle := filepath.Join(tree, strings.Repeat("d/", 150))
	deepest := filepath.Join(middle, strings.Repeat("d/", 150))
	if err := errors.Join(
		os.MkdirAll(filepath.Join(deepest, "closed"), 0o700),
		os.MkdirAll(filepath.Join(middle, "a", "b"), 0o700),
		os.WriteFile(filepath.Join(outside, "kept"), nil, 0o600),
		os.WriteFile(filepath.Join(deepest, "file"), nil, 0o600),
		os.Symlink(outside, filepath.Join(deepest, "link")),
		os.Symlink(outside, filepath.Join(tree, "link")),
		os.Chmod(filepath.Join(deepest, "closed"), 0),
		os.Chmod(deepest, 0o500),
		os.Chmod(middle, 0),
	); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), deepVariable+"="+tree)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(outside, "kept")); err != nil {
		t.Error(err)
	}
}
