package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

func TestPrepare(t *testing.T) {
	r := userRepo(t, sample)
	write(t, r.Dir, files{"main.go": "package dirty\n", "untracked": "mine\n", "lib/a/one.txt": "staged\n"})
	runGit(t, r, "add", "lib/a/one.txt")
	spec := specOf(t, r)
	before := userState(t, r)
	w := open(t, spec)
	for range 2 {
		must(t, w.Prepare(t.Context()))
		if _, err := os.Lstat(w.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a work tree that nothing needs yet: %v", err)
		}
	}
	for range 2 {
		must(t, w.Sync(t.Context(), spec.Base))
		gittest.WantTree(t, w.Dir(), sample)
	}
	checks := git.Repo{Dir: w.Dir()}
	if got := runGit(t, checks, "symbolic-ref", "--short", "HEAD"); got != w.Branch() {
		t.Errorf("checked out %q, want %q", got, w.Branch())
	}
	c, err := w.Commit(t.Context(), commitOf(spec.Base, edited()))
	must(t, err)
	must(t, w.Sync(t.Context(), c))
	if got := runGit(t, checks, "status", "--porcelain"); got != "" {
		t.Errorf("status of the work tree: %s", got)
	}
	must(t, w.Remove(t.Context()))
	must(t, w.Remove(t.Context()))
	if userState(t, r) != before {
		t.Error("the user's files have changed")
	}
	if got := runGit(t, r, "worktree", "list", "--porcelain"); strings.Count(got, "worktree ") != 1 {
		t.Errorf("work trees: %s", got)
	}
	if left, _ := os.ReadDir(filepath.Dir(spec.Dir)); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if head, err := w.Head(t.Context()); err != nil || head != c {
		t.Errorf("head %s, %v; want %s", head, err, c)
	}
	settle(t, w, c) // made again from the branch
	gittest.WantTree(t, w.Dir(), editedTree)
}

