package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	checks "github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// A commit is a file system, without the links by which a name could lead out of it.
func TestFilesOfACommit(t *testing.T) {
	r := userRepo(t, sample.With(files{"go.mod": "module x\n"}))
	must(t, os.Symlink("/etc/passwd", filepath.Join(r.Dir, "out")))
	runGit(t, r, "add", "-A")
	runGit(t, r, "commit", "-q", "-m", "link")
	src, err := workspace.Inspect(t.Context(), r.Dir, "HEAD")
	must(t, err)
	at := workspace.OpenCommit(t.Context(), filepath.Join(r.Dir, ".git"), src.Base)
	defer at.Close()
	var names []string
	must(t, fs.WalkDir(at, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	want := []string{".gitignore", "README.md", "go.mod", "lib/a/one.txt", "lib/a/two.txt", "lib/b/deep/x.txt", "main.go", "run.sh", "with space/ü ñ.txt"}
	if !slices.Equal(names, want) {
		t.Errorf("got files %q, want %q", names, want)
	}
	if info, err := fs.Stat(at, "run.sh"); err != nil || info.Mode() != 0o755 {
		t.Errorf("run.sh: got %v, %v; want an executable file", info, err)
	}
	if b, err := fs.ReadFile(at, "main.go"); err != nil || string(b) != "package main\n" {
		t.Errorf("main.go: got %q, %v", b, err)
	}
	for _, name := range []string{"out", "missing", "main.go/x", "lib/none"} {
		if _, err := fs.Stat(at, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, want %v", name, err, fs.ErrNotExist)
		}
	}
	if found, ok := checks.Detect(at); !ok || found.Choices[0].Why == "" {
		t.Errorf("got checks %+v, want that of go.mod", found)
	}
}
