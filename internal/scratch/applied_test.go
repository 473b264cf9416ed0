package scratch_test

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/answer"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/scratch"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// tb is what a test and a property have in common.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// runTree is the tree of a commit as the run has it.
func runTree(t testing.TB, spec scratch.Spec, commit run.Commit) (*workspace.Workspace, patch.Tree) {
	t.Helper()
	w, err := workspace.Open(t.Context(), workspace.Spec{
		Repo: spec.Repo, Prefix: spec.Prefix, Base: commit, RunID: "01890a5d-ac96-774b-bcce-b302099a8057", Dir: filepath.Join(t.TempDir(), "w"),
	})
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	return w, w.Tree(t.Context(), commit)
}

// regular are the regular files of a commit.
func regular(t testing.TB, w *workspace.Workspace, commit run.Commit) files {
	t.Helper()
	list, err := w.Files(t.Context(), commit)
	if errors.Is(err, fs.ErrNotExist) {
		return files{} // the commit does not have the sub-directory
	}
	must(t, err)
	out := files{}
	for _, f := range list {
		stored, err := w.Tree(t.Context(), commit).Lookup(f.Path)
		must(t, err)
		name := f.Path
		if stored.Mode == patch.Executable {
			name += "*"
		}
		out[name] = string(stored.Content)
	}
	return out
}

// planned does to base what the run would do with diff: it comes as an answer,
// or as the changes of a checkout.
func planned(t tb, on patch.Tree, base files, diff []byte) files {
	t.Helper()
	out := maps.Clone(base)
	if len(diff) == 0 {
		return out
	}
	text := "Done.\n<<<AIO_RESULT_START>>>\ntype: PATCH\nsummary: x\n<<<AIO_RESULT_END>>>\n[PATCH_BEGIN]\n" + string(diff) + "[PATCH_END]\n"
	a, err := answer.Parse([]byte(text), "stop")
	if err != nil || string(a.Diff) != string(diff) {
		t.Fatalf("answer: %v\n%q\nwant\n%q", err, a.Diff, diff)
	}
	c, err := patch.Plan(on, a.Diff, patch.Limits{})
	if err != nil {
		t.Fatalf("plan: %v\n%s", err, diff)
	}
	if len(c.Repairs) > 0 || string(c.Diff()) != string(diff) {
		t.Errorf("not canonical: %v\n%s\nwant\n%s", c.Repairs, c.Diff(), diff)
	}
	for _, f := range c.Files {
		if f.Kind == patch.Renamed {
			delete(out, f.OldPath)
			delete(out, f.OldPath+"*")
		}
		delete(out, f.Path)
		delete(out, f.Path+"*")
		if f.After == nil {
			continue
		}
		name := f.Path
		if f.After.Mode == patch.Executable {
			name += "*"
		}
		out[name] = string(f.After.Content)
	}
	return out
}

// same fails unless both have the same regular files.
func same(t tb, got, want files) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if text, ok := got[name]; !strings.HasPrefix(want[name], "-> ") && (!ok || text != want[name]) {
			t.Errorf("%s: %q (there: %t), want %q", name, text, ok, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: there, and not wanted", name)
		}
	}
}

// wantApplied fails unless the changes of s make the files want of the commit.
func wantApplied(t testing.TB, s *scratch.Scratch, spec scratch.Spec, want files) {
	t.Helper()
	commit, ok := s.Made()
	if !ok {
		t.Fatal("not made")
	}
	w, on := runTree(t, spec, commit)
	same(t, planned(t, on, regular(t, w, commit), []byte(changes(t, s))), want)
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
