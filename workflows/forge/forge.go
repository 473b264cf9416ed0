// Package forge is the workflow that brings a run's branch to the server of its team as a pull request.
package forge

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// WorkflowID returns the id of the workflow of a run's pull request. One at a time runs.
func WorkflowID(id run.ID) string { return "pr-" + string(id) }

// Result is what became of the branch and its pull request.
type Result struct {
	activities.Pushed
	activities.Opened
}

// acts provides method values only. The worker holds the real activities.
var acts *activities.Activities

// PullRequest pushes the branch of a run, opens its pull request or brings it up to date, and sets the status of the
// pushed commit. A second call does what is left to do. It fails with the error of a step that no retry mends.
func PullRequest(ctx workflow.Context, in activities.Target) (out Result, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute, ScheduleToCloseTimeout: 24 * time.Hour,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 2 * time.Second, BackoffCoefficient: 2, MaximumInterval: 5 * time.Minute},
	})
	if err := workflow.ExecuteActivity(ctx, acts.PushBranch, in).Get(ctx, &out.Pushed); err != nil {
		return out, err
	}
	if err := workflow.ExecuteActivity(ctx, acts.OpenPullRequest, in, out.Pushed).Get(ctx, &out.Opened); err != nil {
		return out, err
	}
	if out.Merged {
		return out, nil
	}
	return out, workflow.ExecuteActivity(ctx, acts.SetStatus, in, out.Pushed).Get(ctx, nil)
}

// Register registers the workflow and its activities with a worker.
func Register(w worker.Registry, a *activities.Activities) {
	w.RegisterWorkflow(PullRequest)
	w.RegisterActivity(a)
}
