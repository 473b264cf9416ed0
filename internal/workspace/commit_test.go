package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

func TestCommitChanges(t *testing.T) {
	tests := []struct {
		name   string
		change *patch.Change
		want   files
	}{
		{"a modified file", edited(), editedTree},
		{"a new file in a new directory",
			change(patch.FileChange{Path: "new/dir/f.txt", Kind: patch.Added, After: regular("f\n")}),
			sample.With(files{"new/dir/f.txt": "f\n"})},
		{"a new executable file",
			change(patch.FileChange{Path: "do.sh", Kind: patch.Added, After: executable("#!/bin/sh\n")}),
			sample.With(files{"do.sh*": "#!/bin/sh\n"})},
		{"a file that becomes executable",
			change(patch.FileChange{Path: "main.go", Kind: patch.ModeOnly, Before: regular("package main\n"), After: executable("package main\n")}),
			sample.With(files{"main.go*": "package main\n"}, "main.go")},
		{"a file that is executable no more",
			change(patch.FileChange{Path: "run.sh", Kind: patch.ModeOnly, Before: executable("#!/bin/sh\n"), After: regular("#!/bin/sh\n")}),
			sample.With(files{"run.sh": "#!/bin/sh\n"}, "run.sh*")},
		{"a deleted file, the last of its directories",
			change(patch.FileChange{Path: "lib/b/deep/x.txt", Kind: patch.Deleted, Before: regular("x\n")}),
			sample.With(nil, "lib/b/deep/x.txt")},
		{"a renamed and edited file",
			change(patch.FileChange{Path: "lib/b/2.txt", OldPath: "lib/a/two.txt", Kind: patch.Renamed, Before: regular("two\n"), After: regular("2\n")}),
			sample.With(files{"lib/b/2.txt": "2\n"}, "lib/a/two.txt")},
		{"a copied file",
			change(patch.FileChange{Path: "copy.txt", OldPath: "lib/a/two.txt", Kind: patch.Copied, Before: regular("two\n"), After: regular("two\n")}),
			sample.With(files{"copy.txt": "two\n"})},
		{"a path with spaces and letters of the world",
			change(patch.FileChange{Path: "with space/ü ñ.txt", Kind: patch.Modified, Before: regular("unicode\n"), After: regular("日本\n")}),
			sample.With(files{"with space/ü ñ.txt": "日本\n"})},
		{"a file that becomes a directory",
			change(
				patch.FileChange{Path: "main.go", Kind: patch.Deleted, Before: regular("package main\n")},
				patch.FileChange{Path: "main.go/a.go", Kind: patch.Added, After: regular("package a\n")}),
			sample.With(files{"main.go/a.go": "package a\n"}, "main.go")},
		{"a directory that becomes a file",
			change(
				patch.FileChange{Path: "lib/b", Kind: patch.Added, After: regular("b\n")},
				patch.FileChange{Path: "lib/b/deep/x.txt", Kind: patch.Deleted, Before: regular("x\n")}),
			sample.With(files{"lib/b": "b\n"}, "lib/b/deep/x.txt")},
		{"two files that change places",
			change(
				patch.FileChange{Path: "lib/a/one.txt", Kind: patch.Modified, Before: regular("one\n"), After: regular("two\n")},
				patch.FileChange{Path: "lib/a/two.txt", Kind: patch.Modified, Before: regular("two\n"), After: regular("one\n")}),
			sample.With(files{"lib/a/one.txt": "two\n", "lib/a/two.txt": "one\n"})},
		{"an empty file", change(patch.FileChange{Path: "lib/__init__.py", Kind: patch.Added, After: regular("")}),
			sample.With(files{"lib/__init__.py": ""})},
		{"a name that sorts before its directory",
			change(patch.FileChange{Path: "lib-x", Kind: patch.Added, After: regular("-\n")}, patch.FileChange{Path: "lib.x", Kind: patch.Added, After: regular(".\n")}),
			sample.With(files{"lib-x": "-\n", "lib.x": ".\n"})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, spec, w := prepared(t)
			got, err := w.Commit(t.Context(), commitOf(spec.Base, tt.change))
			must(t, err)
			must(t, w.Sync(t.Context(), got))
			gittest.WantTree(t, w.Dir(), tt.want)
			runGit(t, r, "fsck", "--strict", "--full")
			if again, err := w.Commit(t.Context(), commitOf(spec.Base, tt.change)); err != nil || again != got {
				t.Errorf("again: %s, %v; want %s", again, err, got)
			}
			if head, err := w.Head(t.Context()); err != nil || head != got {
				t.Errorf("head: %s, %v; want %s", head, err, got)
			}
		})
	}
}

func TestCommitOfEverythingDeleted(t *testing.T) {
	r := userRepo(t, files{"only.txt": "only\n"})
	spec := specOf(t, r)
	w := open(t, spec)
	must(t, w.Prepare(t.Context()))
	c, err := w.Commit(t.Context(), commitOf(spec.Base, change(patch.FileChange{Path: "only.txt", Kind: patch.Deleted, Before: regular("only\n")})))
	must(t, err)
	must(t, w.Sync(t.Context(), c))
	gittest.WantTree(t, w.Dir(), files{})
}

