package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
)

func TestOnlyTheHoldersFileIsRemoved(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	first, err := git.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if err := git.RemoveLock(first); err != nil {
		t.Fatal(err)
	}
	second, err := git.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := git.RemoveLock(first); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(name); err != nil {
		t.Errorf("the lock of another is gone: %v", err)
	}
}
