// Package schedule is the workflow that each fire of a schedule starts: it starts a run or a ticket and lasts as long as
// that, so that Temporal's policy for overlaps means runs and tickets.
package schedule

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"go.temporal.io/api/enums/v1"

	"github.com/ratchet-dev/ratchet/activities/report"
	activities "github.com/ratchet-dev/ratchet/activities/schedule"
	notices "github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/workflows/notify"
)

// Result is what became of a fire.
type Result struct {
	activities.Started
	Status  run.Status   `json:"status,omitempty"`  // of the run
	End     ticket.End   `json:"end,omitempty"`     // of the ticket
	Problem *run.Problem `json:"problem,omitempty"` // why nothing was started
}

// acts provides method values only. The worker holds the real activities.
var acts *activities.Activities

// startPatience bounds the attempts at a start: an engine or a disk may be away for a while.
const startPatience = 15 * time.Minute

// Fire starts a run or a ticket and waits for its end. A fire that can start none notifies people, by the channels of the run,
// and ends with the problem in its result.
func Fire(ctx workflow.Context, p activities.Plan) (out Result, err error) {
	fire := workflow.GetInfo(ctx).WorkflowExecution.ID
	starting := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Minute, ScheduleToCloseTimeout: startPatience,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
	})
	var started workflow.Future
	if p.Ticket != nil {
		started = workflow.ExecuteActivity(starting, acts.StartTicket, p)
	} else {
		started = workflow.ExecuteActivity(starting, acts.StartScheduled, p, fire)
	}
	if err := started.Get(ctx, &out.Started); err != nil {
		if temporal.IsCanceledError(err) {
			return out, err
		}
		problem := report.ProblemOf(err)
		out.Problem = &problem
		return out, startNotice(ctx, p, fire)
	}
	waiting := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 2 * time.Second, BackoffCoefficient: 2, MaximumInterval: report.LookInterval},
	})
	if p.Ticket != nil {
		return out, workflow.ExecuteActivity(waiting, acts.AwaitTicketEnd, out.Ticket).Get(ctx, &out.End)
	}
	err = workflow.ExecuteActivity(waiting, acts.AwaitEnd, out.RunID).Get(ctx, &out.Status)
	if temporal.IsCanceledError(err) { // a later fire takes the place of this one
		ctx, _ := workflow.NewDisconnectedContext(ctx)
		_ = workflow.RequestCancelExternalWorkflow(ctx, out.RunID.WorkflowID(), "").Get(ctx, nil)
	}
	return out, err
}

// startNotice starts the delivery of a notice, which this workflow does not wait for.
func startNotice(ctx workflow.Context, p activities.Plan, fire string) error {
	if len(p.Input.Notify) == 0 {
		return nil
	}
	n := notices.OfSchedule(p.Input, p.Schedule, fire, workflow.Now(ctx))
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: n.ID, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	})
	return workflow.ExecuteChildWorkflow(ctx, notify.Notice, notify.Input{Notice: n, Channels: p.Input.Notify}).GetChildWorkflowExecution().Get(ctx, nil)
}

// Register registers the workflow and its activities with a worker.
func Register(w worker.Registry, a *activities.Activities) {
	w.RegisterWorkflow(Fire)
	w.RegisterActivity(a)
}
