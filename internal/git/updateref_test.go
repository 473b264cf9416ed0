package git_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
)

// A git since 2.54 takes hooks from the configuration. Any git tells what the one that moves a reference would read.
func TestUpdateRefDisablesConfiguredHooks(t *testing.T) {
	r := newRepo(t)
	commit := git.ID(run(t, r, "commit-tree", "-m", "x", run(t, r, "write-tree")))
	hook := func(section string) string {
		return "[" + section + "]\n\tevent = reference-transaction\n\tcommand = false\n\tenabled = true\n"
	}
	appendFile(t, filepath.Join(r.GitDir, "config"), hook(`hook "plain"`)+hook(`hook "a=b"`)+hook(`hook "a.enabled=true.b"`)+hook(`HOOK "Upper Case"`)+
		hook("hook.Old.Form")+hook(`hook ""`)+hook("hook")+hook(`hook "quote\"d"`)+"[hook \"reference-transaction\"]\n\tcommand = false\n"+
		"[include]\n\tpath = more\n")
	appendFile(t, filepath.Join(r.GitDir, "more"), hook(`hook "included"`))
	names := []string{"hook.plain", "hook.a=b", "hook.a.enabled=true.b", "hook.Upper Case", "hook.old.form", "hook.", "hook", `hook.quote"d`,
		"hook.reference-transaction", "hook.included"}

	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	read := filepath.Join(t.TempDir(), "read")
	fake(t, `case "$1" in update-ref) '`+real+`' config -z --get-regexp '^hook' >'`+read+"' ;; esac\nexec '"+real+"' \"$@\"\n")
	move := git.RefMove{Name: "refs/heads/x", Old: commit.Zero(), New: commit, Message: "test"}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"move", func() error { return r.UpdateRef(t.Context(), move) }},
		{"delete", func() error { return r.DeleteRef(t.Context(), git.Ref{Name: move.Name, ID: commit}) }},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		text, err := os.ReadFile(read)
		if err != nil {
			t.Fatal(err)
		}
		last := map[string]string{}
		for item := range strings.SplitSeq(string(text), "\x00") {
			name, value, _ := strings.Cut(item, "\n")
			last[name] = value
		}
		for _, name := range names {
			if got := last[name+".enabled"]; got != "false" {
				t.Errorf("%s: %s.enabled is %q", step.what, name, got)
			}
		}
	}
}

// Where the hooks cannot be listed, nothing is moved.
func TestUpdateRefWithoutListing(t *testing.T) {
	r := newRepo(t)
	commit := git.ID(run(t, r, "commit-tree", "-m", "x", run(t, r, "write-tree")))
	mark := filepath.Join(t.TempDir(), "mark")
	fake(t, `case "$1" in config) exit 3 ;; *) : >'`+mark+"' ;; esac\n")
	if err := r.UpdateRef(t.Context(), git.RefMove{Name: "refs/heads/x", Old: commit.Zero(), New: commit, Message: "test"}); git.ExitCode(err) != 3 {
		t.Errorf("%v, want the error of git config", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("another git was started")
	}
}

func appendFile(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