// damage is what kills, checks and people do to a work tree and to our own git
// directory beside it. Sync mends each, whether a Prepare came before it or not.
var damage = []struct {
	name string
	do   func(t *testing.T, w *workspace.Workspace, shadow string)
	left files // of what was there before or was added
}{
	{"nothing", func(*testing.T, *workspace.Workspace, string) {}, nil},
	{"the work tree is gone", func(t *testing.T, w *workspace.Workspace, _ string) {
		must(t, os.RemoveAll(w.Dir()))
	}, nil},
	{"our git directory is gone", func(t *testing.T, w *workspace.Workspace, shadow string) {
		must(t, os.RemoveAll(shadow))
	}, nil},
	{"both are gone", func(t *testing.T, w *workspace.Workspace, shadow string) {
		must(t, os.RemoveAll(w.Dir()))
		must(t, os.RemoveAll(shadow))
	}, nil},
	{"the repository is gone", func(t *testing.T, w *workspace.Workspace, _ string) {
		must(t, os.RemoveAll(filepath.Join(w.Dir(), ".git")))
	}, nil},
	{"the repository is another", func(t *testing.T, w *workspace.Workspace, _ string) {
		must(t, os.RemoveAll(filepath.Join(w.Dir(), ".git")))
		runGit(t, git.Repo{Dir: w.Dir()}, "init", "-q")
	}, nil},
	{"the repository is a file", func(t *testing.T, w *workspace.Workspace, _ string) {
		must(t, os.RemoveAll(filepath.Join(w.Dir(), ".git")))
		must(t, os.WriteFile(filepath.Join(w.Dir(), ".git"), nil, 0o644))
	}, nil},
	{"the repository is a pipe", func(t *testing.T, w *workspace.Workspace, _ string) {
		must(t, os.RemoveAll(filepath.Join(w.Dir(), ".git")))
		must(t, syscall.Mkfifo(filepath.Join(w.Dir(), ".git"), 0o600))
	}, nil},
	{"the work tree is a file", func(t *testing.T, w *workspace.Workspace, _ string) {
		must(t, os.RemoveAll(w.Dir()))
		must(t, os.WriteFile(w.Dir(), []byte("x"), 0o644))
	}, nil},
	{"our git directory is a file", func(t *testing.T, w *workspace.Workspace, shadow string) {
		must(t, os.RemoveAll(shadow))
		must(t, os.WriteFile(shadow, []byte("x"), 0o644))
	}, nil},
	{"our git directory is a link to nowhere", func(t *testing.T, w *workspace.Workspace, shadow string) {
		must(t, os.RemoveAll(shadow))
		must(t, os.Symlink("nowhere", shadow))
	}, nil},
	{"what we keep is not complete", func(t *testing.T, w *workspace.Workspace, shadow string) {
		must(t, os.Remove(filepath.Join(shadow, "HEAD")))
		must(t, os.Remove(filepath.Join(shadow, "config")))
		must(t, os.RemoveAll(filepath.Join(shadow, "refs")))
	}, nil},
	{"half a repository of a killed worker", func(t *testing.T, w *workspace.Workspace, shadow string) {
		write(t, filepath.Join(shadow, "repository"), files{"HEAD": "", "packed-refs": "x"})
		must(t, os.RemoveAll(filepath.Join(w.Dir(), ".git")))
	}, nil},
	{"half checked out", func(t *testing.T, w *workspace.Workspace, shadow string) {
		must(t, os.RemoveAll(filepath.Join(w.Dir(), "lib")))
		must(t, os.Remove(filepath.Join(shadow, "index")))
	}, nil},
	{"locks of killed gits", func(t *testing.T, w *workspace.Workspace, shadow string) {
		must(t, os.WriteFile(filepath.Join(w.Dir(), ".git", "index.lock"), nil, 0o644))
		must(t, os.WriteFile(filepath.Join(shadow, "index.lock"), nil, 0o644))
	}, nil},
	{"an index of rubbish", func(t *testing.T, w *workspace.Workspace, shadow string) {
		must(t, os.WriteFile(filepath.Join(shadow, "index"), []byte("rubbish"), 0o644))
		must(t, os.WriteFile(filepath.Join(w.Dir(), ".git", "index"), []byte("rubbish"), 0o644))
	}, nil},
	{"another branch is checked out", func(t *testing.T, w *workspace.Workspace, _ string) {
		runGit(t, git.Repo{Dir: w.Dir()}, "checkout", "-q", "-b", "elsewhere")
	}, nil},
	{"files are changed, deleted and added", func(t *testing.T, w *workspace.Workspace, _ string) {
		write(t, w.Dir(), files{"main.go": "changed\n", "new/f": "x", "lib/a/new": "x"})
		must(t, os.Remove(filepath.Join(w.Dir(), "README.md")))
		must(t, os.Chmod(filepath.Join(w.Dir(), "run.sh"), 0o644))
	}, nil},
	{"a check's git hides and stages changes", func(t *testing.T, w *workspace.Workspace, _ string) {
		g := git.Repo{Dir: w.Dir()}
		runGit(t, g, "update-index", "--assume-unchanged", "main.go")
		runGit(t, g, "update-index", "--skip-worktree", "README.md")
		write(t, w.Dir(), files{"main.go": "changed\n", "README.md": "changed\n", "staged": "x"})
		runGit(t, g, "add", "staged")
		runGit(t, g, "rm", "-q", "--cached", "run.sh")
	}, nil},
	{"a file is a directory", func(t *testing.T, w *workspace.Workspace, _ string) {
		must(t, os.Remove(filepath.Join(w.Dir(), "main.go")))
		write(t, w.Dir(), files{"main.go/cache/x": "x"})
	}, nil},
	{"a directory is a file", func(t *testing.T, w *workspace.Workspace, _ string) {
		must(t, os.RemoveAll(filepath.Join(w.Dir(), "lib")))
		write(t, w.Dir(), files{"lib": "x"})
	}, nil},
	{"the files ignore themselves", func(t *testing.T, w *workspace.Workspace, _ string) {
		write(t, w.Dir(), files{".gitignore": "*\n", "rubbish": "x"})
	}, nil},
	{"a repository inside", func(t *testing.T, w *workspace.Workspace, _ string) {
		write(t, w.Dir(), files{"vendored/f": "x"})
		runGit(t, git.Repo{Dir: filepath.Join(w.Dir(), "vendored")}, "init", "-q")
	}, nil},
	{"ignored caches stay", func(t *testing.T, w *workspace.Workspace, _ string) {
		write(t, w.Dir(), files{"cache/big": "x", "lib/a/one.o": "x"})
	}, files{"cache/big": "x", "lib/a/one.o": "x"}},
	{"read-only directories", func(t *testing.T, w *workspace.Workspace, _ string) {
		write(t, w.Dir(), files{"mod/pkg/f": "x", "lib/a/new": "x"})
		for _, dir := range []string{"mod/pkg", "mod", "lib/a"} {
			must(t, os.Chmod(filepath.Join(w.Dir(), dir), 0o555))
		}
	}, nil},
}

