package forge

import (
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/workflows/format"
)

// WatchID returns the id of the workflow that polls a repository for the tickets of one task queue.
func WatchID(r forge.Repo, queue string) string {
	return "watch-" + strings.ToLower(r.String()) + "@" + queue
}

// The messages of a watch.
const (
	JoinSignal  = "join"  // an activities.WatchEntry
	LeaveSignal = "leave" // the workflow id of a ticket
)

// WatchInput is the input of Watch.
type WatchInput struct {
	Format  format.Stamp            `json:"format"`
	Entries []activities.WatchEntry `json:"entries,omitempty"` // to go on from
}

// maxPolls is the number of changes after which a watch continues as new.
const maxPolls = 100

// Watch polls a repository for its tickets, and signals one whose pull request, issue, checks or reviews have changed. It
// ends when no ticket is left.
func Watch(ctx workflow.Context, in WatchInput) error {
	in.Format.Check()
	w := &watch{entries: in.Entries}
	joins, leaves := workflow.GetSignalChannel(ctx, JoinSignal), workflow.GetSignalChannel(ctx, LeaveSignal)
	drain := func() {
		for e := (activities.WatchEntry{}); joins.ReceiveAsync(&e); e = (activities.WatchEntry{}) {
			w.join(e)
		}
		for id := ""; leaves.ReceiveAsync(&id); id = "" {
			w.leave(id)
		}
	}
	for range maxPolls {
		drain()
		if len(w.entries) == 0 {
			return nil
		}
		pollCtx, stop := workflow.WithCancel(ctx)
		poll := workflow.ExecuteActivity(polling(pollCtx), acts.PollPulls, w.entries)
		var out activities.Polled
		var err error
		s := workflow.NewSelector(ctx)
		s.AddFuture(poll, func(f workflow.Future) { err = f.Get(ctx, &out) })
		s.AddReceive(joins, func(c workflow.ReceiveChannel, _ bool) {
			var e activities.WatchEntry
			c.Receive(ctx, &e)
			w.join(e)
		})
		s.AddReceive(leaves, func(c workflow.ReceiveChannel, _ bool) {
			var id string
			c.Receive(ctx, &id)
			w.leave(id)
		})
		s.Select(ctx)
		stop()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // no retry fixes it: the tickets find out why
			for _, e := range slices.Clone(w.entries) {
				w.signal(ctx, e.Ticket)
			}
			if err := workflow.Sleep(ctx, troubled); err != nil {
				return err
			}
		default:
			w.take(ctx, out)
		}
	}
	drain()
	return workflow.NewContinueAsNewError(ctx, Watch, WatchInput{Entries: w.entries})
}

// troubled is the time until the next poll after an error that no retry fixes.
const troubled = 10 * time.Minute

type watch struct{ entries []activities.WatchEntry }

func (w *watch) join(e activities.WatchEntry) {
	w.leave(e.Ticket)
	w.entries = append(w.entries, e)
}

func (w *watch) leave(id string) {
	w.entries = slices.DeleteFunc(w.entries, func(e activities.WatchEntry) bool { return e.Ticket == id })
}

// take keeps what a poll has seen and signals the tickets that it concerns.
func (w *watch) take(ctx workflow.Context, out activities.Polled) {
	for i, e := range w.entries {
		if seen, ok := out.Seen[e.Ticket]; ok {
			w.entries[i].Seen = seen
		}
	}
	for _, id := range out.Changed {
		w.signal(ctx, id)
	}
}

// signal tells a ticket to look. One that is over leaves.
func (w *watch) signal(ctx workflow.Context, id string) {
	if err := workflow.SignalExternalWorkflow(ctx, id, "", ChangedSignal, nil).Get(ctx, nil); err != nil && !temporal.IsCanceledError(err) {
		w.leave(id)
	}
}

// polling returns the context of polls. Each look is an attempt, so the longest interval holds for one that its worker's
// death ended; what the activity and the server say of the next goes before.
func polling(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 5 * time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
	})
}