// The ids are written down: a worker of another day, place or version makes
// the same commit of the same input.
func TestCommitIDsAreFixed(t *testing.T) {
	for format, want := range map[string]run.Commit{"sha1": goldenSHA1, "sha256": goldenSHA256} {
		t.Run(format, func(t *testing.T) {
			r := userRepo(t, sample, "--object-format="+format)
			spec := specOf(t, r)
			w := open(t, spec)
			must(t, w.Prepare(t.Context()))
			got, err := w.Commit(t.Context(), commitOf(spec.Base, edited()))
			must(t, err)
			if got != want {
				t.Errorf("commit %s, want %s", got, want)
			}
			must(t, w.Sync(t.Context(), got))
			gittest.WantTree(t, w.Dir(), editedTree)
			runGit(t, r, "fsck", "--strict")
		})
	}
}

const (
	goldenSHA1   = "f1e9c4d548578f8022a6400a7f81d5dfa3230d4e"
	goldenSHA256 = "b93e2bb19810a8d49be93718a59a09920c60335d1c7d7e11e0309116f377825b"
)

func TestCommitOnPackedObjects(t *testing.T) {
	r := userRepo(t, sample)
	runGit(t, r, "repack", "-a", "-d", "-q")
	runGit(t, r, "pack-refs", "--all")
	spec := specOf(t, r)
	w := open(t, spec)
	must(t, w.Prepare(t.Context()))
	one, err := w.Commit(t.Context(), commitOf(spec.Base, edited()))
	must(t, err)
	runGit(t, r, "pack-refs", "--all")
	runGit(t, r, "repack", "-a", "-d", "-q")
	two, err := w.Commit(t.Context(), commitOf(one, change(patch.FileChange{Path: "two", Kind: patch.Added, After: regular("2\n")})))
	must(t, err)
	must(t, w.Sync(t.Context(), two))
	gittest.WantTree(t, w.Dir(), editedTree.With(files{"two": "2\n"}))
}

func TestCommitBelowAPrefix(t *testing.T) {
	r := userRepo(t, sample)
	src, err := workspace.Inspect(t.Context(), filepath.Join(r.Dir, "lib", "a"), "")
	must(t, err)
	if src.Prefix != "lib/a" || src.Root != r.Dir {
		t.Fatalf("source %+v", src)
	}
	spec := specOf(t, r)
	spec.Prefix = src.Prefix
	w := open(t, spec)
	must(t, w.Prepare(t.Context()))
	c, err := w.Commit(t.Context(), commitOf(spec.Base, change(
		patch.FileChange{Path: "one.txt", Kind: patch.Modified, Before: regular("one\n"), After: regular("1\n")},
		patch.FileChange{Path: "main.go", Kind: patch.Added, After: regular("package a\n")})))
	must(t, err)
	must(t, w.Sync(t.Context(), c))
	gittest.WantTree(t, w.Dir(), sample.With(files{"lib/a/one.txt": "1\n", "lib/a/main.go": "package a\n"}))
	if got, want := w.WorkDir(), filepath.Join(w.Dir(), "lib", "a"); got != want {
		t.Errorf("work dir %s, want %s", got, want)
	}
}

