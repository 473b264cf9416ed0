package git_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
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
		os.MkdirAll(filepath.Join(tree, "closed", "not \xff UTF-8", "closed"), 0o700),
		os.Chmod(filepath.Join(tree, "closed", "not \xff UTF-8", "closed"), 0),
		os.Chmod(filepath.Join(tree, "closed"), 0),
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
