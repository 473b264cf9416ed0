package merge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/merge"
)

// The user's own git writes files with CRLF where his configuration, or the system's, says so. The merge takes a file of
// another time and the same content for unchanged, and writes the others in the same form. It starts no program of that
// configuration.
func TestFilesWithTheLineEndsOfTheUsersConfiguration(t *testing.T) {
	for name, tc := range map[string]struct{ variable, config, own string }{
		"the user's":                  {"GIT_CONFIG_GLOBAL", "[core]\n\tautocrlf = true\n", ""},
		"the user's, without a value": {"GIT_CONFIG_GLOBAL", "[core]\n\tautocrlf\n", ""},
		"the user's, which includes":  {"GIT_CONFIG_GLOBAL", "[include]\n\tpath = more\n", ""},
		"the system's":                {"GIT_CONFIG_SYSTEM", "[core]\n\tautocrlf = yes\n", ""},
		"the repository's before it":  {"GIT_CONFIG_GLOBAL", "[core]\n\tautocrlf = false\n", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("GIT_CONFIG_NOSYSTEM", "0")
			t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
			t.Setenv(tc.variable, filepath.Join(dir, "config"))
			user := repo{t, dir}
			user.write("more", "[core]\n\tautocrlf = true\n")
			user.write("config", tc.config)
			r, in := newRepo(t)
			if tc.own != "" {
				r.git("config", "core.autocrlf", tc.own)
			}
			if err := os.Remove(filepath.Join(r.dir, "a.txt")); err != nil {
				t.Fatal(err)
			}
			r.git("checkout", "-q", "--", "a.txt")
			r.write("a.txt", r.read("a.txt"))
			r.clean()
			canary := filepath.Join(dir, "canary")
			programs := "[core]\n\tfsmonitor = touch " + canary + "\n\tpager = touch " + canary + "\n[pager]\n\tconfig = true\n"
			user.write("config", tc.config+programs)
			if _, err := r.merge(in); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(canary); err == nil {
				t.Error("a program of the user's configuration was started")
			}
			user.write("config", tc.config)
			if got := r.read("a.txt"); got != strings.ReplaceAll(mended, "\n", "\r\n") {
				t.Errorf("a.txt is %q", got)
			}
			r.clean()
		})
	}
}

// Git takes hooks from the configuration since 2.54: an older one starts none, whatever the merge does.
func TestHooksOfTheConfigurationAreNotStarted(t *testing.T) {
	r, in := newRepo(t)
	canary := filepath.Join(filepath.Dir(r.dir), "canary")
	r.write(".git/config", r.read(".git/config")+"[hook \"a=b\"]\n\tevent = reference-transaction\n\tevent = post-index-change\n\tcommand = touch "+canary+"\n")
	if _, err := r.merge(in); err != nil {
		t.Fatal(err)
	}
	if err := merge.RemoveBranch(t.Context(), r.dir, branch, in.Head); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(canary); err == nil {
		t.Error("a hook was started")
	}
}
