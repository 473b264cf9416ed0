package rundir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

// Finding B1. A program that runs where checks do, and whose own repository is
// gone, does not find the user's around the runs directory.
func TestGitFindsNoRepositoryAroundTheRunsDirectory(t *testing.T) {
	repo := t.TempDir()
	git := func(dir string, args ...string) (string, error) {
		out, err := gittest.Command(t.Context(), dir, args...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, err := git(repo, "init", "-q"); err != nil {
		t.Fatal(out)
	}
	var store *rundir.Store
	for range 2 {
		var err error
		if store, err = rundir.Open(t.Context(), filepath.Join(repo, ".runs")); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{store.Workspace("r1"), store.Scratch("r1")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := git(dir, "rev-parse", "--git-dir"); err == nil {
			t.Errorf("in %s git finds %s", dir, out)
		}
	}
	if out, err := git(repo, "status", "--porcelain"); err != nil || out != "" {
		t.Errorf("status of the user's repository: %s, %v", out, err)
	}
}
