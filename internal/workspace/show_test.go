package workspace_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

func TestTree(t *testing.T) {
	r := userRepo(t, sample)
	must(t, os.Symlink("main.go", filepath.Join(r.Dir, "link")))
	runGit(t, r, "add", "link")
	runGit(t, r, "update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,sub")
	runGit(t, r, "reset", "-q", "--soft", runGit(t, r, "commit-tree", "-m", "x", "-p", "HEAD", runGit(t, r, "write-tree")))
	spec := specOf(t, r)
	w := open(t, spec)
	write(t, r.Dir, files{"main.go": "the work tree does not count\n"})
	tree := w.Tree(t.Context(), spec.Base)

	f, err := tree.Lookup("run.sh")
	if err != nil || f.Mode != patch.Executable || string(f.Content) != "#!/bin/sh\n" {
		t.Errorf("run.sh: %+v, %v", f, err)
	}
	f, err = tree.Lookup("with space/ü ñ.txt")
	if err != nil || f.Mode != patch.Regular || string(f.Content) != "unicode\n" {
		t.Errorf("with space/ü ñ.txt: %+v, %v", f, err)
	}
	for path, want := range map[string]patch.EntryError{
		"lib":       {Path: "lib", Entry: patch.Directory},
		"link":      {Path: "link", Entry: patch.Symlink},
		"link/x":    {Path: "link", Entry: patch.Symlink},
		"sub":       {Path: "sub", Entry: patch.Gitlink},
		"sub/x":     {Path: "sub", Entry: patch.Gitlink},
		"main.go/x": {Path: "main.go", Entry: patch.Parent},
	} {
		var got *patch.EntryError
		if _, err := tree.Lookup(path); !errors.As(err, &got) || *got != want {
			t.Errorf("%s: %v, want %+v", path, err, want)
		}
	}
	for _, path := range []string{"no", "lib/no/x", "lib/a/one.txt.orig"} {
		if _, err := tree.Lookup(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want not there", path, err)
		}
	}
	names, err := tree.Names("lib")
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("names in lib: %q, %v", names, err)
	}
	if names, err := tree.Names("."); err != nil || !slices.Contains(names, "main.go") {
		t.Errorf("names: %q, %v", names, err)
	}
	if _, err := tree.Names("no"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("names in no: %v, want not there", err)
	}
	if _, err := w.Tree(t.Context(), missing).Lookup("main.go"); !errors.Is(err, git.ErrObject) {
		t.Errorf("missing commit: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Tree(ctx, spec.Base).Lookup("main.go"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := tree.Lookup("main.go"); err != nil { // the reader that was killed is replaced
		t.Error(err)
	}
}

const missing run.Commit = "1111111111111111111111111111111111111111"

