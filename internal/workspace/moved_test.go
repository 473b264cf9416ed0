package workspace_test

import (
	"errors"
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
	head, err := w.Commit(t.Context(), commitOf(spec.Base, edited()))
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
	}, "", "it was missing"},
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
	}, "", "it was missing, and [refs/heads/ratchet/"},
	{"a packed directory of branches", func(t *testing.T, a applied) {
		runGit(t, a.repo, "update-ref", "-d", a.ref())
		runGit(t, a.repo, "update-ref", a.ref()+"/x", string(a.stray))
		runGit(t, a.repo, "pack-refs", "--all", "--prune")
	}, "", "it was missing, and [refs/heads/ratchet/"},
	{"its directory is a branch", func(t *testing.T, a applied) {
		runGit(t, a.repo, "update-ref", "-d", a.ref())
		runGit(t, a.repo, "update-ref", "refs/heads/ratchet", string(a.stray))
	}, "", "it was missing, and [refs/heads/ratchet ("},
	{"rubbish", func(t *testing.T, a applied) {
		must(t, os.WriteFile(a.file(), []byte("rubbish\n"), 0o644))
	}, "", "it was missing"},
	{"an empty file, as after a power cut", func(t *testing.T, a applied) {
		must(t, os.WriteFile(a.file(), nil, 0o644))
	}, "", "it was missing"},
	{"a directory that is not empty", func(t *testing.T, a applied) {
		must(t, os.Remove(a.file()))
		write(t, a.file(), files{"x.lock": "", "deep/er": "rubbish\n"})
	}, "", "it was missing"},
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
}

// Whatever became of the branch, a look at it and the next commit say so and how it is put back, and change no reference.
func TestABranchThatWasMovedStays(t *testing.T) {
	second := change(patch.FileChange{Path: "second", Kind: patch.Added, After: regular("2\n")})
	for _, tt := range moves {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newApplied(t)
			must(t, a.w.CheckBranch(t.Context(), a.head))
			tt.do(t, a)
			before := refs(t, a.repo)
			from := map[string]run.Commit{"stray": a.stray, "base": a.spec.Base, "head": a.head, "": "no commit"}[tt.from]
			if from == "" {
				from = run.Commit(tt.from)
			}
			want := []string{tt.was, string(from), "`git update-ref --no-deref " + a.ref() + " " + string(a.head) + "`"}
			_, committed := a.w.Commit(t.Context(), commitOf(a.head, second))
			for what, err := range map[string]error{"a look": a.w.CheckBranch(t.Context(), a.head), "a commit": committed} {
				if !errors.Is(err, workspace.ErrMoved) {
					t.Errorf("%s: got %v, want ErrMoved", what, err)
					continue
				}
				for _, words := range want {
					if !strings.Contains(err.Error(), words) {
						t.Errorf("%s: got %v, want %q in it", what, err, words)
					}
				}
			}
			if after := refs(t, a.repo); after != before {
				t.Errorf("references were\n%s\nand are\n%s", before, after)
			}
		})
	}
}

// What the error says puts the branch back.
func TestABranchIsPutBackAsTheErrorSays(t *testing.T) {
	a := newApplied(t)
	runGit(t, a.repo, "symbolic-ref", a.ref(), "refs/heads/main")
	err := a.w.CheckBranch(t.Context(), a.head)
	if err == nil {
		t.Fatal("the branch counts as in place")
	}
	runGit(t, a.repo, strings.Fields(strings.Split(err.Error(), "`")[1])[1:]...)
	must(t, a.w.CheckBranch(t.Context(), a.head))
	if got := runGit(t, a.repo, "rev-parse", "refs/heads/main"); got != string(a.spec.Base) {
		t.Errorf("main is at %s, want %s", got, a.spec.Base)
	}
}

// Git puts a branch back at the end of a rebase, and lists a work tree that was removed until it is told to look: nothing
// is put on the branch until then.
func TestACommitToABranchThatAWorkTreeUses(t *testing.T) {
	for name, tt := range map[string]struct {
		use    func(t *testing.T, a applied)
		advice string
	}{
		"it is being rebased": {func(t *testing.T, a applied) {
			runGit(t, a.repo, "checkout", "-q", a.w.Branch())
			if out, err := a.repo.Run(t.Context(), "rebase", "-x", "false", "HEAD~1"); err == nil {
				t.Fatalf("the rebase does not stop: %s", out)
			}
			runGit(t, a.repo, "update-ref", a.ref(), string(a.stray))
		}, "end a rebase"},
		"of a removed work tree": {func(t *testing.T, a applied) {
			tree := filepath.Join(t.TempDir(), "mine")
			runGit(t, a.repo, "worktree", "add", "-q", tree, a.w.Branch())
			runGit(t, git.Repo{Dir: tree}, "reset", "-q", "--hard", string(a.stray))
			must(t, os.RemoveAll(tree))
		}, "git worktree prune"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newApplied(t)
			tt.use(t, a)
			second := change(patch.FileChange{Path: "second", Kind: patch.Added, After: regular("2\n")})
			_, err := a.w.Commit(t.Context(), commitOf(a.stray, second))
			if _, used := errors.AsType[*git.InUseError](err); !used || !strings.Contains(err.Error(), tt.advice) {
				t.Errorf("got %v, want an error that says %q", err, tt.advice)
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
		{name: "one that the branch goes on from", message: message, on: true},
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
			c, err := a.w.Commit(t.Context(), in)
			switch {
			case !tt.adopted && !errors.Is(err, workspace.ErrMoved):
				t.Errorf("%s, %v; want ErrMoved", c, err)
			case tt.adopted && (err != nil || string(c) != there):
				t.Errorf("%s, %v; want %s", c, err, there)
			}
			if got := runGit(t, a.repo, "rev-parse", a.ref()); got != tip {
				t.Errorf("branch at %s, was at %s", got, tip)
			}
		})
	}
}