// In the quick tier each damage meets one of the verbs, in turn.
func TestMend(t *testing.T) {
	verbs := []string{"prepare", "sync", "remove"}
	for i, tt := range damage {
		for j, verb := range verbs {
			t.Run(tt.name+", "+verb, func(t *testing.T) {
				if j != i%len(verbs) {
					need.Suite(t, need.CI)
				}
				t.Parallel()
				_, spec, w := prepared(t)
				c, err := w.Commit(t.Context(), commitOf(spec.Base, edited()))
				must(t, err)
				must(t, w.Sync(t.Context(), c))
				tt.do(t, w, spec.Dir+".shadow")
				switch verb {
				case "prepare":
					settle(t, w, c)
				case "sync":
					must(t, w.Sync(t.Context(), c))
				case "remove":
					must(t, w.Remove(t.Context()))
					if left, _ := os.ReadDir(filepath.Dir(spec.Dir)); len(left) != 0 {
						t.Errorf("left: %v", left)
					}
					return
				}
				gittest.WantTree(t, w.Dir(), editedTree.With(tt.left))
				checks := git.Repo{Dir: w.Dir()}
				if got := runGit(t, checks, "status", "--porcelain"); got != "" {
					t.Errorf("status of the work tree: %s", got)
				}
				if got := runGit(t, checks, "symbolic-ref", "HEAD"); got != "refs/heads/"+w.Branch() {
					t.Errorf("HEAD: %s", got)
				}
			})
		}
	}
}

// A cleared tree keeps nothing that a check has left, whatever it has left, and the branch stays.
func TestClear(t *testing.T) {
	for _, tt := range damage {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, spec, w := prepared(t)
			c, err := w.Commit(t.Context(), commitOf(spec.Base, edited()))
			must(t, err)
			must(t, w.Sync(t.Context(), c))
			tt.do(t, w, spec.Dir+".shadow")
			must(t, w.Clear(t.Context()))
			must(t, w.Clear(t.Context()))
			must(t, w.Sync(t.Context(), c))
			gittest.WantTree(t, w.Dir(), editedTree)
			if at, err := w.Head(t.Context()); err != nil || at != c {
				t.Errorf("the branch is at %s, %v; want %s", at, err, c)
			}
		})
	}
}

