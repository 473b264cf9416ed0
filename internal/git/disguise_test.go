package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
)

// Finding B1. What a repository has git show in place of an object does not
// reach us.
func TestReplacementsAndGraftsDoNotCount(t *testing.T) {
	r := newRepo(t)
	tree := run(t, r, "write-tree")
	first := run(t, r, "commit-tree", "-m", "first", tree)
	second := run(t, r, "commit-tree", "-m", "second", "-p", first, tree)
	other := run(t, r, "commit-tree", "-m", "other", tree)
	run(t, r, "update-ref", "refs/replace/"+first, other)
	if err := os.WriteFile(filepath.Join(r.GitDir, "info", "grafts"), []byte(second+" "+other+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, r, "log", "--format=%s", second); got != "second\nfirst" {
		t.Errorf("log %q", got)
	}
	objects := git.NewObjects(r)
	defer objects.Close()
	if o, err := objects.Read(t.Context(), git.ID(first), 1<<10); err != nil || git.Identify(git.ID(first), git.Commit, o.Content) != git.ID(first) {
		t.Errorf("read %q, %v", o.Content, err)
	}
}
