// Package clitest has what the tests of several commands need.
package clitest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

var repository gittest.Template

// Repository makes one with a file and a commit.
func Repository(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	repository.Copy(t, dir, func(dir string) {
		Write(t, filepath.Join(dir, "state.txt"), "bad\n")
		Git(t, dir, "init", "-q", "-b", "main")
		Git(t, dir, "add", "-A")
		Git(t, dir, "commit", "-q", "-m", "begin")
	})
	return dir
}

func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return gittest.Output(t, dir, args...)
}

func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
