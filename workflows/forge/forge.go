// Package forge holds three workflows: PullRequest pushes a run's branch and opens its pull request, Ticket works on an
// issue until it is merged, and Watch polls a repository for all its tickets.
package forge

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/forge"
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
// pushed commit. A second call does the steps that are left. It fails if a step's error cannot be retried.
func PullRequest(ctx workflow.Context, in activities.Target) (out Result, err error) {
	ctx = acting(ctx, 24*time.Hour)
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

// IssueGoal reads the text of an issue as the goal of a run.
func IssueGoal(ctx workflow.Context, r forge.Repo, number int) (out activities.IssueText, err error) {
	err = workflow.ExecuteActivity(acting(ctx, 2*time.Minute), acts.ReadIssue, r, number).Get(ctx, &out)
	return out, err
}

// Register registers the workflows and their activities with a worker.
func Register(w worker.Registry, a *activities.Activities) {
	for _, flow := range []any{PullRequest, Ticket, Watch, IssueGoal} {
		w.RegisterWorkflow(flow)
	}
	w.RegisterActivity(a)
}

// acting returns the context of activities that look before they act. They are tried for as long as patience.
func acting(ctx workflow.Context, patience time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute, ScheduleToCloseTimeout: patience, HeartbeatTimeout: 30 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 2 * time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second}, // the server may ask for more
	})
}
