package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// applied is a workspace with one commit, and a commit that does not belong on
// its branch.
type applied struct {
	repo        git.Repo
	spec        workspace.Spec
	w           *workspace.Workspace
	head, stray run.Commit
}

func newApplied(t *testing.T) applied {
	t.Helper()
	r, spec, w := prepared(t)
	head, _, err := w.Commit(t.Context(), commitOf(spec.Base, edited()))
	must(t, err)
	stray := runGit(t, r, "commit-tree", "-m", "tidy", "-p", string(head), string(spec.Base)+"^{tree}")
	return applied{r, spec, w, head, run.Commit(stray)}
}

func (a applied) ref() string { return "refs/heads/" + a.w.Branch() }

func (a applied) file() string { return filepath.Join(a.repo.Dir, ".git", filepath.FromSlash(a.ref())) }

// moves are what checks and people do to the branch, in the user's repository.
var moves = []struct {
	name string
	do   func(t *testing.T, a applied)
	from string // what the branch then leads to: stray, base, or nothing
	was  string
}{
	{"a commit more", func(t *testing.T, a applied) {
		runGit(t, a.repo, "update-ref", a.ref(), string(a.stray))
	}, "stray", "it was moved"},
	{"back to where it began", func(t *testing.T, a applied) {
		runGit(t, a.repo, "update-ref", a.ref(), string(a.spec.Base))
	}, "base", "it was moved"},
	{"packed somewhere else", func(t *testing.T, a applied) {
		runGit(t, a.repo, "update-ref", a.ref(), string(a.stray))
		runGit(t, a.repo, "pack-refs", "--all", "--prune")
	}, "stray", "it was moved"},
	{"deleted", func(t *testing.T, a applied) {
		runGit(t, a.repo, "update-ref", "-d", a.ref())
	}, "", "it was gone"},
	{"another name of main", func(t *testing.T, a applied) {
		runGit(t, a.repo, "symbolic-ref", a.ref(), "refs/heads/main")
	}, "base", "another name of refs/heads/main"},
	{"another name of a branch at the same commit", func(t *testing.T, a applied) {
		runGit(t, a.repo, "branch", "same", string(a.head))
		runGit(t, a.repo, "symbolic-ref", a.ref(), "refs/heads/same")
	}, "head", "another name of refs/heads/same"},
	{"another name of nothing", func(t *testing.T, a applied) {
		runGit(t, a.repo, "symbolic-ref", a.ref(), "refs/heads/nowhere")
	}, "", "another name of refs/heads/nowhere"},
	{"a directory of branches", func(t *testing.T, a applied) {
		runGit(t, a.repo, "update-ref", "-d", a.ref())
		runGit(t, a.repo, "update-ref", a.ref()+"/x", string(a.stray))
	}, "", "in its way was [refs/heads/ratchet/"},
	{"a packed directory of branches", func(t *testing.T, a applied) {
		runGit(t, a.repo, "update-ref", "-d", a.ref())
		runGit(t, a.repo, "update-ref", a.ref()+"/x", string(a.stray))
		runGit(t, a.repo, "pack-refs", "--all", "--prune")
	}, "", "in its way was [refs/heads/ratchet/"},
	{"its directory is a branch", func(t *testing.T, a applied) {
		runGit(t, a.repo, "update-ref", "-d", a.ref())
		runGit(t, a.repo, "update-ref", "refs/heads/ratchet", string(a.stray))
	}, "", "in its way was [refs/heads/ratchet ("},
	{"rubbish", func(t *testing.T, a applied) {
		must(t, os.WriteFile(a.file(), []byte("rubbish\n"), 0o644))
	}, "", "it was gone"},
	{"an empty file, as after a power cut", func(t *testing.T, a applied) {
		must(t, os.WriteFile(a.file(), nil, 0o644))
	}, "", "it was gone"},
	{"a directory that is not empty", func(t *testing.T, a applied) {
		must(t, os.Remove(a.file()))
		write(t, a.file(), files{"x.lock": "", "deep/er": "rubbish\n"})
	}, "", "it was gone"},
	{"a pipe", func(t *testing.T, a applied) {
		must(t, os.Remove(a.file()))
		must(t, syscall.Mkfifo(a.file(), 0o600))
	}, "", "a special file"},
	{"a symbolic link to the file of main", func(t *testing.T, a applied) {
		must(t, os.Remove(a.file()))
		must(t, os.Symlink("../main", a.file()))
	}, "", "a symbolic link"},
	{"a symbolic link that git takes for a name", func(t *testing.T, a applied) {
		must(t, os.Remove(a.file()))
		must(t, os.Symlink("refs/heads/main", a.file()))
	}, "", "a symbolic link"},
	{"moved, with a lock left on it", func(t *testing.T, a applied) {
		runGit(t, a.repo, "update-ref", a.ref(), string(a.stray))
		old := time.Now().Add(-time.Minute)
		must(t, os.WriteFile(a.file()+".lock", nil, 0o644))
		must(t, os.Chtimes(a.file()+".lock", old, old))
	}, "stray", "it was moved"},
	{"moved, with a log that leads elsewhere", func(t *testing.T, a applied) {
		runGit(t, a.repo, "update-ref", a.ref(), string(a.stray))
		log := filepath.Join(a.repo.Dir, ".git", "logs", filepath.FromSlash(a.ref()))
		must(t, os.Remove(log))
		must(t, syscall.Mkfifo(log, 0o600))
	}, "stray", "it was moved"},
	{"to an object that is not there", func(t *testing.T, a applied) {
		must(t, os.WriteFile(a.file(), []byte(strings.Repeat("1", 40)+"\n"), 0o644))
	}, strings.Repeat("1", 40), "it was moved"},
	{"a replacement of its commit", func(t *testing.T, a applied) {
		runGit(t, a.repo, "update-ref", "refs/replace/"+string(a.head), string(a.stray))
	}, "head", "refs/replace/"},
	{"a replacement of its tree, packed", func(t *testing.T, a applied) {
		tree := runGit(t, a.repo, "rev-parse", string(a.head)+"^{tree}")
		runGit(t, a.repo, "update-ref", "refs/replace/"+tree, runGit(t, a.repo, "rev-parse", string(a.spec.Base)+"^{tree}"))
		runGit(t, a.repo, "pack-refs", "--all", "--prune")
	}, "head", "refs/replace/"},
	{"a graft of its commit", grafting, "head", "graft "},
}

