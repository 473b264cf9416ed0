package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

func TestInspect(t *testing.T) {
	r := userRepo(t, sample)
	head := runGit(t, r, "rev-parse", "HEAD")
	runGit(t, r, "tag", "-m", "annotated", "v1")
	linked := filepath.Join(filepath.Dir(r.Dir), "linked")
	runGit(t, r, "worktree", "add", "-q", "-b", "side", linked)
	bare := filepath.Join(filepath.Dir(r.Dir), "bare.git")
	runGit(t, git.Repo{Dir: filepath.Dir(r.Dir)}, "init", "-q", "--bare", "-b", "main", bare)
	must(t, os.Remove(filepath.Join(bare, "objects", "info")))
	must(t, os.MkdirAll(filepath.Join(bare, "objects", "info"), 0o755))
	must(t, os.WriteFile(filepath.Join(bare, "objects", "info", "alternates"), []byte(filepath.Join(r.Dir, ".git", "objects")+"\n"), 0o644))
	runGit(t, git.Repo{Dir: bare, GitDir: bare}, "update-ref", "refs/heads/main", head)
	write(t, r.Dir, files{"untracked": "x\n"}) // no reason to refuse

	tests := []struct {
		name, dir, base string
		want            workspace.Source
	}{
		{"the top", r.Dir, "", workspace.Source{Root: r.Dir}},
		{"a sub-directory", filepath.Join(r.Dir, "lib", "b"), "", workspace.Source{Root: r.Dir, Prefix: "lib/b"}},
		{"a sub-directory with a space", filepath.Join(r.Dir, "with space"), "", workspace.Source{Root: r.Dir, Prefix: "with space"}},
		{"an annotated tag", r.Dir, "v1", workspace.Source{Root: r.Dir}},
		{"an abbreviated id", r.Dir, head[:10], workspace.Source{Root: r.Dir}},
		{"a linked work tree", linked, "", workspace.Source{Root: linked}},
		{"a bare repository", bare, "", workspace.Source{Root: bare, Bare: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Base = "" // compared apart
			got, err := workspace.Inspect(t.Context(), tt.dir, tt.base)
			must(t, err)
			if string(got.Base) != head {
				t.Errorf("base %s, want %s", got.Base, head)
			}
			got.Base = ""
			if got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
			spec := specOf(t, git.Repo{Dir: tt.dir})
			spec.Dir = filepath.Join(t.TempDir(), "w")
			w := open(t, spec)
			settle(t, w, spec.Base)
			gittest.WantTree(t, w.Dir(), sample)
			must(t, w.Remove(t.Context()))
		})
	}
}

// Git takes a linked work tree for bare where the configuration that it shares says so of the repository.
func TestInspectALinkedWorkTreeOfABareConfiguration(t *testing.T) {
	r := userRepo(t, sample)
	linked := filepath.Join(filepath.Dir(r.Dir), "linked")
	runGit(t, r, "worktree", "add", "-q", "-b", "side", linked)
	write(t, linked, files{"side.txt": "side\n"})
	head := commitAll(t, git.Repo{Dir: linked}, "side")
	runGit(t, r, "config", "core.bare", "true")
	runGit(t, r, "config", "extensions.worktreeConfig", "true")
	for dir, prefix := range map[string]string{linked: "", filepath.Join(linked, "lib", "b"): "lib/b"} {
		got, err := workspace.Inspect(t.Context(), dir, "")
		must(t, err)
		if want := (workspace.Source{Root: linked, Prefix: prefix, Base: head}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	write(t, linked, files{"README.md": "changed\n"})
	if _, err := workspace.Inspect(t.Context(), linked, ""); !errors.Is(err, workspace.ErrDirty) {
		t.Errorf("a changed file: error %v, want %v", err, workspace.ErrDirty)
	}
}

func TestInspectRefuses(t *testing.T) {
	inRepo := func(change func(t *testing.T, r git.Repo)) func(*testing.T) string {
		return func(t *testing.T) string {
			r := userRepo(t, sample)
			change(t, r)
			return r.Dir
		}
	}
	tests := []struct {
		name  string
		setup func(*testing.T) string
		base  string
		want  error
		says  string
	}{
		{"a plain directory", func(t *testing.T) string { return t.TempDir() }, "", workspace.ErrNotRepository, "git init"},
		{"nothing there", func(t *testing.T) string { return filepath.Join(t.TempDir(), "no") }, "", os.ErrNotExist, "no such file"},
		{"a file", func(t *testing.T) string {
			name := filepath.Join(t.TempDir(), "f")
			must(t, os.WriteFile(name, nil, 0o600))
			return name
		}, "", nil, "not a directory"},
		{"the git directory", inRepo(func(t *testing.T, r git.Repo) {}), "", nil, "inside a git directory"},
		{"no commits", func(t *testing.T) string {
			dir := t.TempDir()
			runGit(t, git.Repo{Dir: dir}, "init", "-q")
			return dir
		}, "", workspace.ErrNoCommits, "commit something first"},
		{"no commits, and a base by the name of the last", func(t *testing.T) string {
			dir := t.TempDir()
			runGit(t, git.Repo{Dir: dir}, "init", "-q")
			return dir
		}, "HEAD", workspace.ErrNoCommits, "commit something first"},
		{"a directory that the commit lacks", func(t *testing.T) string {
			dir := filepath.Join(inRepo(func(t *testing.T, r git.Repo) {})(t), "newer")
			must(t, os.Mkdir(dir, 0o755))
			return dir
		}, "", nil, "directory newer is not in commit"},
		{"a base that is not there", inRepo(func(t *testing.T, r git.Repo) {}), "nope", workspace.ErrBase, `base "nope"`},
		{"a base that is an option", inRepo(func(t *testing.T, r git.Repo) {}), "--all", workspace.ErrBase, "name a branch"},
		{"a base that is a tree", inRepo(func(t *testing.T, r git.Repo) {}), "HEAD:lib", workspace.ErrBase, "name a branch"},
		{"a modified file", inRepo(func(t *testing.T, r git.Repo) {
			write(t, r.Dir, files{"main.go": "package other\n"})
		}), "", workspace.ErrDirty, `first "main.go"): commit or stash them, or use --base HEAD`},
		{"a staged file", inRepo(func(t *testing.T, r git.Repo) {
			write(t, r.Dir, files{"new.go": "package main\n"})
			runGit(t, r, "add", "new.go")
		}), "", workspace.ErrDirty, "(1 file,"},
		{"a deleted file", inRepo(func(t *testing.T, r git.Repo) {
			must(t, os.Remove(filepath.Join(r.Dir, "main.go")))
		}), "", workspace.ErrDirty, "--base HEAD"},
		{"a modified file with a split index", inRepo(func(t *testing.T, r git.Repo) {
			runGit(t, r, "update-index", "--split-index")
			write(t, r.Dir, files{"main.go": "package other\n"})
		}), "", workspace.ErrDirty, "(1 file,"},
		{"references in reftables", inRepo(func(t *testing.T, r git.Repo) {
			must(t, os.Mkdir(filepath.Join(r.Dir, ".git", "reftable"), 0o755))
		}), "", workspace.ErrReftable, "git refs migrate"},
		{"a branch in the way", inRepo(func(t *testing.T, r git.Repo) {
			runGit(t, r, "branch", "ratchet")
		}), "", workspace.ErrBranchName, "rename it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.setup(t)
			if tt.name == "the git directory" {
				dir = filepath.Join(dir, ".git")
			}
			got, err := workspace.Inspect(t.Context(), dir, tt.base)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Fatalf("%+v, %v; want %v", got, err, tt.want)
			}
			if text := err.Error(); !strings.Contains(text, tt.says) || strings.Contains(text, "\n") {
				t.Errorf("error %q, want one line with %q", text, tt.says)
			}
		})
	}
}

func TestRootSaysWhatIsNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(file, nil, 0o600))
	for _, tt := range []struct{ name, dir, says string }{
		{"nothing there", filepath.Join(t.TempDir(), "no"), "no such file or directory: name another with --repo"},
		{"a file", file, "not a directory"},
		{"a path through a file", filepath.Join(file, "x"), "not a directory"},
		{"a plain directory", t.TempDir(), "not a git repository: run git init and commit there, or name another with --repo"},
	} {
		if root, err := workspace.Root(t.Context(), tt.dir); err == nil || err.Error() != tt.says {
			t.Errorf("%s: %q, %v, want %q", tt.name, root, err, tt.says)
		}
	}
}

// A checkout has the line ends that the user's own configuration asks for, and is no other for it.
func TestInspectWithTheUsersLineEnds(t *testing.T) {
	r := userRepo(t, sample)
	config := filepath.Join(t.TempDir(), "config")
	must(t, os.WriteFile(config, []byte("[core]\n\tautocrlf = true\n"), 0o600))
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	main := filepath.Join(r.Dir, "main.go")
	must(t, os.Remove(main))
	runGit(t, r, "-c", "core.autocrlf=true", "checkout", "-q", "--", "main.go")
	must(t, os.Chtimes(main, when, when)) // git has to read it
	if _, err := workspace.Inspect(t.Context(), r.Dir, ""); err != nil {
		t.Error(err)
	}
	must(t, os.WriteFile(main, []byte("package mine\r\n"), 0o644))
	if _, err := workspace.Inspect(t.Context(), r.Dir, ""); !errors.Is(err, workspace.ErrDirty) {
		t.Errorf("another text: %v", err)
	}
}

// A named base makes uncommitted changes the user's decision.
func TestInspectDirtyWithABase(t *testing.T) {
	r := userRepo(t, sample)
	write(t, r.Dir, files{"main.go": "package other\n"})
	before := userState(t, r)
	src, err := workspace.Inspect(t.Context(), r.Dir, "HEAD")
	must(t, err)
	if string(src.Base) != runGit(t, r, "rev-parse", "HEAD") {
		t.Errorf("base %s", src.Base)
	}
	if userState(t, r) != before {
		t.Error("the user's files have changed")
	}
}

// What the user's git takes for clean is clean: stat data out of date, modes
// that the file system does not keep.
func TestInspectClean(t *testing.T) {
	for name, change := range map[string]func(*testing.T, git.Repo){
		"touched": func(t *testing.T, r git.Repo) {
			must(t, os.Chtimes(filepath.Join(r.Dir, "main.go"), when, when))
		},
		"modes that do not count": func(t *testing.T, r git.Repo) {
			runGit(t, r, "config", "core.fileMode", "false")
			must(t, os.Chmod(filepath.Join(r.Dir, "main.go"), 0o755))
		},
		"split index": func(t *testing.T, r git.Repo) { runGit(t, r, "update-index", "--split-index") },
		"detached":    func(t *testing.T, r git.Repo) { runGit(t, r, "checkout", "-q", "--detach") },
	} {
		t.Run(name, func(t *testing.T) {
			r := userRepo(t, sample)
			change(t, r)
			before := userState(t, r)
			if _, err := workspace.Inspect(t.Context(), r.Dir, ""); err != nil {
				t.Error(err)
			}
			if userState(t, r) != before {
				t.Error("the user's files have changed")
			}
		})
	}
}
