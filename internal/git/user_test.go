package git_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// The user's git reads the user's configuration and starts the programs there. It does not take the repository of the
// program that started this process.
func TestTheUsersGit(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, "config"))
	t.Setenv("GIT_DIR", filepath.Join(dir, "elsewhere"))
	text := "[user]\n\tname = Kim\n[alias]\n\tfails = \"!echo first >&2; echo 'hint: advice' >&2; echo second >&2; exit 3\"\n"
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	u := git.User{Dir: dir, Config: []string{"user.email=kim@example.org"}, Environ: []string{"GIT_COMMITTER_NAME="}}
	if _, err := u.Run(t.Context(), "init", "-q"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"user.name": "Kim\n", "user.email": "kim@example.org\n"} {
		if got, err := u.Run(t.Context(), "config", name); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	_, err := u.Run(t.Context(), "fails")
	if git.ExitCode(err) != 3 || err.Error() != "git fails: first second" {
		t.Errorf("exit code %d, error %v", git.ExitCode(err), err)
	}
}

// Git removes its locks when the context ends, and is not waited for where a program of the user's goes on.
func TestTheUsersGitIsStopped(t *testing.T) {
	u := git.User{Dir: t.TempDir()}
	if _, err := u.Run(t.Context(), "init", "-q"); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(u.Dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("file", "")
	write(".git/info/attributes", "* filter=slow\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		eventually.Holds(t, "the filter runs", func() bool { _, err := os.Stat(at("begun")); return err == nil })
		if _, err := os.Stat(at(".git/index.lock")); err != nil {
			t.Errorf("the control: %v", err)
		}
	}()
	u.Config = []string{"filter.slow.clean=touch begun; while [ -e begun ]; do sleep 0.1; done"}
	if _, err := u.Run(ctx, "add", "file"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if _, err := os.Stat(at(".git/index.lock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock: %v, want %v", err, fs.ErrNotExist)
	}
}

// What a hook leaves in the background is no failure of git.
func TestAHookThatLeavesAProgram(t *testing.T) {
	u := git.User{Dir: t.TempDir(), Config: []string{"alias.leaves=!touch begun; while [ -e begun ]; do sleep 0.1; done & echo done"}}
	if out, err := u.Run(t.Context(), "leaves"); err != nil || out != "done\n" {
		t.Errorf("%q, %v", out, err)
	}
}