func TestShow(t *testing.T) {
	r := userRepo(t, sample)
	write(t, r.Dir, files{"lib/long.txt": strings.Repeat("line\n", 40), "lib/bin": "\x00\x01"})
	commitAll(t, r, "more")
	for _, prefix := range []string{"", "lib"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			spec := specOf(t, r)
			spec.Prefix = prefix
			spec.RunID += run.ID(prefix)
			spec.Dir += prefix
			at := func(name string) string { return strings.TrimPrefix(name, prefix+"/") }
			w := open(t, spec)
			must(t, w.Prepare(t.Context()))
			long := strings.Repeat("line\n", 40)
			one, err := w.Commit(t.Context(), commitOf(spec.Base, change(
				patch.FileChange{Path: at("lib/bin"), Kind: patch.Modified, Before: regular("\x00\x01"), After: regular("\x00\x02")},
				patch.FileChange{Path: at("lib/moved.txt"), OldPath: at("lib/long.txt"), Kind: patch.Renamed, Before: regular(long), After: regular(long + "end\n")},
				patch.FileChange{Path: at("lib/a/two.txt"), Kind: patch.Modified, Before: regular("two\n"), After: executable("two\n")},
				patch.FileChange{Path: at("lib/new\t.txt"), Kind: patch.Added, After: executable("a\nb\n")},
			)))
			must(t, err)
			in := commitOf(one, change(patch.FileChange{Path: at("lib/a/one.txt"), Kind: patch.Deleted, Before: regular("one\n")}))
			in.Message = "fix: zweite ✓\n\nbody"
			two, err := w.Commit(t.Context(), in)
			must(t, err)

			stat, err := w.DiffStat(t.Context(), spec.Base, two)
			if want := (run.Stat{Files: 5, Added: 3, Deleted: 1}); err != nil || stat != want { // the binary file and the mode count no lines
				t.Errorf("stat %+v, %v; want %+v", stat, err, want)
			}
			if stat, err := w.DiffStat(t.Context(), two, two); err != nil || stat != (run.Stat{}) {
				t.Errorf("stat of nothing: %+v, %v", stat, err)
			}
			var diff strings.Builder
			must(t, w.Diff(t.Context(), spec.Base, two, &diff))
			for _, line := range []string{"rename from " + at("lib/long.txt"), "+end", "deleted file mode 100644", "-one"} {
				if !strings.Contains(diff.String(), line+"\n") {
					t.Errorf("no line %q in diff:\n%s", line, diff.String())
				}
			}
			listed, err := w.Files(t.Context(), two)
			must(t, err)
			if f := (workspace.File{Path: at("lib/new\t.txt"), Size: 4}); !slices.Contains(listed, f) {
				t.Errorf("files %+v, want %+v among them", listed, f)
			}
			text, size, err := w.Read(t.Context(), two, at("lib/moved.txt"), 8)
			if err != nil || string(text) != "line\nlin" || size != 204 {
				t.Errorf("read %q of %d, %v", text, size, err)
			}
			if _, _, err := w.Read(t.Context(), two, at("lib/a/one.txt"), 8); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("read a deleted file: %v", err)
			}
		})
	}
}

func TestDiffEndsWithItsWriter(t *testing.T) {
	_, spec, w := prepared(t)
	c, err := w.Commit(t.Context(), commitOf(spec.Base, change(
		patch.FileChange{Path: "big", Kind: patch.Added, After: regular(strings.Repeat("a line of text\n", 1<<18))})))
	must(t, err)
	full := errors.New("full")
	if err := w.Diff(t.Context(), spec.Base, c, &limited{left: 1 << 16, err: full}); !errors.Is(err, full) {
		t.Errorf("error %v, want the writer's", err)
	}
}

// limited fails when it has had enough.
type limited struct {
	left int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, l.err
	}
	return len(p), nil
}

func TestOpenRefuses(t *testing.T) {
	r := userRepo(t, sample)
	for name, change := range map[string]func(*workspace.Spec){
		"a run id that is a path":   func(s *workspace.Spec) { s.RunID = "../x" },
		"an abbreviated base":       func(s *workspace.Spec) { s.Base = s.Base[:8] },
		"a prefix out of the tree":  func(s *workspace.Spec) { s.Prefix = "../x" },
		"a repository that is none": func(s *workspace.Spec) { s.Repo = t.TempDir() },
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(t, r)
			change(&spec)
			if _, err := workspace.Open(t.Context(), spec); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestOpenThroughLinks(t *testing.T) {
	r := userRepo(t, sample)
	spec := specOf(t, r)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(filepath.Dir(r.Dir), link))
	spec.Repo = filepath.Join(link, filepath.Base(r.Dir))
	spec.Dir = filepath.Join(link, "runs", "not", "there", string(runID))
	for round := range 2 {
		w := open(t, spec)
		settle(t, w, spec.Base)
		if round == 0 { // a work tree that were made anew would lose it
			write(t, w.Dir(), files{"cache/kept": "x"})
		}
		gittest.WantTree(t, w.Dir(), sample.With(files{"cache/kept": "x"}))
	}
}