// grafting gives the head another parent, beside a graft of the user's.
func grafting(t *testing.T, a applied) {
	write(t, a.repo.Dir, files{".git/info/grafts": fmt.Sprintf("%s %s\n%s\n", a.head, a.stray, a.spec.Base)})
}

// Finding B1. Whatever became of the branch, it is put back to what the run put
// there, what was found is told, and no other reference of the user's changes.
func TestRestore(t *testing.T) {
	for _, tt := range moves {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newApplied(t)
			tt.do(t, a)
			main := runGit(t, a.repo, "rev-parse", "refs/heads/main")
			var told []run.Restored
			tell := func(r run.Restored) error { told = append(told, r); return nil }
			found, err := a.w.Restore(t.Context(), a.head, tell)
			must(t, err)
			want := map[string]run.Commit{"stray": a.stray, "base": a.spec.Base, "head": a.head}[tt.from]
			if want == "" {
				want = run.Commit(tt.from)
			}
			if found == nil || found.From != want || found.To != a.head || !strings.Contains(found.Was, tt.was) {
				t.Errorf("found %+v, want from %q, %q", found, want, tt.was)
			}
			if len(told) != 1 || found != nil && told[0] != *found {
				t.Errorf("told %+v, found %+v", told, found)
			}
			a.wantRestored(t, main)
			if found, err := a.w.Restore(t.Context(), a.head, tell); found != nil || err != nil || len(told) != 1 {
				t.Errorf("again: %+v, %v", found, err)
			}
		})
	}
}

// wantRestored fails unless the branch is in place, for a git that trusts what it finds too.
func (a applied) wantRestored(t *testing.T, main string) {
	t.Helper()
	if got := runGit(t, a.repo, "rev-parse", a.ref()); got != string(a.head) {
		t.Errorf("branch at %s, want %s", got, a.head)
	}
	if got, err := a.repo.Run(t.Context(), "symbolic-ref", "-q", a.ref()); err == nil {
		t.Errorf("branch is another name of %s", got)
	}
	if got := runGit(t, a.repo, "rev-parse", "refs/heads/main"); got != main {
		t.Errorf("main at %s, was at %s", got, main)
	}
	if b, err := os.ReadFile(filepath.Join(a.repo.Dir, ".git", "info", "grafts")); err == nil && string(b) != string(a.spec.Base)+"\n" {
		t.Errorf("grafts: %s", b)
	}
	if got := runGit(t, a.repo, "for-each-ref", "refs/replace"); got != "" {
		t.Errorf("replacements are left: %s", got)
	}
	runGit(t, a.repo, "fsck", "--strict", "--no-reflogs")
}

// A replacement of an object that the run did not make is the user's.
func TestRestoreLeavesTheUsersReplacements(t *testing.T) {
	a := newApplied(t)
	runGit(t, a.repo, "update-ref", "refs/replace/"+string(a.spec.Base), string(a.stray))
	found, err := a.w.Restore(t.Context(), a.head, func(run.Restored) error { t.Error("told"); return nil })
	if found != nil || err != nil || runGit(t, a.repo, "for-each-ref", "refs/replace") == "" {
		t.Errorf("%+v, %v", found, err)
	}
}

