package forge

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/ticket"
)

// WatchEntry is a ticket that waits, and what it waits for.
type WatchEntry struct {
	Repository forge.Repo `json:"repository"`
	forge.Watched
}

// Rule says which issues of a repository become tickets by themselves: those that have the label.
type Rule struct {
	Label  string        `json:"label"`
	Ticket Ticket        `json:"ticket"` // without an issue
	Bounds ticket.Bounds `json:"bounds"`
}

// JoinWatch has the watch of the repository signal the ticket: once soon, and then after each change.
func (a *Activities) JoinWatch(ctx context.Context, e WatchEntry) error {
	defer beat(ctx)()
	return a.activityError(a.config.Engine.Watch(ctx, e))
}

// Poll is the input of PollPulls.
type Poll struct {
	Repository forge.Repo      `json:"repository"`
	Tickets    []forge.Watched `json:"tickets,omitempty"`
	Label      string          `json:"label,omitempty"` // that makes tickets; empty: none does
	Seen       forge.PollState `json:"seen"`
}

// Polled is the result of PollPulls.
type Polled struct {
	Seen    forge.PollState `json:"seen"`
	Changed []string        `json:"changed,omitempty"` // tickets
	Labeled []int           `json:"labeled,omitempty"` // issues that have the label
}

// PollPulls returns when something that a ticket waits for has changed. Until then it returns an error, and the engine calls
// it again after a while: this adds no event to the history and occupies no slot of the worker. Its heartbeat keeps what it
// has seen, so each call asks only for changes.
func (a *Activities) PollPulls(ctx context.Context, in Poll) (out Polled, err error) {
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &in.Seen); err != nil {
			return out, err
		}
	}
	client, err := a.clientOf(in.Repository)
	if err != nil {
		return out, a.activityError(err)
	}
	p, err := client.Poll(ctx, in.Tickets, in.Label, in.Seen, func() { activity.RecordHeartbeat(ctx, in.Seen) })
	if err != nil {
		return out, a.activityError(err)
	}
	if out = (Polled{p.State, p.Changed, p.Labeled}); len(out.Changed)+len(out.Labeled) > 0 {
		return out, nil
	}
	activity.RecordHeartbeat(ctx, out.Seen)
	return out, temporal.NewApplicationErrorWithOptions("nothing has changed", UnchangedError, temporal.ApplicationErrorOptions{NextRetryDelay: a.pace(p.Pending, out.Seen.Rate)})
}

// pace returns the time until the next look. The last tenth of a limit is left to others.
func (a *Activities) pace(pending bool, r forge.Rate) time.Duration {
	pace := cmp.Or(a.config.Pace, DefaultPace)
	if !pending {
		pace *= 10
	}
	if r.Limit > 0 && r.Remaining < r.Limit/10 {
		pace = max(pace, min(time.Until(r.Reset), time.Hour))
	}
	return pace
}

// Labeled is the result of StartLabeled.
type Labeled struct {
	// Refused says why the label starts no ticket; empty: there is one.
	Refused string `json:"refused,omitempty"`
}

// StartLabeled starts the ticket of an issue that has the label, if a person with write permission set it and the text of
// the issue has not changed since. It does nothing if there is a ticket already.
func (a *Activities) StartLabeled(ctx context.Context, r Rule, issue int) (out Labeled, err error) {
	defer beat(ctx)()
	t := r.Ticket
	t.Issue = issue
	if there, err := a.config.Engine.HasTicket(ctx, t); err != nil || there {
		return out, a.activityError(err)
	}
	client, err := a.clientOf(t.Repository)
	if err != nil {
		return out, a.activityError(err)
	}
	i, err := client.Issue(ctx, issue) // before the question who has set the label: what is edited later has another digest
	if err != nil {
		return out, a.activityError(err)
	}
	l, err := client.Labeling(ctx, issue, r.Label)
	if err != nil {
		return out, a.activityError(err)
	}
	may := false
	if l.By != "" && !l.Bot {
		if may, err = client.MayWrite(ctx, l.By); err != nil {
			return out, a.activityError(err)
		}
	}
	switch {
	case l.By == "":
		out.Refused = "the label is not set any more"
	case !may:
		out.Refused = fmt.Sprintf("%s has set the label, and may not write to the repository: a person with write permission has to set it", l.By)
	case l.Edited:
		out.Refused = "the issue was edited after the label was set: read it, and set the label again"
	default:
		t.Digest = digestOf(i)
		return out, a.activityError(a.config.Engine.StartTicket(ctx, t, r.Bounds))
	}
	return out, nil
}
