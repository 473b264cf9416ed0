package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
)

func TestFindUses(t *testing.T) {
	r := newRepo(t, "-b", "main")
	first := run(t, r, "commit-tree", "-m", "first", run(t, r, "write-tree"))
	ids := []string{first, run(t, r, "commit-tree", "-m", "second", "-p", first, run(t, r, "write-tree"))}
	run(t, r, "update-ref", "refs/heads/main", ids[0])
	run(t, r, "update-ref", "refs/heads/other", ids[0])
	check := func(want ...string) {
		t.Helper()
		var got []string
		for _, u := range git.FindUses(r.GitDir) {
			got = append(got, string(u.Task)+" "+u.Ref)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q; want %q", got, want)
		}
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(r.GitDir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check("checked out refs/heads/main")
	run(t, r, "worktree", "add", "-q", filepath.Join(t.TempDir(), "tree"), "other")
	check("checked out refs/heads/main", "checked out refs/heads/other")
	run(t, r, "worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "more"))
	run(t, r, "update-ref", "--no-deref", "HEAD", ids[1])
	check("checked out refs/heads/other")
	write("worktrees/tree/HEAD", "ref:  refs/heads/other") // git needs neither one blank nor a line feed
	write("worktrees/more/HEAD", ids[0])
	check("checked out refs/heads/other")
	write("rebase-merge/head-name", "refs/heads/main\n")
	write("rebase-merge/update-refs", "refs/heads/a\n"+ids[0]+"\n"+ids[1]+"\nrefs/heads/b\n"+ids[0]+"\n"+ids[1]+"\n")
	write("worktrees/more/BISECT_START", "c\n")
	write("worktrees/no-tree", "")
	write("worktrees/tree/rebase-apply/head-name", "detached HEAD\n")
	check("being bisected refs/heads/c", "being rebased refs/heads/a", "being rebased refs/heads/b", "being rebased refs/heads/main", "checked out refs/heads/other")
	if err := os.Remove(filepath.Join(r.GitDir, "HEAD")); err != nil {
		t.Fatal(err)
	}
	if got := git.FindUses(r.GitDir); got[0].Task != git.Unread || got[0].Ref != "" {
		t.Errorf("without a HEAD: %+v", got[0])
	}
}
