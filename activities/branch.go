package activities

import (
	"context"
	"errors"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/checkout"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// BranchInput names the commit that the run's branch must point at.
type BranchInput struct {
	Header
	Head run.Commit `json:"head"`
}

// BranchResult says where the branch stands if something other than the run has moved it; empty: it is in place.
type BranchResult struct {
	Moved string `json:"moved,omitempty"`
}

// CheckBranch stops the run's agents and looks at the branch of a run that is about to complete.
func (a *Activities) CheckBranch(ctx context.Context, in BranchInput) (_ BranchResult, err error) {
	_, stop := report.Heartbeat(ctx, report.Progress{Doing: "looks at the branch"})
	defer stop()
	defer makePermanent(&err)
	onDisk, err := a.beginEntry(ctx, in.Header)
	if err != nil {
		return BranchResult{}, err
	}
	defer finishEntry(onDisk, &err)
	if err := a.stopAgents(ctx, in.RunID); err != nil {
		return BranchResult{}, err
	}
	w, release, err := a.workspaces.use(ctx, in.Header)
	if err != nil {
		return BranchResult{}, err
	}
	defer release()
	err = w.CheckBranch(ctx, in.Head)
	failpoint.Hit("complete.branch")
	if errors.Is(err, workspace.ErrMoved) {
		return BranchResult{Moved: display.Clip(err.Error(), report.MaxSummary)}, nil
	}
	return BranchResult{}, err
}

// RepositoryError is the type of errors about the user's repository that only a person can fix: it
// lacks objects, it cannot be read, its list of borrowed objects names something else, or its branch of the
// run's name belongs to another or was moved.
const RepositoryError = run.CodeRepository

// makePermanent makes an error about the user's repository permanent.
func makePermanent(err *error) {
	if _, ok := errors.AsType[*NotBoxed](*err); ok {
		*err = report.Permanent(SandboxError, *err)
		return
	}
	if errors.Is(*err, git.ErrObject) || errors.Is(*err, git.ErrNotRepository) || errors.Is(*err, workspace.ErrForeign) || errors.Is(*err, workspace.ErrMoved) || errors.Is(*err, checkout.ErrBorrowed) {
		*err = report.Permanent(RepositoryError, *err)
	}
}
