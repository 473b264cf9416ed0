package rundir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

func TestANameIsKeptForOneRun(t *testing.T) {
	dir := t.TempDir()
	for _, row := range []struct {
		name run.Name
		id   run.ID
		want error
	}{
		{"slug#9", "a", nil}, {"slug#9", "a", nil}, {"slug#9", "b", fs.ErrExist}, {"slug#10", "b", nil}, {"slug-2#11", "c", nil},
	} {
		if err := rundir.KeepName(dir, row.name, row.id); !errors.Is(err, row.want) {
			t.Errorf("%s for %s: %v", row.name, row.id, err)
		}
	}
	if id, ok := rundir.RunNamed(dir, "slug#9"); id != "a" || !ok {
		t.Errorf("%s, %v", id, ok)
	}
	for label, want := range map[string]int{"slug": 10, "slug-2": 11, "other": 0} {
		if got := rundir.LastNumber(dir, label); got != want {
			t.Errorf("%s: %d, want %d", label, got, want)
		}
	}
	mustDo(t, rundir.KeepName(dir, "shop-10#9", "d"))
	mustDo(t, rundir.KeepName(dir, "shop#19", "e"))
	for number, want := range map[int][]run.Name{9: {"shop-10#9", "slug#9"}, 10: {"slug#10"}, 11: {"slug-2#11"}, 1: nil} {
		if got := rundir.NamesNumbered(dir, number); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%d: %v, want %v", number, got, want)
		}
	}
}

func TestANameLeavesNoPlaceAndFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	if err := rundir.KeepName(filepath.Join(dir, "none"), "slug#1", "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a runs directory: %v", err)
	}
	for _, name := range []run.Name{"../slug#1", "slug#1/../../x", "slug", ""} {
		if err := rundir.KeepName(dir, name, "a"); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	mustDo(t, os.WriteFile(secret, []byte("kept"), 0o600))
	mustDo(t, os.MkdirAll(filepath.Join(dir, "names"), 0o700))
	mustDo(t, os.Symlink(secret, filepath.Join(dir, "names", "slug-1")))
	if err := rundir.KeepName(dir, "slug#1", "a"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a link: %v", err)
	}
	if id, ok := rundir.RunNamed(dir, "slug#1"); ok {
		t.Errorf("read through a link: %s", id)
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "kept" {
		t.Errorf("%q, %v", b, err)
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
