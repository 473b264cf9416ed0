// Package notify is the workflow that delivers one notice of a run, by each channel of the run. It is a workflow of its
// own so that a run neither waits for a receiver that is away nor forgets one when it ends.
package notify

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/notify"
	"github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows/format"
)

// Input is the notice and the channels to deliver it by.
type Input struct {
	Format   format.Stamp  `json:"format"`
	Notice   notify.Notice `json:"notice"`
	Channels []run.Channel `json:"channels"`
}

// Result says how each channel ended: "delivered", or the error of the last attempt.
type Result struct {
	Outcomes map[run.Channel]string `json:"outcomes"`
}

// acts provides method values only. The worker holds the real activities.
var acts *activities.Activities

// Delivered is the outcome of a channel that took the notice.
const Delivered = "delivered"

// Notice delivers the notice by each channel, side by side. A webhook is tried for a day: it arrives at least once, each
// time with the id of the notice. A program, which shows it at once or not at all, is tried three times.
func Notice(ctx workflow.Context, in Input) (Result, error) {
	in.Format.Check()
	out := Result{Outcomes: map[run.Channel]string{}}
	calls := make([]workflow.Future, len(in.Channels))
	for i, c := range in.Channels {
		ctx := workflow.WithActivityOptions(ctx, optionsOf(c, in.Notice.Title()))
		calls[i] = workflow.ExecuteActivity(ctx, acts.SendNotice, activities.SendInput{Channel: c, Notice: in.Notice})
	}
	for i, call := range calls {
		out.Outcomes[in.Channels[i]] = Delivered
		if err := call.Get(ctx, nil); err != nil {
			out.Outcomes[in.Channels[i]] = err.Error()
		}
	}
	return out, nil
}

func optionsOf(c run.Channel, title string) workflow.ActivityOptions {
	o := workflow.ActivityOptions{
		StartToCloseTimeout: activities.Patience + 15*time.Second, ScheduleToCloseTimeout: 24 * time.Hour, Summary: string(c) + ": " + title,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 2 * time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Minute},
	}
	if c == run.CommandChannel {
		o.RetryPolicy.MaximumAttempts, o.ScheduleToCloseTimeout = 3, 10*time.Minute
	}
	return o
}

// Register registers the workflow and its activity with a worker.
func Register(w worker.Registry, a *activities.Activities) {
	w.RegisterWorkflow(Notice)
	w.RegisterActivity(a)
}