// Links that a check planted are removed; what they point to is left alone.
func TestSyncFollowsNoLink(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, dir, outside string){
		"a directory that points out": func(t *testing.T, dir, outside string) {
			must(t, os.RemoveAll(filepath.Join(dir, "lib")))
			must(t, os.Symlink(outside, filepath.Join(dir, "lib")))
		},
		"a directory that was moved out": func(t *testing.T, dir, outside string) {
			must(t, os.Rename(filepath.Join(dir, "lib"), filepath.Join(outside, "lib")))
			must(t, os.Symlink(filepath.Join(outside, "lib"), filepath.Join(dir, "lib")))
		},
		"a directory that was moved out and is ignored": func(t *testing.T, dir, outside string) {
			must(t, os.Rename(filepath.Join(dir, "lib"), filepath.Join(outside, "lib")))
			must(t, os.Symlink(filepath.Join(outside, "lib"), filepath.Join(dir, "lib")))
			write(t, dir, files{"sub/.gitignore": "x"})
			must(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("cache/\n*.o\nlib\n"), 0o644))
		},
		"a file that points out": func(t *testing.T, dir, outside string) {
			must(t, os.Remove(filepath.Join(dir, "main.go")))
			must(t, os.Symlink(filepath.Join(outside, "precious"), filepath.Join(dir, "main.go")))
		},
		"a file that is a hard link": func(t *testing.T, dir, outside string) {
			must(t, os.Remove(filepath.Join(dir, "main.go")))
			must(t, os.Link(filepath.Join(outside, "precious"), filepath.Join(dir, "main.go")))
		},
		"an untracked link": func(t *testing.T, dir, outside string) {
			must(t, os.Symlink(outside, filepath.Join(dir, "out")))
		},
		"an untracked directory with a link": func(t *testing.T, dir, outside string) {
			must(t, os.Mkdir(filepath.Join(dir, "new"), 0o755))
			must(t, os.Symlink(outside, filepath.Join(dir, "new", "out")))
		},
		"the work tree is a link": func(t *testing.T, dir, outside string) {
			must(t, os.Rename(dir, filepath.Join(outside, "w")))
			must(t, os.Symlink(filepath.Join(outside, "w"), dir))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, spec, w := prepared(t)
			outside := t.TempDir()
			write(t, outside, files{"precious": "precious\n", "a/one.txt": "precious\n"})
			plant(t, w.Dir(), outside)
			before := gittest.Tree(t, outside)
			must(t, w.Sync(t.Context(), spec.Base))
			gittest.WantTree(t, w.Dir(), sample)
			gittest.WantTree(t, outside, before)
			if got := runGit(t, git.Repo{Dir: w.Dir()}, "status", "--porcelain"); got != "" {
				t.Errorf("status of the work tree: %s", got)
			}
		})
	}
}

// A link that the commit itself holds is made, and goes with its commit.
func TestSyncLinksOfTheCommit(t *testing.T) {
	r := userRepo(t, sample)
	must(t, os.Symlink("lib/a", filepath.Join(r.Dir, "link")))
	commitAll(t, r, "link")
	spec := specOf(t, r)
	w := open(t, spec)
	settle(t, w, spec.Base)
	gittest.WantTree(t, w.Dir(), sample.With(files{"link": "-> lib/a"}))
	var entry *patch.EntryError
	if _, err := w.Tree(t.Context(), spec.Base).Lookup("link/one.txt"); !errors.As(err, &entry) || entry.Path != "link" || entry.Entry != patch.Symlink {
		t.Errorf("file beyond a link: %v", err)
	}
}

// Files whose line ends do not fit the repository's own attributes count as changed for
// git from the moment it wrote them; they do not keep a run from going on.
func TestSyncWithAttributes(t *testing.T) {
	r := userRepo(t, sample)
	write(t, r.Dir, files{"crlf.txt": "a\r\nb\r\n", "win.bat": "a\r\n"})
	commitAll(t, r, "before")
	write(t, r.Dir, files{".gitattributes": "*.txt text\n*.bat text eol=crlf\n*.psd filter=lfs\n", "x.psd": "version https://git-lfs\n"})
	runGit(t, r, "add", ".gitattributes", "x.psd")
	tree := runGit(t, r, "write-tree")
	id := runGit(t, r, "commit-tree", "-m", "after", "-p", "HEAD", tree)
	runGit(t, r, "reset", "-q", "--soft", id)
	spec := specOf(t, r)
	w := open(t, spec)
	for range 3 {
		settle(t, w, spec.Base)
		gittest.WantTree(t, w.Dir(), sample.With(files{
			"crlf.txt": "a\r\nb\r\n", "win.bat": "a\r\n", "x.psd": "version https://git-lfs\n",
			".gitattributes": "*.txt text\n*.bat text eol=crlf\n*.psd filter=lfs\n",
		}))
	}
	for file, want := range map[string]string{"crlf.txt": "a\r\nb\r\n", "win.bat": "a\r\n"} {
		if f, err := w.Tree(t.Context(), spec.Base).Lookup(file); err != nil || string(f.Content) != want {
			t.Errorf("%s: %q, %v; want %q", file, f.Content, err, want)
		}
	}
}

