package workspace_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// named is a workspace whose branch is not below ratchet/.
func named(t *testing.T, branch string) (applied, *workspace.Workspace) {
	t.Helper()
	r := userRepo(t, sample)
	spec := specOf(t, r)
	spec.Branch = branch
	w := open(t, spec)
	return applied{repo: r, spec: spec, w: w}, w
}

// TestABranchOfAnotherName goes the way of a run: made, committed to, moved by others, put back.
func TestABranchOfAnotherName(t *testing.T) {
	branch := "agents/mend-it-" + runID.Short()
	a, w := named(t, branch)
	must(t, w.Prepare(t.Context()))
	head, _, err := w.Commit(t.Context(), commitOf(a.spec.Base, edited()))
	must(t, err)
	runGit(t, a.repo, "update-ref", "-d", "refs/heads/"+branch)
	if _, err := w.Restore(t.Context(), head, func(run.Restored) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, a.repo, "rev-parse", branch); got != string(head) {
		t.Errorf("it is at %s, not at %s", got, head)
	}
	if got := runGit(t, a.repo, "for-each-ref", "refs/heads/ratchet/"); got != "" {
		t.Errorf("and there is %s", got)
	}
}

// TestABranchOfTheUsersInTheWayStays has a branch of the user's whose name excludes that of the run. Below
// ratchet/ such a branch is removed.
func TestABranchOfTheUsersInTheWayStays(t *testing.T) {
	a, w := named(t, "feature/"+runID.Short())
	must(t, w.Prepare(t.Context()))
	head, _, err := w.Commit(t.Context(), commitOf(a.spec.Base, edited()))
	must(t, err)
	runGit(t, a.repo, "update-ref", "-d", "refs/heads/feature/"+runID.Short())
	runGit(t, a.repo, "branch", "feature", string(a.spec.Base))
	before := refs(t, a.repo)
	_, err = w.Restore(t.Context(), head, func(run.Restored) error { return nil })
	if !errors.Is(err, workspace.ErrForeign) || !strings.Contains(err.Error(), "refs/heads/feature") {
		t.Errorf("error %v, want ErrForeign", err)
	}
	if after := refs(t, a.repo); after != before {
		t.Errorf("references were\n%s\nand are\n%s", before, after)
	}
}

func TestOpenRefusesABranchThatNamesNoRun(t *testing.T) {
	r := userRepo(t, sample)
	for _, branch := range []string{"main", "feature/x", "../" + runID.Short(), "refs/" + runID.Short(), "a/b/" + runID.Short()} {
		spec := specOf(t, r)
		spec.Branch = branch
		if w, err := workspace.Open(t.Context(), spec); err == nil {
			t.Errorf("%s is taken", branch)
			must(t, w.Close())
		}
	}
}

func TestCheckFree(t *testing.T) {
	r := userRepo(t, sample)
	runGit(t, r, "branch", "feature")
	runGit(t, r, "branch", "agents/there")
	runGit(t, r, "branch", "deep/er/than")
	for branch, free := range map[string]bool{
		"agents/new": true, "featured/x": true, "ratchet/x": true,
		"agents/there": false, "Agents/There": false, "feature/x": false, "FEATURE/x": false, "main/x": false, "deep/er": false,
	} {
		err := workspace.CheckFree(t.Context(), r.Dir, branch)
		if free != (err == nil) || err != nil && !errors.Is(err, workspace.ErrBranchTaken) {
			t.Errorf("%s: %v", branch, err)
		}
	}
}
