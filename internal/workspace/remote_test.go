package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

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
	must(t, fstest.TestFS(at, "main.go", "lib/a/one.txt", "go.mod"))
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
