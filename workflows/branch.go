package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// awaitWorkspace waits until the branch is made. If it could not be made, it returns the
// error, and the next call makes it again.
func (r *runner) awaitWorkspace(ctx workflow.Context) error {
	if r.workspace == nil {
		r.workspace = r.prepareWorkspace(ctx)
	}
	err := r.workspace.Get(ctx, nil)
	if err != nil && !temporal.IsCanceledError(err) {
		r.workspace = nil
	}
	return err
}

// completeRun records a success, and the branch's commit if something has moved it since the last checks. The commit to
// merge is the one in the events. If the branch cannot be read, completeRun records a failure.
func (r *runner) completeRun(ctx workflow.Context) error {
	on := acting(ctx, "Check that the branch is as approved")
	out, err := runActivity(on, r, acts.CheckBranch, activities.BranchInput{Head: r.s.Head})
	if temporal.IsCanceledError(err) {
		return err
	}
	if err != nil {
		r.endRun(ctx, run.RunFailed{Error: report.ProblemOf(err)})
		return nil
	}
	r.endRun(ctx, run.RunCompleted{Branch: r.s.Input.BranchName(), Head: r.s.Head, Commits: r.s.Commits, Moved: out.Moved})
	return nil
}

// failApply handles an application of the patch that ended in an error. It emits an event for a problem
// with the repository, which a person must solve and which is no defect of the patch. It returns any
// other error.
func (r *runner) failApply(ctx workflow.Context, err error) error {
	p := report.ProblemOf(err)
	if p.Code != run.CodeRepository {
		return err
	}
	r.emitEvent(ctx, run.PatchApplyFailed{Patch: r.s.Proposal.Patch.Digest, Error: p})
	return nil
}