// A branch that was moved in a work tree of the user's is not moved under it.
func TestRestoreOfABranchThatIsCheckedOut(t *testing.T) {
	a := newApplied(t)
	tree := filepath.Join(t.TempDir(), "mine")
	runGit(t, a.repo, "worktree", "add", "-q", tree, a.w.Branch())
	if found, err := a.w.Restore(t.Context(), a.head, nil); found != nil || err != nil {
		t.Errorf("in place: %+v, %v", found, err)
	}
	runGit(t, git.Repo{Dir: tree}, "reset", "-q", "--hard", string(a.stray))
	found, err := a.w.Restore(t.Context(), a.head, func(run.Restored) error { t.Error("told"); return nil })
	if _, ok := errors.AsType[*git.InUseError](err); !ok || found == nil || found.From != a.stray || runGit(t, a.repo, "rev-parse", a.ref()) != string(a.stray) {
		t.Errorf("found %+v, error %v", found, err)
	}
	runGit(t, git.Repo{Dir: tree}, "checkout", "-q", "--detach")
	if found, err := a.w.Restore(t.Context(), a.head, func(run.Restored) error { return nil }); found == nil || err != nil || runGit(t, a.repo, "rev-parse", a.ref()) != string(a.head) {
		t.Errorf("after that: %+v, %v", found, err)
	}
}

// Git puts a branch back at the end of a rebase: nothing is put on it, or moved back, until then.
func TestRestoreOfABranchThatIsBeingRebased(t *testing.T) {
	a := newApplied(t)
	runGit(t, a.repo, "checkout", "-q", a.w.Branch())
	if out, err := a.repo.Run(t.Context(), "rebase", "-x", "false", "HEAD~1"); err == nil {
		t.Fatalf("the rebase does not stop: %s", out)
	}
	runGit(t, a.repo, "update-ref", a.ref(), string(a.stray))
	found, err := a.w.Restore(t.Context(), a.head, func(run.Restored) error { t.Error("told"); return nil })
	if used, ok := errors.AsType[*git.InUseError](err); !ok || used.Task != git.Rebased || found == nil || runGit(t, a.repo, "rev-parse", a.ref()) != string(a.stray) {
		t.Errorf("found %+v, error %v", found, err)
	}
	if _, _, err := a.w.Commit(t.Context(), commitOf(a.stray, edited())); err == nil || !strings.Contains(err.Error(), "git rebase --abort") {
		t.Errorf("a commit: %v", err)
	}
}

// Git lists a work tree that was removed until it is told to look.
func TestRestoreOfABranchOfARemovedWorkTree(t *testing.T) {
	a := newApplied(t)
	tree := filepath.Join(t.TempDir(), "mine")
	runGit(t, a.repo, "worktree", "add", "-q", tree, a.w.Branch())
	runGit(t, git.Repo{Dir: tree}, "reset", "-q", "--hard", string(a.stray))
	must(t, os.RemoveAll(tree))
	_, err := a.w.Restore(t.Context(), a.head, func(run.Restored) error { t.Error("told"); return nil })
	advice := "git worktree prune"
	if _, ok := errors.AsType[*git.InUseError](err); !ok || !strings.Contains(err.Error(), "`"+advice+"` in "+a.repo.Dir) {
		t.Errorf("error %v", err)
	}
	runGit(t, a.repo, strings.Fields(advice)[1:]...)
	if found, err := a.w.Restore(t.Context(), a.head, func(run.Restored) error { return nil }); found == nil || err != nil || runGit(t, a.repo, "rev-parse", a.ref()) != string(a.head) {
		t.Errorf("after that: %+v, %v", found, err)
	}
}

// Who comes late has no say: the branch stays where it is.
func TestRestoreThatIsRefused(t *testing.T) {
	for _, tt := range moves {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newApplied(t)
			tt.do(t, a)
			before := refs(t, a.repo)
			if _, err := a.w.Restore(t.Context(), a.head, func(run.Restored) error { return workspace.ErrMoved }); !errors.Is(err, workspace.ErrMoved) {
				t.Errorf("error %v, want ErrMoved", err)
			}
			if after := refs(t, a.repo); after != before {
				t.Errorf("references were\n%s\nand are\n%s", before, after)
			}
		})
	}
}

