package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// check runs a shell command in the work tree as a check does: with a git that
// trusts what it finds.
func check(t testing.TB, w *workspace.Workspace, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	cmd.Dir = w.WorkDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// Finding B1. What a check does with git in its work tree stays there, and is
// gone at the next Sync.
func TestAChecksGitReachesNothingOfTheUsers(t *testing.T) {
	r := userRepo(t, sample)
	runGit(t, r, "tag", "-m", "annotated", "v1.2.3")
	runGit(t, r, "tag", "light")
	runGit(t, r, "update-ref", "refs/remotes/origin/main", "HEAD")
	write(t, r.Dir, files{".git/info/exclude": "private\n", ".git/hooks/pre-commit*": "#!/bin/sh\nexit 1\n"})
	write(t, filepath.Dir(specOf(t, r).Dir), files{"private": ""})
	spec := specOf(t, r)
	w := open(t, spec)
	must(t, w.Prepare(t.Context()))
	c, err := w.Commit(t.Context(), commitOf(spec.Base, edited()))
	must(t, err)
	must(t, w.Sync(t.Context(), c))
	before := everythingOf(t, r)
	for _, tt := range []struct{ what, script, want string }{
		{"the repository is the work tree's own", "git rev-parse --git-common-dir", ".git\n"},
		{"HEAD is on a branch of the run's name", "git branch --show-current", w.Branch() + "\n"},
		{"at the commit", "git rev-parse HEAD", string(c) + "\n"},
		{"nothing is changed", "git status --porcelain", ""},
		{"the history is there", "git log --format=%s", "execute: change\nbase\n"},
		{"versions are told by tags", "git describe", fmt.Sprintf("v1.2.3-1-g%.7s\n", c)},
		{"and by those that are no objects", "git describe --tags --match light", fmt.Sprintf("light-1-g%.7s\n", c)},
		{"changes are told by branches", "git diff --name-only origin/main...; git merge-base HEAD main", "main.go\n" + string(spec.Base) + "\n"},
		{"there is no remote", "git remote", ""},
		{"there is no hook", "ls .git/hooks 2>/dev/null | wc -l", "0\n"},
		{"what the user's checkout ignores is ignored", "touch private; git status --porcelain", ""},
		{"a commit", "echo x >backdoor; git add -A; git commit -qm tidy; git log -1 --format=%an", git.Name + "\n"},
		{"branches, tags, replacements and names", "git branch -f main HEAD; git tag -f light; git replace HEAD HEAD~1; git symbolic-ref refs/heads/x refs/heads/main; git pack-refs --all; git tag -d v1.2.3 >/dev/null", "Updated tag"},
		{"hooks, attributes and configuration", "mkdir -p .git/hooks .git/info; printf '#!/bin/sh\\nexit 1' >.git/hooks/post-checkout; chmod +x .git/hooks/*; echo '* merge=ours' >.git/info/attributes; git config alias.merge '!false'", ""},
		{"collection", "git gc -q --prune=now; git fsck --no-progress --no-dangling", ""},
	} {
		if got := check(t, w, tt.script); got != tt.want && !(tt.want == "Updated tag" && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
	if everythingOf(t, r) != before {
		t.Error("the user's repository has changed")
	}
	must(t, w.Sync(t.Context(), c))
	gittest.WantTree(t, w.Dir(), editedTree.With(files{"private": ""}))
	if got := check(t, w, "git log --format=%s; git describe; git replace; ls .git/hooks 2>/dev/null || true; git config --get alias.merge || true"); got != fmt.Sprintf("execute: change\nbase\nv1.2.3-1-g%.7s\n", c) {
		t.Errorf("after the next sync: %q", got)
	}
}

// everythingOf is the user's whole repository: names, contents and references.
func everythingOf(t *testing.T, r git.Repo) string {
	t.Helper()
	return fmt.Sprint(gittest.Tree(t, filepath.Join(r.Dir, ".git")), gittest.Tree(t, r.Dir))
}

// Files that are right are not written again: caches go by their times.
func TestSyncTouchesNothingThatIsRight(t *testing.T) {
	_, spec, w := prepared(t)
	must(t, w.Sync(t.Context(), spec.Base))
	write(t, w.Dir(), files{"cache/big": "x"})
	before := map[string]time.Time{}
	for _, name := range []string{"README.md", "lib/a/one.txt", "cache/big"} {
		fi, err := os.Stat(filepath.Join(w.Dir(), name))
		must(t, err)
		before[name] = fi.ModTime()
	}
	c, err := w.Commit(t.Context(), commitOf(spec.Base, edited()))
	must(t, err)
	check(t, w, "git reset -q --hard; git commit -q --allow-empty -m x")
	must(t, w.Sync(t.Context(), c))
	gittest.WantTree(t, w.Dir(), editedTree.With(files{"cache/big": "x"}))
	for name, was := range before {
		if fi, err := os.Stat(filepath.Join(w.Dir(), name)); err != nil || !fi.ModTime().Equal(was) {
			t.Errorf("%s: %v, %v; was %v", name, fi.ModTime(), err, was)
		}
	}
}

// lossy are repositories that lack objects of their last commit.
var lossy = []struct {
	name string
	make func(t *testing.T) string
	says string
}{
	{"a sparse partial clone", func(t *testing.T) string {
		r := userRepo(t, sample)
		runGit(t, r, "config", "uploadpack.allowFilter", "true")
		dir := filepath.Join(filepath.Dir(r.Dir), "partial")
		shell(t, filepath.Dir(r.Dir), "git clone -q --filter=blob:none --sparse \"file://$PWD/user's repo\" partial; cd partial; git sparse-checkout set lib/a")
		return dir
	}, "git fetch --refetch --no-filter"},
	{"a file's object is gone", func(t *testing.T) string { return without(t, "HEAD:lib/b/deep/x.txt") }, "git fsck"},
	{"a directory's object is gone", func(t *testing.T) string { return without(t, "HEAD:lib/b") }, "git fsck"},
}

func shell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// without is a repository in which one object is missing.
func without(t *testing.T, name string) string {
	t.Helper()
	r := userRepo(t, sample)
	id := runGit(t, r, "rev-parse", name)
	must(t, os.Remove(filepath.Join(r.Dir, ".git", "objects", id[:2], id[2:])))
	return r.Dir
}

// Finding B14. A repository that lacks objects is refused before the start, in a
// line that says what to do; a run that meets it all the same is told what it
// is.
func TestRepositoriesThatLackObjects(t *testing.T) {
	for _, tt := range lossy {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tt.make(t)
			_, err := workspace.Inspect(t.Context(), dir, "")
			if !errors.Is(err, workspace.ErrLacks) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("inspect: %v; want one line with %q", err, tt.says)
			}
			base := runGit(t, git.Repo{Dir: dir}, "rev-parse", "HEAD")
			w := open(t, workspace.Spec{Repo: dir, RunID: runID, Base: run.Commit(base), Dir: filepath.Join(t.TempDir(), "w")})
			must(t, w.Prepare(t.Context()))
			if err := w.Sync(t.Context(), run.Commit(base)); !errors.Is(err, git.ErrObject) {
				t.Errorf("sync: %v", err)
			}
			if _, err := w.Files(t.Context(), run.Commit(base)); !errors.Is(err, git.ErrObject) {
				t.Errorf("list: %v", err)
			}
			if _, err := w.Tree(t.Context(), run.Commit(base)).Lookup("lib/b/deep/x.txt"); !errors.Is(err, git.ErrObject) {
				t.Errorf("read: %v", err)
			}
		})
	}
}

func TestOpenOfARepositoryThatIsGone(t *testing.T) {
	r, spec, w := prepared(t)
	must(t, w.Close())
	must(t, os.RemoveAll(r.Dir))
	if _, err := workspace.Open(t.Context(), spec); !errors.Is(err, workspace.ErrNotRepository) {
		t.Errorf("open: %v", err)
	}
	for range 2 {
		must(t, workspace.Discard(spec.Dir))
	}
	if left, _ := os.ReadDir(filepath.Dir(spec.Dir)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