func TestCommitRefuses(t *testing.T) {
	added := func(path string) *patch.Change {
		return change(patch.FileChange{Path: path, Kind: patch.Added, After: regular("x\n")})
	}
	tests := []struct {
		name  string
		input func(workspace.CommitInput) workspace.CommitInput
		want  error // nil: any
	}{
		{"no change at all", func(in workspace.CommitInput) workspace.CommitInput { in.Change = nil; return in }, workspace.ErrNoChange},
		{"no files", func(in workspace.CommitInput) workspace.CommitInput { in.Change = change(); return in }, workspace.ErrNoChange},
		{"a file that stays as it is", func(in workspace.CommitInput) workspace.CommitInput {
			in.Change = change(patch.FileChange{Path: "main.go", Kind: patch.Modified, Before: regular("package main\n"), After: regular("package main\n")})
			return in
		}, workspace.ErrNoChange},
		{"a plan on other contents", func(in workspace.CommitInput) workspace.CommitInput {
			in.Change = change(patch.FileChange{Path: "main.go", Kind: patch.Modified, Before: regular("package other\n"), After: regular("x\n")})
			return in
		}, workspace.ErrPlan},
		{"a plan on another mode", func(in workspace.CommitInput) workspace.CommitInput {
			in.Change = change(patch.FileChange{Path: "main.go", Kind: patch.Deleted, Before: executable("package main\n")})
			return in
		}, workspace.ErrPlan},
		{"an added file that exists", func(in workspace.CommitInput) workspace.CommitInput { in.Change = added("main.go"); return in }, workspace.ErrPlan},
		{"an added file that is a directory", func(in workspace.CommitInput) workspace.CommitInput { in.Change = added("lib"); return in }, workspace.ErrPlan},
		{"a file below a file", func(in workspace.CommitInput) workspace.CommitInput { in.Change = added("main.go/x"); return in }, workspace.ErrPlan},
		{"a path out of the tree", func(in workspace.CommitInput) workspace.CommitInput { in.Change = added("../x"); return in }, nil},
		{"a path into .git", func(in workspace.CommitInput) workspace.CommitInput { in.Change = added("lib/.GIT/config"); return in }, nil},
		{"an absolute path", func(in workspace.CommitInput) workspace.CommitInput { in.Change = added("/x"); return in }, nil},
		{"an empty message", func(in workspace.CommitInput) workspace.CommitInput { in.Message = " \n"; return in }, nil},
		{"no time", func(in workspace.CommitInput) workspace.CommitInput { in.Time = time.Time{}; return in }, nil},
		{"an abbreviated base", func(in workspace.CommitInput) workspace.CommitInput { in.Base = in.Base[:12]; return in }, nil},
	}
	r, spec, w := prepared(t)
	before := runGit(t, r, "count-objects", "-v")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := w.Commit(t.Context(), tt.input(commitOf(spec.Base, edited())))
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%s, %v; want %v", got, err, tt.want)
			}
		})
	}
	if head, err := w.Head(t.Context()); head != spec.Base {
		t.Errorf("head %s, %v; want the base", head, err)
	}
	if after := runGit(t, r, "count-objects", "-v"); after != before {
		t.Errorf("objects %s, before %s", after, before)
	}
}

func TestCommitOnAMovedBranch(t *testing.T) {
	_, spec, w := prepared(t)
	one, err := w.Commit(t.Context(), commitOf(spec.Base, edited()))
	must(t, err)
	other := commitOf(spec.Base, change(patch.FileChange{Path: "other", Kind: patch.Added, After: regular("x\n")}))
	if _, err := w.Commit(t.Context(), other); !errors.Is(err, workspace.ErrMoved) {
		t.Errorf("error %v, want ErrMoved", err)
	}
	if head, _ := w.Head(t.Context()); head != one {
		t.Errorf("head %s, want %s", head, one)
	}
}

func TestCommitWithoutABranch(t *testing.T) {
	r := userRepo(t, sample)
	spec := specOf(t, r)
	w := open(t, spec)
	if head, err := w.Head(t.Context()); head != "" || err != nil {
		t.Errorf("head %q, %v, want none", head, err)
	}
	if _, err := w.Commit(t.Context(), commitOf(spec.Base, edited())); !errors.Is(err, workspace.ErrMoved) {
		t.Errorf("commit: %v, want ErrMoved", err)
	}
}

// A git that was killed inside update-ref leaves its lock on the branch.
func TestCommitPastAStaleLock(t *testing.T) {
	r, spec, w := prepared(t)
	lock := filepath.Join(r.Dir, ".git", "refs", "heads", "ratchet", string(runID)+".lock")
	must(t, os.WriteFile(lock, nil, 0o644))
	old := time.Now().Add(-time.Minute)
	must(t, os.Chtimes(lock, old, old))
	if _, err := w.Commit(t.Context(), commitOf(spec.Base, edited())); err != nil {
		t.Error(err)
	}
}

// Of several workers that commit different patches on the same base one wins
// and the others are told; those that commit the same patch all get its commit.
func TestConcurrentCommits(t *testing.T) {
	_, spec, _ := prepared(t)
	base := spec.Base
	for round := range 5 {
		type outcome struct {
			commit run.Commit
			err    error
		}
		results := make([]outcome, 8)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				w, err := workspace.Open(t.Context(), spec)
				if err != nil {
					t.Error(err)
					return
				}
				defer w.Close()
				name := []string{"even", "odd"}[i%2] + string(rune('a'+round))
				c := change(patch.FileChange{Path: name, Kind: patch.Added, After: regular("x\n")})
				results[i].commit, results[i].err = w.Commit(t.Context(), commitOf(base, c))
			})
		}
		wg.Wait()
		won := map[run.Commit]int{}
		for _, o := range results {
			if o.err == nil {
				won[o.commit]++
			} else if !errors.Is(o.err, workspace.ErrMoved) {
				t.Errorf("round %d: %v, want ErrMoved", round, o.err)
			}
		}
		if len(won) != 1 {
			t.Fatalf("round %d: winners %v, want one commit", round, won)
		}
		for c, n := range won {
			if base = c; n != 4 {
				t.Errorf("round %d: %d got the commit, want the 4 that asked for it", round, n)
			}
		}
	}
	w := open(t, spec)
	log, err := w.Log(t.Context(), spec.Base, base)
	if err != nil || len(log) != 5 {
		t.Errorf("log of %d, %v; want 5 commits", len(log), err)
	}
}