// refs are the files of all references.
func refs(t *testing.T, r git.Repo) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range []string{"refs", "packed-refs"} {
		must(t, filepath.WalkDir(filepath.Join(r.Dir, ".git", dir), func(path string, d os.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			b.WriteString(path + " " + d.Type().String())
			if d.Type().IsRegular() {
				text, err := os.ReadFile(path)
				must(t, err)
				b.Write(text)
			}
			b.WriteString("\n")
			return err
		}))
	}
	return b.String()
}

// Finding B1. A branch that was moved meanwhile is put back before the next patch
// lands on it.
func TestCommitPutsTheBranchBack(t *testing.T) {
	second := change(patch.FileChange{Path: "second", Kind: patch.Added, After: regular("2\n")})
	for _, tt := range moves {
		if tt.from == "head" && !strings.Contains(tt.name, "name") { // Restore sees to those
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newApplied(t)
			tt.do(t, a)
			main := runGit(t, a.repo, "rev-parse", "refs/heads/main")
			in := commitOf(a.head, second)
			if c, _, err := a.w.Commit(t.Context(), in); !errors.Is(err, workspace.ErrMoved) {
				t.Fatalf("with nobody to tell: %s, %v; want ErrMoved", c, err)
			}
			told := 0
			in.Tell = func(r run.Restored) error { told++; return nil }
			c, found, err := a.w.Commit(t.Context(), in)
			must(t, err)
			if found == nil || found.To != a.head || told != 1 {
				t.Errorf("found %+v, told %d times", found, told)
			}
			if log, err := a.w.Log(t.Context(), a.spec.Base, c); err != nil || len(log) != 2 || log[0].Commit != a.head {
				t.Errorf("log %v, %v", log, err)
			}
			a.head = c
			a.wantRestored(t, main)
			if again, found, err := a.w.Commit(t.Context(), in); again != c || found != nil || err != nil || told != 1 {
				t.Errorf("again: %s, %+v, %v", again, found, err)
			}
		})
	}
}

// Finding B7. A commit that is this patch's in all but date and author is adopted; one
// that differs in anything else is not.
func TestCommitAdopts(t *testing.T) {
	const trailers = "Ratchet-Run: r1\nRatchet-Iteration: 1\nRatchet-Patch: sha256:aa"
	message := "do it\n\n" + trailers
	for _, tt := range []struct {
		name    string
		tree    func(a applied) string // empty: that of the patch
		parents func(a applied) []string
		message string
		on      bool // the branch goes on from there
		adopted bool
	}{
		{name: "another date and author", message: message, adopted: true},
		{name: "another subject", message: "otherwise put\n\n" + trailers, adopted: true},
		{name: "one that the branch goes on from", message: message, on: true, adopted: true},
		{name: "another iteration", message: strings.Replace(message, "Iteration: 1", "Iteration: 2", 1)},
		{name: "another run", message: strings.Replace(message, "r1", "r2", 1)},
		{name: "a trailer more", message: message + "\nSigned-off-by: x"},
		{name: "a trailer less", message: "do it\n\nRatchet-Run: r1\nRatchet-Iteration: 1"},
		{name: "no trailers", message: "do it"},
		{name: "another tree", message: message, tree: func(a applied) string { return string(a.spec.Base) + "^{tree}" }},
		{name: "another parent", message: message, parents: func(a applied) []string { return []string{"-p", string(a.stray)} }},
		{name: "two parents", message: message, parents: func(a applied) []string { return []string{"-p", string(a.spec.Base), "-p", string(a.stray)} }},
		{name: "no parent", message: message, parents: func(a applied) []string { return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newApplied(t)
			tree, parents := string(a.head)+"^{tree}", []string{"-p", string(a.spec.Base)}
			if tt.tree != nil {
				tree = tt.tree(a)
			}
			if tt.parents != nil {
				parents = tt.parents(a)
			}
			there := runGit(t, a.repo, append([]string{"-c", "user.name=x", "commit-tree", "-m", tt.message, runGit(t, a.repo, "rev-parse", tree)}, parents...)...)
			tip := there
			if tt.on {
				tip = runGit(t, a.repo, "commit-tree", "-m", "and on", "-p", there, tree)
			}
			runGit(t, a.repo, "update-ref", a.ref(), tip)
			in := commitOf(a.spec.Base, edited())
			in.Message = message
			c, found, err := a.w.Commit(t.Context(), in)
			switch {
			case !tt.adopted && !errors.Is(err, workspace.ErrMoved):
				t.Errorf("%s, %v; want ErrMoved", c, err)
			case tt.adopted && (err != nil || string(c) != there || found != nil):
				t.Errorf("%s, %+v, %v; want %s", c, found, err, there)
			}
			if got := runGit(t, a.repo, "rev-parse", a.ref()); got != tip {
				t.Errorf("branch at %s, was at %s", got, tip)
			}
		})
	}
}
