package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Reserve makes the branch of a run that is about to start, at its base. Git makes it in one step and only
// where no branch of the name is: of two runs that want one name, one gets it. The error matches
// ErrBranchTaken when the name is not free.
func Reserve(ctx context.Context, repository, branch string, base run.Commit) error {
	common, err := commonDir(ctx, repository)
	if err != nil {
		return err
	}
	repo := git.Repo{Dir: common, GitDir: common}
	for range reserveTries {
		if err := CheckFree(ctx, repository, branch); err != nil {
			return err
		}
		err = repo.UpdateRef(ctx, git.RefMove{Name: "refs/heads/" + branch, Old: git.ID(base).Zero(), New: git.ID(base), Message: "ratchet"})
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("make branch %s: %w", branch, err)
}

// reserveTries is how often Reserve tries to make a branch. Another start may have made it and given it up between two
// looks.
const reserveTries = 3

// Unreserve removes a branch that Reserve has made, unless something has moved it since.
func Unreserve(ctx context.Context, repository, branch string, base run.Commit) error {
	common, err := commonDir(ctx, repository)
	if err != nil {
		return err
	}
	return git.Repo{Dir: common, GitDir: common}.DeleteRef(ctx, git.Ref{Name: "refs/heads/" + branch, ID: git.ID(base)})
}

// LastNumber returns the highest number of the repository's branches of run.DefaultBranch; zero if there is
// none.
func LastNumber(ctx context.Context, repository string) (last int, err error) {
	common, err := commonDir(ctx, repository)
	if err != nil {
		return 0, err
	}
	out, err := git.Repo{Dir: common, GitDir: common}.Run(ctx, "for-each-ref", "--format=%(refname)", "refs/heads/ratchet/")
	for line := range strings.Lines(string(out)) {
		last = max(last, run.BranchNumber(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "refs/heads/")))
	}
	return last, err
}

// checkOwned returns an ErrForeign for a branch that is named by a number and does not hold a commit of the
// run. The id of a run is in no other branch; a number may be, as in a repository that two engines share.
func (w *Workspace) checkOwned(ctx context.Context, tip run.Commit) error {
	if strings.Contains(w.spec.Branch, w.spec.RunID.Short()) {
		return nil
	}
	c, err := w.readCommit(ctx, tip)
	if err != nil && !errors.Is(err, git.ErrObject) {
		return err
	}
	for _, line := range trailerLines(c.message) {
		if line == "Ratchet-Run: "+string(w.spec.RunID) {
			return nil
		}
	}
	return fmt.Errorf("branch %s: run %s did not make its commit %s: %w", w.Branch(), w.spec.RunID, tip, ErrForeign)
}
