package scratch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
)

// large is a repository of 5,000 files.
func large(b *testing.B) git.Repo {
	b.Helper()
	content := files{"main.go": "package main\n", ".gitignore": "*.o\n"}
	for i := range 5000 {
		content[fmt.Sprintf("dir%d/sub%d/file%d.txt", i%20, i%7, i)] = fmt.Sprintf("file %d\n", i)
	}
	r := userRepo(b, content)
	runGit(b, r, "repack", "-a", "-d", "-q")
	return r
}

func BenchmarkMake(b *testing.B) {
	r := large(b)
	s, commit := open(b, beside(r)), head(b, r)
	for b.Loop() {
		must(b, s.Make(b.Context(), commit))
	}
}

func BenchmarkChanges(b *testing.B) {
	r := large(b)
	for _, tt := range []struct {
		name string
		edit func(dir string, i int)
	}{
		{"none", func(string, int) {}},
		{"one file", func(dir string, i int) { write(b, dir, files{"main.go": fmt.Sprintf("package main // %d\n", i)}) }},
		{"ten new files", func(dir string, i int) {
			for k := range 10 {
				write(b, dir, files{fmt.Sprintf("new/%d.txt", k): fmt.Sprint(i)})
			}
		}},
		{"300 files", func(dir string, i int) {
			for k := range 300 {
				write(b, dir, files{fmt.Sprintf("dir%d/sub%d/file%d.txt", k%20, k%7, k): fmt.Sprint(i)})
			}
		}},
		{"all touched", func(dir string, _ int) {
			for k := range 5000 {
				name := filepath.Join(dir, fmt.Sprintf("dir%d/sub%d/file%d.txt", k%20, k%7, k))
				must(b, os.Chmod(name, 0o600))
			}
		}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			s := open(b, beside(r))
			must(b, s.Make(b.Context(), head(b, r)))
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				tt.edit(s.WorkDir(), i)
				b.StartTimer()
				changes(b, s)
			}
		})
	}
}
