package box_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/test/nobody"
)

func TestOverlayKeepsChangesApart(t *testing.T) {
	t.Run("as this user", keepsChangesApart)
	t.Run("without privileges", func(t *testing.T) {
		if nobody.Runs(t) {
			keepsChangesApart(t)
		}
	})
}

func keepsChangesApart(t *testing.T) {
	b := openBox(t)
	if !b.Overlays() {
		t.Skip("no overlays on this machine")
	}
	dir := t.TempDir()
	tree, lower := mkdir(t, dir, "tree"), mkdir(t, dir, "cache, of: all")
	write(t, filepath.Join(lower, "old"), "old\n", 0o644)
	write(t, filepath.Join(lower, "gone"), "gone\n", 0o644)
	script := "cd '" + lower + "' && cat old gone && echo planted > old && rm gone && echo x > new && mkdir d && mv new d && ls"
	private := func(name string) box.Overlay {
		o := mkdir(t, dir, name)
		t.Cleanup(func() { git.RemoveTree(o) })
		return box.Overlay{Lower: lower, Upper: mkdir(t, o, "upper"), Work: mkdir(t, o, "work"), Target: lower}
	}
	for _, run := range []string{"one", "two"} { // the second sees nothing of the first
		out, r := inBox(t, b, box.Spec{Tree: tree, Overlays: []box.Overlay{private(run)}}, script)
		if out != "old\ngone\nd\nold\n" || r.ExitCode != 0 {
			t.Errorf("run %s: %q, %+v", run, out, r)
		}
	}
	for name, want := range map[string]string{"old": "old\n", "gone": "gone\n"} {
		if got, err := os.ReadFile(filepath.Join(lower, name)); err != nil || string(got) != want {
			t.Errorf("%s below: %q, %v", name, got, err)
		}
	}
	if entries, err := os.ReadDir(lower); err != nil || len(entries) != 2 {
		t.Errorf("below: %v, %v", entries, err)
	}
}

// The runs directory is .runs unless a user says otherwise.
func TestOverlaysAreThereForARelativeDirectory(t *testing.T) {
	if !openBox(t).Overlays() {
		t.Skip("no overlays on this machine")
	}
	dir := t.TempDir()
	mkdir(t, dir, "runs")
	t.Chdir(dir)
	b, err := box.Open(t.Context(), box.Config{Dir: "runs"})
	if err != nil {
		t.Fatal(err)
	}
	if !b.Overlays() {
		t.Error("none")
	}
}

func TestOverlayThatCannotBeIsNoRun(t *testing.T) {
	b := openBox(t)
	if !b.Overlays() {
		t.Skip("no overlays on this machine")
	}
	tree := t.TempDir()
	if _, err := tryInBox(t, b, box.Spec{Tree: tree, Overlays: []box.Overlay{{Lower: "/no/such", Upper: tree, Work: tree, Target: tree}}}, "exit 0"); err == nil {
		t.Error("it ran without its overlay")
	} else {
		t.Log(err)
	}
}
