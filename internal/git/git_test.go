package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

func newRepo(t *testing.T, args ...string) git.Repo {
	t.Helper()
	r := git.Repo{Dir: t.TempDir()}
	run(t, r, append([]string{"init", "-q"}, args...)...)
	r.GitDir = filepath.Join(r.Dir, ".git")
	return r
}

func run(t *testing.T, r git.Repo, args ...string) string {
	t.Helper()
	out, err := r.Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// fake puts a git of our own making first on PATH.
func fake(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := proctest.WriteProgram(filepath.Join(dir, "git"), "#!/bin/sh\n"+script); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestErrors(t *testing.T) {
	r := newRepo(t)
	tests := []struct {
		name string
		repo git.Repo
		args []string
		want error
	}{
		{"no repository", git.Repo{Dir: t.TempDir()}, []string{"rev-parse", "HEAD"}, git.ErrNotRepository},
		{"no such revision", r, []string{"rev-parse", "--verify", "nope"}, git.ErrRevision},
		{"an unborn branch", r, []string{"log"}, nil},
		{"a missing object", r, []string{"diff-tree", strings.Repeat("1", 40), strings.Repeat("2", 40)}, git.ErrObject},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.repo.Run(t.Context(), tt.args...)
			e, ok := errors.AsType[*git.Error](err)
			if !ok || e.Command != tt.args[0] || e.Exit != 128 || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v (%+v), want %v", err, e, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is not one line", err)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	for answer, want := range map[string]error{
		"git version 2.32.0":                 nil,
		"git version 2.39.5 (Apple Git-154)": nil,
		"git version 3.0.1.windows.1":        nil,
		"git version 2.31.8":                 git.ErrTooOld,
		"git version 1.99":                   git.ErrTooOld,
		"git version next":                   git.ErrTooOld,
	} {
		t.Run(answer, func(t *testing.T) {
			fake(t, "echo '"+answer+"'\n")
			if v, err := git.Version(t.Context()); !errors.Is(err, want) {
				t.Errorf("%s, %v; want %v", v, err, want)
			}
		})
	}
	t.Run("not installed", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, err := git.Version(t.Context()); !errors.Is(err, git.ErrMissing) {
			t.Errorf("%v, want %v", err, git.ErrMissing)
		}
	})
}

// A git that hangs ends with its deadline, and so do its children, which hold
// its pipes.
func TestDeadline(t *testing.T) {
	fake(t, "sleep 1000 & echo $! >"+t.TempDir()+"/pid; wait\n")
	_, err := git.Repo{Timeout: 50 * time.Millisecond}.Run(t.Context(), "status")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the deadline", err)
	}
}

func TestBoundedOutput(t *testing.T) {
	fake(t, "yes\n")
	if _, err := (git.Repo{}).Run(t.Context(), "status"); !errors.Is(err, git.ErrOutput) {
		t.Errorf("standard output: %v, want %v", err, git.ErrOutput)
	}
	fake(t, "i=0; while [ $i -lt 20000 ]; do echo complaint >&2; i=$((i+1)); done; exit 1\n")
	_, err := git.Repo{}.Run(t.Context(), "status")
	if e, ok := errors.AsType[*git.Error](err); !ok || len(e.Stderr) != 4<<10 {
		t.Errorf("standard error: %v", err)
	}
}

// What the worker has in its environment stays there.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_KEY", "canary")
	t.Setenv("GIT_DIR", "/nowhere")
	t.Setenv("GIT_CONFIG_PARAMETERS", "'core.pager=canary'")
	fake(t, "env\n")
	env := run(t, git.Repo{}, "status")
	for _, word := range []string{"canary", "/nowhere"} {
		if strings.Contains(env, word) {
			t.Errorf("%q in:\n%s", word, env)
		}
	}
	for _, line := range []string{"LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL="} {
		if !slices.Contains(strings.Split(env, "\n"), line) {
			t.Errorf("no %q in:\n%s", line, env)
		}
	}
}

