package checkout_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/checkout"
	"github.com/ratchet-dev/ratchet/internal/git"
)

// runGit runs git in a repository and returns what it says.
func runGit(t *testing.T, r git.Repo, args ...string) string {
	t.Helper()
	out, err := r.Run(t.Context(), append([]string{"-c", "user.name=u", "-c", "user.email=u@example.com"}, args...)...)
	if err != nil {
		t.Fatalf("git %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// userRepository is a repository with two commits, and branches before and after that of a run.
func userRepository(t *testing.T) (r git.Repo, first, second git.ID) {
	t.Helper()
	r = git.Repo{Dir: t.TempDir()}
	runGit(t, r, "init", "-q", "-b", "main")
	for _, id := range []*git.ID{&first, &second} {
		if err := os.WriteFile(filepath.Join(r.Dir, "file"), []byte(string(first)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		runGit(t, r, "add", "file")
		runGit(t, r, "commit", "-q", "-m", "change")
		*id = git.ID(runGit(t, r, "rev-parse", "HEAD"))
	}
	runGit(t, r, "branch", "a")
	runGit(t, r, "tag", "v1", string(first))
	return r, first, second
}

// entries returns what a directory holds, in the order of the names.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, path); name != "." {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestMakeARepository(t *testing.T) {
	want := []string{"HEAD", "config", "index", "objects", "objects/info", "objects/info/alternates", "packed-refs",
		"refs", "refs/heads", "refs/heads/ratchet", "refs/heads/ratchet/1"}
	for name, prepare := range map[string]func(r git.Repo, first git.ID){
		"a branch that the user's repository has at another commit": func(r git.Repo, first git.ID) {
			runGit(t, r, "branch", "ratchet/1", string(first))
		},
		"a branch that it does not have": func(git.Repo, git.ID) {},
		"a reference that leads nowhere": func(r git.Repo, first git.ID) {
			runGit(t, r, "symbolic-ref", "refs/heads/alias", "refs/heads/no-such")
		},
	} {
		t.Run(name, func(t *testing.T) {
			user, first, second := userRepository(t)
			prepare(user, first)
			tree := t.TempDir()
			if err := os.WriteFile(filepath.Join(tree, "file"), []byte(string(first)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(tree, ".git")
			err := checkout.Repository{
				Common: filepath.Join(user.Dir, ".git"), Commit: second,
				Index: filepath.Join(user.Dir, ".git", "index"), Branch: "refs/heads/ratchet/1", Refs: true,
			}.Make(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := entries(t, dir); !slices.Equal(got, want) {
				t.Errorf("it holds %q, want %q", got, want)
			}
			made := git.Repo{Dir: tree}
			runGit(t, made, "fsck", "--strict")
			for args, want := range map[string]string{
				"symbolic-ref HEAD": "refs/heads/ratchet/1", "rev-parse HEAD": string(second), "rev-parse ratchet/1": string(second),
				"rev-parse v1": string(first), "rev-parse a": string(second), "rev-parse main": string(second), "status --porcelain": "",
			} {
				if got := runGit(t, made, strings.Fields(args)...); got != want {
					t.Errorf("git %s: %q, want %q", args, got, want)
				}
			}
			runGit(t, made, "commit", "-q", "--allow-empty", "-m", "of a check")
			if got := runGit(t, made, "rev-parse", "ratchet/1~"); got != string(second) {
				t.Errorf("after a commit its parent is %s", got)
			}
		})
	}
}
