package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// BenchmarkFloor is what starting git costs at all.
func BenchmarkFloor(b *testing.B) {
	for b.Loop() {
		if _, err := git.Version(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// thousand is a repository of 1,000 files.
func thousand(b *testing.B) workspace.Spec {
	b.Helper()
	content := files{"main.go": "package main\n"}
	for i := range 1000 {
		content[fmt.Sprintf("dir%d/file%d.txt", i%20, i)] = fmt.Sprintf("file %d\n", i)
	}
	r := userRepo(b, content)
	runGit(b, r, "repack", "-a", "-d", "-q")
	return specOf(b, r)
}

func BenchmarkInspect(b *testing.B) {
	spec := thousand(b)
	for b.Loop() {
		_, err := workspace.Inspect(b.Context(), spec.Repo, "")
		must(b, err)
	}
}

// BenchmarkSettle makes the branch and the files of a work tree, and looks at them again.
func BenchmarkSettle(b *testing.B) {
	spec := thousand(b)
	b.Run("first", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			s := spec
			s.RunID = run.ID(fmt.Sprintf("first-%d-%d", b.N, i))
			s.Dir = filepath.Join(b.TempDir(), string(s.RunID))
			w := open(b, s)
			settle(b, w, s.Base)
		}
	})
	b.Run("again", func(b *testing.B) {
		w := open(b, spec)
		for b.Loop() {
			settle(b, w, spec.Base)
		}
	})
}

// BenchmarkCommit commits a one-file patch: read the file, plan on it, commit.
func BenchmarkCommit(b *testing.B) {
	for _, tt := range []struct {
		name string
		sync bool
	}{{"alone", false}, {"and sync", true}} {
		b.Run(tt.name, func(b *testing.B) {
			spec := thousand(b)
			w := open(b, spec)
			settle(b, w, spec.Base)
			head := spec.Base
			for i := 0; b.Loop(); i++ {
				fresh := open(b, spec) // as each activity does
				f, err := fresh.Tree(b.Context(), head).Lookup("main.go")
				must(b, err)
				head, err = fresh.Commit(b.Context(), commitOf(head, change(patch.FileChange{
					Path: "main.go", Kind: patch.Modified, Before: &f, After: regular(fmt.Sprintf("package main // %d\n", i)),
				})))
				must(b, err)
				if tt.sync {
					must(b, fresh.Sync(b.Context(), head))
				}
				must(b, fresh.Close())
			}
		})
	}
}

func BenchmarkSync(b *testing.B) {
	spec := thousand(b)
	w := open(b, spec)
	settle(b, w, spec.Base)
	b.Run("clean", func(b *testing.B) {
		for b.Loop() {
			must(b, w.Sync(b.Context(), spec.Base))
		}
	})
	b.Run("dirty", func(b *testing.B) {
		for b.Loop() {
			must(b, os.WriteFile(filepath.Join(w.Dir(), "main.go"), []byte("dirty\n"), 0o644))
			must(b, os.WriteFile(filepath.Join(w.Dir(), "rubbish"), nil, 0o644))
			must(b, w.Sync(b.Context(), spec.Base))
		}
	})
}
