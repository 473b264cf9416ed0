package workspace_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

const runID run.ID = "01890a5d-ac96-774b-bcce-b302099a8057"

// when is the time of every commit here.
var when = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// files are the contents of a tree by path; a path that ends in * is executable.
type files = gittest.Files

var sample = files{
	"README.md":          "# sample\n",
	"main.go":            "package main\n",
	"run.sh*":            "#!/bin/sh\n",
	"lib/a/one.txt":      "one\n",
	"lib/a/two.txt":      "two\n",
	"lib/b/deep/x.txt":   "x\n",
	"with space/ü ñ.txt": "unicode\n",
	".gitignore":         "cache/\n*.o\n",
}

var samples gittest.Template

// userRepo makes a repository with one commit as a user has it.
func userRepo(t testing.TB, content files, initArgs ...string) git.Repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := git.Repo{Dir: filepath.Join(dir, "user's repo")}
	fill := func(dir string) {
		r := git.Repo{Dir: dir}
		runGit(t, r, append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
		write(t, r.Dir, content)
		commitAll(t, r, "base")
	}
	must(t, os.Mkdir(r.Dir, 0o755))
	if len(initArgs) == 0 && maps.Equal(content, sample) {
		samples.Copy(t, r.Dir, fill)
	} else {
		fill(r.Dir)
	}
	return r
}

// commitAll commits everything at the fixed time, so that ids are the same everywhere.
func commitAll(t testing.TB, r git.Repo, message string) run.Commit {
	t.Helper()
	runGit(t, r, "add", "-A")
	tree := runGit(t, r, "write-tree")
	text := "tree " + tree + "\n"
	if parent, err := r.Run(t.Context(), "rev-parse", "-q", "--verify", "HEAD"); err == nil {
		text += "parent " + strings.TrimSpace(string(parent)) + "\n"
	}
	who := fmt.Sprintf("A U Thor <author@example.com> %d +0000", when.Unix())
	text += "author " + who + "\ncommitter " + who + "\n\n" + message + "\n"
	name := filepath.Join(t.TempDir(), "commit")
	must(t, os.WriteFile(name, []byte(text), 0o600))
	id := runGit(t, r, "hash-object", "-t", "commit", "-w", name)
	runGit(t, r, "reset", "-q", "--soft", id)
	return run.Commit(id)
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

// specOf is a workspace at the head of a repository, beside it.
func specOf(t testing.TB, r git.Repo) workspace.Spec {
	t.Helper()
	src, err := workspace.Inspect(t.Context(), r.Dir, "HEAD")
	must(t, err)
	return workspace.Spec{
		Repo:   src.Root,
		Prefix: src.Prefix,
		RunID:  runID,
		Base:   src.Base,
		Dir:    filepath.Join(filepath.Dir(src.Root), "runs", "workspaces", string(runID)),
	}
}

func open(t testing.TB, spec workspace.Spec) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(t.Context(), spec)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	return w
}

// prepared is a workspace on a fresh sample repository, with the files of its base.
func prepared(t testing.TB) (git.Repo, workspace.Spec, *workspace.Workspace) {
	t.Helper()
	r := userRepo(t, sample)
	spec := specOf(t, r)
	w := open(t, spec)
	settle(t, w, spec.Base)
	return r, spec, w
}

// settle makes the branch and the files of the work tree.
func settle(t testing.TB, w *workspace.Workspace, commit run.Commit) {
	t.Helper()
	must(t, w.Prepare(t.Context()))
	must(t, w.Sync(t.Context(), commit))
}

func regular(text string) *patch.File {
	return &patch.File{Mode: patch.Regular, Content: []byte(text)}
}

func executable(text string) *patch.File {
	return &patch.File{Mode: patch.Executable, Content: []byte(text)}
}

func change(f ...patch.FileChange) *patch.Change { return &patch.Change{Files: f} }

// edited is the change that most tests make.
func edited() *patch.Change {
	return change(patch.FileChange{
		Path: "main.go", Kind: patch.Modified,
		Before: regular("package main\n"), After: regular("package main\n\nfunc main() {}\n"),
	})
}

var editedTree = sample.With(files{"main.go": "package main\n\nfunc main() {}\n"})

func commitOf(base run.Commit, c *patch.Change) workspace.CommitInput {
	return workspace.CommitInput{Base: base, Change: c, Message: "execute: change\n\nbody", Time: when}
}

// userState is a digest of everything of the user's: the checkout, the index, HEAD,
// branches, stash, configuration. What a run may add is left out.
func userState(t testing.TB, r git.Repo) string {
	t.Helper()
	h := sha256.New()
	must(t, filepath.WalkDir(r.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(r.Dir, path)
		for _, ours := range []string{"objects", "refs/heads/ratchet", "logs/refs/heads/ratchet"} {
			if name == filepath.Join(".git", ours) {
				return fs.SkipDir
			}
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %s\n", name, fi.Mode())
		if fi.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			fmt.Fprintf(h, "%d %s %x\n", fi.Size(), fi.ModTime(), b)
			return err
		}
		return nil
	}))
	return fmt.Sprintf("%x", h.Sum(nil))
}
