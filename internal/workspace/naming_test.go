package workspace_test

import (
	"errors"
	"testing"

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

// TestABranchOfAnotherName goes the way of a run: made, committed to, looked at.
func TestABranchOfAnotherName(t *testing.T) {
	branch := "agents/mend-it-" + runID.Short()
	a, w := named(t, branch)
	must(t, w.Prepare(t.Context()))
	head, err := w.Commit(t.Context(), commitOf(a.spec.Base, edited()))
	must(t, err)
	must(t, w.CheckBranch(t.Context(), head))
	if got := runGit(t, a.repo, "rev-parse", branch); got != string(head) {
		t.Errorf("it is at %s, not at %s", got, head)
	}
	if got := runGit(t, a.repo, "for-each-ref", "refs/heads/ratchet/"); got != "" {
		t.Errorf("and there is %s", got)
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
