package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/checkouts"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// TestWhatTheUserHasMadeInACheckoutKeepsIt has something of the user's in a checkout that making it anew would lose.
func TestWhatTheUserHasMadeInACheckoutKeepsIt(t *testing.T) {
	commit := func(t *testing.T, dir string) {
		t.Helper()
		clitest.Git(t, dir, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "mine")
	}
	for name, tc := range map[string]struct {
		change func(t *testing.T, dir string)
		kept   bool
	}{
		"nothing":                     {func(*testing.T, string) {}, false},
		"a file that is as it was":    {func(t *testing.T, dir string) { clitest.Write(t, filepath.Join(dir, "state.txt"), "bad\n") }, false},
		"a changed file":              {func(t *testing.T, dir string) { clitest.Write(t, filepath.Join(dir, "state.txt"), "mine\n") }, true},
		"a new file":                  {func(t *testing.T, dir string) { clitest.Write(t, filepath.Join(dir, "new.txt"), "mine\n") }, true},
		"a file that git ignores":     {func(t *testing.T, dir string) { clitest.Write(t, filepath.Join(dir, ".env"), "mine\n") }, true},
		"a directory of build output": {func(t *testing.T, dir string) { clitest.Write(t, filepath.Join(dir, "out", "bin", "tool"), "built\n") }, true},
		"an ignored file that is staged": {func(t *testing.T, dir string) {
			clitest.Write(t, filepath.Join(dir, ".env"), "mine\n")
			clitest.Git(t, dir, "add", "-f", ".env")
		}, true},
		"an ignored file that is to be added": {func(t *testing.T, dir string) {
			clitest.Write(t, filepath.Join(dir, ".env"), "mine\n")
			clitest.Git(t, dir, "add", "-f", "-N", ".env")
		}, true},
		"a file that your own rules ignore": {func(t *testing.T, dir string) {
			clitest.Write(t, filepath.Join(dir, ".git", "info", "exclude"), "notes\n")
			clitest.Write(t, filepath.Join(dir, "notes"), "mine\n")
		}, true},
		"a repository in an ignored directory": {func(t *testing.T, dir string) {
			clitest.Must(t, os.Mkdir(filepath.Join(dir, "out"), 0o700))
			clitest.Git(t, dir, "init", "-q", "out/nested")
			commit(t, filepath.Join(dir, "out", "nested"))
		}, true},
		"a staged change that the file no longer has": {func(t *testing.T, dir string) {
			clitest.Write(t, filepath.Join(dir, "state.txt"), "mine\n")
			clitest.Git(t, dir, "add", "state.txt")
			clitest.Write(t, filepath.Join(dir, "state.txt"), "bad\n")
		}, true},
		"a commit": {commit, true},
		"a commit on another branch": {func(t *testing.T, dir string) {
			clitest.Git(t, dir, "switch", "-q", "-c", "mine")
			commit(t, dir)
			clitest.Git(t, dir, "switch", "-q", "--detach", "HEAD~1")
		}, true},
		"a checkout without its repository": {func(t *testing.T, dir string) { clitest.Must(t, os.RemoveAll(filepath.Join(dir, ".git"))) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := clitest.Repository(t)
			clitest.Write(t, filepath.Join(repo, ".gitignore"), ".env\nout/\n")
			clitest.Git(t, repo, "add", "-A")
			commit(t, repo)
			c := factory.New(console.Console{}, nil)
			c.RunsDir = t.TempDir()
			tree, err := checkouts.Of(c, "0198c5e2-7d1f-7c3a-9b51-2f6d0c9e4a77", run.Repository{Path: repo})
			clitest.Must(t, err)
			clitest.Must(t, tree.Make(t.Context(), run.Commit(strings.TrimSpace(clitest.Git(t, repo, "rev-parse", "HEAD")))))
			tc.change(t, tree.Top())
			if kept := checkouts.Changed(t.Context(), tree); kept != tc.kept {
				t.Errorf("kept: %v", kept)
			}
		})
	}
}
