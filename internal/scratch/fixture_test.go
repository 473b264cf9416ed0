package scratch_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/scratch"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

// files are the contents of a tree by path; a path that ends in * is
// executable, a content that begins with "-> " is a symbolic link.
type files = gittest.Files

var sample = files{
	"README.md":          "# sample\n",
	"main.go":            "package main\n\nfunc main() {\n}\n",
	"run.sh*":            "#!/bin/sh\n",
	"lib/a/one.txt":      "one\n",
	"lib/a/two.txt":      "two\n",
	"lib/b/deep/x.txt":   "x\n",
	"with space/ü ñ.txt": "unicode\n",
	"link":               "-> lib/a",
	"blob.bin":           "\x00\x01\x02binary",
	".gitignore":         "cache/\n*.o\n/local\n",
}

// userRepo makes a repository with one commit as a user has it.
func userRepo(t testing.TB, content files, initArgs ...string) git.Repo {
	t.Helper()
	r := git.Repo{Dir: filepath.Join(t.TempDir(), "user's repo")}
	must(t, os.Mkdir(r.Dir, 0o755))
	runGit(t, r, append([]string{"-c", "init.defaultBranch=main", "init", "-q", "--template="}, initArgs...)...)
	write(t, r.Dir, content)
	commitAll(t, r, "base")
	return r
}

func commitAll(t testing.TB, r git.Repo, message string) run.Commit {
	t.Helper()
	runGit(t, r, "add", "-A")
	runGit(t, r, "commit", "-q", "-m", message)
	return head(t, r)
}

func head(t testing.TB, r git.Repo) run.Commit {
	t.Helper()
	return run.Commit(runGit(t, r, "rev-parse", "HEAD"))
}

func runGit(t testing.TB, r git.Repo, args ...string) string {
	t.Helper()
	out, err := r.Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func write(t testing.TB, dir string, content files) {
	t.Helper()
	for name, text := range content {
		name, executable := strings.CutSuffix(name, "*")
		full := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			must(t, os.Symlink(to, full))
			continue
		}
		must(t, os.WriteFile(full, []byte(text), 0o644))
		if executable {
			must(t, os.Chmod(full, 0o755))
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// beside is the spec of a checkout of r that lives beside it.
func beside(r git.Repo) scratch.Spec {
	return scratch.Spec{Repo: r.Dir, Dir: filepath.Join(filepath.Dir(r.Dir), "runs", "scratch")}
}

func open(t testing.TB, spec scratch.Spec) *scratch.Scratch {
	t.Helper()
	s, err := scratch.Open(spec)
	must(t, err)
	return s
}

// made is a checkout of a fresh sample repository.
func made(t testing.TB) (git.Repo, *scratch.Scratch) {
	t.Helper()
	r := userRepo(t, sample)
	return r, makeAt(t, beside(r))
}

// makeAt makes a checkout of the last commit.
func makeAt(t testing.TB, spec scratch.Spec) *scratch.Scratch {
	t.Helper()
	s := open(t, spec)
	must(t, s.Make(t.Context(), head(t, git.Repo{Dir: spec.Repo})))
	return s
}

// apart is the spec of a checkout of r, which has others, that is the test's own.
func apart(t testing.TB, r git.Repo) scratch.Spec {
	t.Helper()
	return scratch.Spec{Repo: r.Dir, Dir: filepath.Join(t.TempDir(), "s")}
}

// state is a digest of all that is in a directory, objects and configuration
// included. Of a git directory the times do not count: a git that would store
// an object that is there already sets them.
func state(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		fi, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %s\n", name, fi.Mode())
		if fi.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			fmt.Fprintf(h, "%d %x\n", fi.Size(), b)
			return err
		}
		return nil
	}))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// agent runs a shell command in the checkout as an agent does: with a git that
// trusts what it finds.
func agent(t testing.TB, s *scratch.Scratch, script string) string {
	t.Helper()
	return shell(t, s.WorkDir(), script)
}

func shell(t testing.TB, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

func changes(t testing.TB, s *scratch.Scratch) string {
	t.Helper()
	diff, err := s.Changes(t.Context(), patch.Limits{})
	must(t, err)
	return string(diff)
}