// A branch that somebody has checked out is not pulled from under them.
func TestCommitOfABranchThatIsCheckedOut(t *testing.T) {
	r, spec, w := prepared(t)
	runGit(t, r, "checkout", "-q", w.Branch())
	must(t, open(t, spec).Prepare(t.Context()))
	must(t, w.Sync(t.Context(), spec.Base))
	_, err := w.Commit(t.Context(), commitOf(spec.Base, edited()))
	var out *git.InUseError
	if !errors.As(err, &out) || out.Tree != r.Dir {
		t.Errorf("error %v, want checked out at %s", err, r.Dir)
	}
	runGit(t, r, "checkout", "-q", "main")
	c, err := w.Commit(t.Context(), commitOf(spec.Base, edited()))
	must(t, err)
	runGit(t, r, "checkout", "-q", w.Branch()) // the same again is no move
	if again, err := w.Commit(t.Context(), commitOf(spec.Base, edited())); err != nil || again != c {
		t.Errorf("again: %s, %v; want %s", again, err, c)
	}
}

func TestPrepareForeignBranch(t *testing.T) {
	r := userRepo(t, sample)
	orphan := runGit(t, r, "commit-tree", "-m", "other", "HEAD^{tree}")
	spec := specOf(t, r)
	w := open(t, spec)
	runGit(t, r, "branch", w.Branch(), orphan)
	if err := w.Prepare(t.Context()); !errors.Is(err, workspace.ErrForeign) {
		t.Errorf("error %v, want ErrForeign", err)
	}
}

// The stale work trees of the user's and of other runs are not ours to prune.
func TestRemoveLeavesOtherWorkTrees(t *testing.T) {
	r, spec, w := prepared(t)
	away := filepath.Join(filepath.Dir(r.Dir), "away")
	runGit(t, r, "worktree", "add", "-q", "-b", "away", away)
	must(t, os.RemoveAll(away)) // a drive that is not plugged in
	spec.RunID, spec.Dir = "other", filepath.Join(filepath.Dir(spec.Dir), "other")
	other := open(t, spec)
	settle(t, other, spec.Base)
	must(t, w.Remove(t.Context()))
	if got := runGit(t, r, "worktree", "list"); !strings.Contains(got, "[away]") {
		t.Errorf("work trees:\n%s", got)
	}
	gittest.WantTree(t, other.Dir(), sample)
}

// An attempt that comes when the run is over leaves nothing, whatever comes of it.
func TestWhatComesAfterTheRemovalLeavesNothing(t *testing.T) {
	for name, late := range map[string]func(context.Context, applied) error{
		"a commit that was made": func(ctx context.Context, a applied) error {
			_, err := a.w.Commit(ctx, commitOf(a.spec.Base, edited()))
			return err
		},
		"a look at the branch": func(ctx context.Context, a applied) error { return a.w.CheckBranch(ctx, a.head) },
		"another removal":      func(ctx context.Context, a applied) error { return a.w.Remove(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newApplied(t)
			must(t, a.w.Remove(t.Context()))
			must(t, late(t.Context(), a))
			if left, err := filepath.Glob(a.spec.Dir + "*"); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

func TestSyncToAMissingCommit(t *testing.T) {
	_, _, w := prepared(t)
	write(t, w.Dir(), files{"cache/kept": "x"})
	if err := w.Sync(t.Context(), "1111111111111111111111111111111111111111"); err == nil {
		t.Error("no error")
	}
	if err := w.Sync(t.Context(), "HEAD"); err == nil {
		t.Error("no error for a name")
	}
}
