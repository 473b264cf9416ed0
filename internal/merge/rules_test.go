package merge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/need"
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

// Git leaves the file of a sparse checkout's patterns when that ends. Each work tree has its own patterns and setting.
func TestASparseCheckout(t *testing.T) {
	need.Suite(t, need.CI)
	const sparse = "a sparse checkout"
	for name, tc := range map[string]struct {
		make func(r, linked repo)
		says string // empty: it is merged
	}{
		"one that is in force": {func(r, _ repo) { r.git("sparse-checkout", "set", "b") }, sparse},
		"one of the first configuration": {func(r, _ repo) {
			r.write(".git/info/sparse-checkout", "/*\n")
			r.git("config", "core.sparseCheckout", "true")
		}, sparse},
		"one of the user's configuration": {func(r, _ repo) { r.write(".git/info/sparse-checkout", "/*\n"); r.global("[core]\n\tsparseCheckout\n") }, sparse},
		"one that has ended":              {func(r, _ repo) { r.git("sparse-checkout", "set", "b"); r.git("sparse-checkout", "disable") }, ""},
		"patterns without a setting":      {func(r, _ repo) { r.write(".git/info/sparse-checkout", "/b\n") }, ""},
		"a setting without patterns":      {func(r, _ repo) { r.git("config", "core.sparseCheckout", "true") }, ""},
		"one of another work tree":        {func(_, linked repo) { linked.git("sparse-checkout", "set", "b") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "config"))
			r, in := newRepo(t)
			tc.make(r, r.linked("-b", "other"))
			before := r.state()
			_, err := r.merge(in)
			if tc.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				r.has(mended)
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v", err)
			}
			if after := r.state(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// TestASparseCheckoutOfALinkedWorkTree merges into a work tree whose own configuration has the setting.
func TestASparseCheckoutOfALinkedWorkTree(t *testing.T) {
	need.Suite(t, need.CI)
	r, in := newRepo(t)
	r.git("switch", "-q", "-c", "other")
	linked := r.linked("main")
	in.Repository = linked.dir
	linked.git("sparse-checkout", "set", "b")
	if _, err := linked.merge(in); err == nil || !strings.Contains(err.Error(), "a sparse checkout") {
		t.Errorf("error %v", err)
	}
	linked.git("sparse-checkout", "disable")
	if _, err := linked.merge(in); err != nil {
		t.Fatal(err)
	}
	linked.has(mended)
}

// global writes the configuration of the user.
func (r repo) global(text string) {
	r.Helper()
	if err := os.WriteFile(os.Getenv("GIT_CONFIG_GLOBAL"), []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}