func TestStoreAndRead(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			r := newRepo(t, "--object-format="+format)
			like := git.ID(run(t, r, "hash-object", "-t", "tree", "/dev/null"))
			pack := git.NewPack(like)
			big := []byte(strings.Repeat("0123456789", 100_000))
			blobs := map[git.ID][]byte{}
			for _, content := range [][]byte{nil, []byte("x"), []byte("fifteen bytes .."), big} {
				blobs[pack.Add(git.Blob, content)] = content
			}
			pack.Add(git.Blob, big) // once is enough
			id := pack.Add(git.Blob, []byte("x"))
			tree := pack.Add(git.Tree, git.FormatTree([]git.Entry{
				{Name: "a", Mode: git.ModeTree, ID: pack.Add(git.Tree, git.FormatTree([]git.Entry{{Name: "f", Mode: git.ModeFile, ID: id}}))},
				{Name: "a.b", Mode: git.ModeExecutable, ID: id},
				{Name: "a-b", Mode: git.ModeFile, ID: id},
			}))
			for range 2 {
				if err := r.Store(t.Context(), pack); err != nil {
					t.Fatal(err)
				}
			}
			run(t, r, "fsck", "--strict", string(tree))
			if got := run(t, r, "ls-tree", "--name-only", string(tree)); got != "a-b\na.b\na" {
				t.Errorf("names in order: %q", got)
			}
			objects := git.NewObjects(r)
			for id, want := range blobs {
				o, err := objects.Read(t.Context(), id, 20)
				if err != nil || o.Kind != git.Blob || o.Size != int64(len(want)) || string(o.Content) != string(want[:min(20, len(want))]) {
					t.Errorf("%s: %+v, %v", id, o, err)
				}
			}
			if _, err := objects.Read(t.Context(), like.Zero(), 1); !errors.Is(err, git.ErrObject) {
				t.Errorf("missing: %v", err)
			}
			o, err := objects.Read(t.Context(), tree, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			entries, err := git.ParseTree(tree, o.Content)
			if err != nil || len(entries) != 3 || entries[0].Name != "a-b" || entries[2].Mode != git.ModeTree {
				t.Errorf("tree: %+v, %v", entries, err)
			}
			if err := objects.Close(); err != nil {
				t.Error(err)
			}
			if _, err := objects.Read(t.Context(), tree, 1); err != nil {
				t.Errorf("after Close: %v", err)
			}
			if err := objects.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReadRefusesNames(t *testing.T) {
	objects := git.NewObjects(newRepo(t))
	for _, id := range []git.ID{"", "HEAD", "-x", git.ID(strings.Repeat("A", 40)), git.ID(strings.Repeat("1", 39) + "\n")} {
		if _, err := objects.Read(t.Context(), id, 1); err == nil {
			t.Errorf("%q: no error", string(id))
		}
	}
}

// A git that answers nonsense, or dies, is replaced.
func TestReadFromABrokenGit(t *testing.T) {
	id := git.ID(strings.Repeat("1", 40))
	for name, script := range map[string]string{
		"dies":           "exit 1\n",
		"answers words":  "read x; echo what is this; sleep 1000\n",
		"counts wrongly": "read x; echo $x blob -1; sleep 1000\n",
		"ends too early": "read x; echo $x blob 100; echo y\n",
	} {
		t.Run(name, func(t *testing.T) {
			fake(t, script)
			if _, err := git.NewObjects(git.Repo{}).Read(t.Context(), id, 10); err == nil {
				t.Error("no error")
			}
		})
	}
	t.Run("hangs", func(t *testing.T) {
		fake(t, "sleep 1000\n")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := git.NewObjects(git.Repo{}).Read(ctx, id, 10); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the deadline", err)
		}
	})
}

func FuzzParseTree(f *testing.F) {
	id := git.ID(strings.Repeat("1", 40))
	f.Add(git.FormatTree([]git.Entry{{Name: "a", Mode: git.ModeFile, ID: id}, {Name: "b", Mode: git.ModeTree, ID: id}}))
	f.Add([]byte("100644 a\x00short"))
	f.Fuzz(func(t *testing.T, content []byte) {
		entries, err := git.ParseTree(id, content)
		if err != nil {
			return
		}
		again, err := git.ParseTree(id, git.FormatTree(entries))
		if err != nil || len(again) != len(entries) {
			t.Errorf("%+v became %+v, %v", entries, again, err)
		}
	})
}

// Files that are not what they say are not believed.
func TestReadRefusesWrongObjects(t *testing.T) {
	r := newRepo(t)
	pack := git.NewPack(git.ID(run(t, r, "hash-object", "-t", "tree", "/dev/null")))
	right, other := pack.Add(git.Blob, []byte("right")), pack.Add(git.Blob, []byte("other"))
	if err := r.Store(t.Context(), pack); err != nil {
		t.Fatal(err)
	}
	file := func(id git.ID) string { return filepath.Join(r.GitDir, "objects", string(id[:2]), string(id[2:])) }
	for name, spoil := range map[string]func() error{
		"another content": func() error { return os.Link(file(other), file(right)) },
		"a link":          func() error { return os.Symlink("/etc/passwd", file(right)) },
		"a cut":           func() error { return os.WriteFile(file(right), []byte{0x78, 1, 2}, 0o600) },
		"nothing":         func() error { return os.WriteFile(file(right), nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := errors.Join(os.Remove(file(right)), spoil()); err != nil {
				t.Fatal(err)
			}
			objects := git.NewObjects(r)
			defer objects.Close()
			if o, err := objects.Read(t.Context(), right, 1<<10); !errors.Is(err, git.ErrObject) {
				t.Errorf("got %q, %v; want %v", o.Content, err, git.ErrObject)
			}
			if o, err := objects.Read(t.Context(), other, 1<<10); err != nil || string(o.Content) != "other" {
				t.Errorf("then got %q, %v; want %q", o.Content, err, "other")
			}
		})
	}
}
