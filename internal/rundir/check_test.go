package rundir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

// gitIn runs git as a user does.
func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	gittest.Run(t, dir, append([]string{"-c", "protocol.file.allow=always"}, args...)...)
}

func put(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("{}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// cloneOf is the clone of a repository whose author has made its content.
func cloneOf(t *testing.T, content func(top string)) string {
	t.Helper()
	top := t.TempDir()
	gitIn(t, top, "init", "-q")
	content(top)
	gitIn(t, top, "add", "-f", ".")
	gitIn(t, top, "commit", "-q", "--allow-empty", "-m", "c")
	clone := filepath.Join(t.TempDir(), "clone")
	defer unix.Umask(unix.Umask(0o077)) // what git checks out is the user's alone
	gitIn(t, ".", "clone", "-q", "--recurse-submodules", top, clone)
	return clone
}

// TestARepositoryCannotBringTheRunsDirectory: what is in it decides where runs and approvals go.
func TestARepositoryCannotBringTheRunsDirectory(t *testing.T) {
	for _, tc := range []struct {
		name  string
		clone func() string
		dir   string
		say   string // empty: it is taken
	}{
		{"a committed engine.json", func() string {
			return cloneOf(t, func(top string) { put(t, filepath.Join(top, ".runs", "engine.json")) })
		}, ".runs", `".runs/engine.json"`},
		{"a committed record, deep below", func() string {
			return cloneOf(t, func(top string) { put(t, filepath.Join(top, "a", ".runs", "workflows", "r", "events.ndjson")) })
		}, "a/.runs", `".runs/workflows/r/events.ndjson"`},
		{"another case of its letters", func() string {
			clone := cloneOf(t, func(top string) { put(t, filepath.Join(top, ".Runs", "engine.db")) })
			return clone
		}, ".runs", `".Runs/engine.db"`},
		{"a committed link to what is there", func() string {
			return cloneOf(t, func(top string) {
				put(t, filepath.Join(top, "docs", "engine.json"))
				if err := os.Symlink("docs", filepath.Join(top, ".runs")); err != nil {
					t.Fatal(err)
				}
			})
		}, ".runs", `".runs"`},
		{"a committed link to elsewhere", func() string {
			return cloneOf(t, func(top string) {
				if err := os.Symlink(t.TempDir(), filepath.Join(top, ".runs")); err != nil {
					t.Fatal(err)
				}
			})
		}, ".runs", `".runs"`},
		{"a submodule", func() string {
			return cloneOf(t, func(top string) {
				inner := cloneOf(t, func(top string) { put(t, filepath.Join(top, "engine.json")) })
				gitIn(t, top, "submodule", "add", "-q", inner, ".runs")
			})
		}, ".runs", `".runs"`},
		{"a clone itself", func() string {
			return cloneOf(t, func(top string) { put(t, filepath.Join(top, "engine.json")) })
		}, ".", `engine.json"`},
		{"a file that was removed from the index", func() string {
			clone := cloneOf(t, func(top string) { put(t, filepath.Join(top, ".runs", "engine.json")) })
			gitIn(t, clone, "rm", "-q", "--cached", ".runs/engine.json")
			return clone
		}, ".runs", ""},
		{"a directory of the user's beside the repository's files", func() string {
			clone := cloneOf(t, func(top string) { put(t, filepath.Join(top, ".runs2", "engine.json")) })
			put(t, filepath.Join(clone, ".runs", "engine.db"))
			return clone
		}, ".runs", ""},
		{"no repository", func() string {
			dir := t.TempDir()
			put(t, filepath.Join(dir, ".runs", "engine.db"))
			return dir
		}, ".runs", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(tc.clone(), tc.dir)
			if _, err := os.Stat(dir); tc.say != "" && strings.Contains(tc.name, "case") && err != nil {
				if err := os.Mkdir(dir, 0o700); err != nil { // where the file system tells the letters apart
					t.Fatal(err)
				}
			}
			_, err := rundir.Open(t.Context(), dir)
			if (err == nil) != (tc.say == "") {
				t.Fatalf("it says %v", err)
			}
			if _, written := os.Stat(filepath.Join(dir, "workspaces")); (written == nil) != (err == nil) {
				t.Errorf("it says %v and has written: %v", err, written == nil)
			}
			if err != nil && (!strings.Contains(err.Error(), tc.say) || !strings.Contains(err.Error(), "--runs-dir DIR") || strings.Contains(err.Error(), "\n")) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// TestRunsDirectoryOfOthers: below /tmp another user can be the first to make it.
func TestRunsDirectoryOfOthers(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(dir string) error
		say   string
	}{
		{"everybody can write it", func(dir string) error { return os.Chmod(dir, 0o777) }, "written by other users"},
		{"everybody can write it, with the sticky bit", func(dir string) error { return os.Chmod(dir, 0o777|os.ModeSticky) }, "written by other users"},
		{"a group can write it", func(dir string) error { return os.Chmod(dir, 0o770) }, "written by other users"},
		{"it is of another user", func(dir string) error { return os.Chown(dir, 65534, 65534) }, "user 65534"},
		{"everybody can read it", func(dir string) error { return os.Chmod(dir, 0o755) }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tc.spoil(dir); errors.Is(err, os.ErrPermission) {
				t.Skip("only the superuser gives a directory away")
			} else if err != nil {
				t.Fatal(err)
			}
			_, err := rundir.Open(t.Context(), dir)
			if (err == nil) != (tc.say == "") || err != nil && (!strings.Contains(err.Error(), tc.say) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("it says %v", err)
			}
		})
	}
}
