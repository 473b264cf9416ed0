package forge

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/forge"
)

// WatchEntry is a ticket that waits, and what it waits for.
type WatchEntry struct {
	Ticket     string     `json:"ticket"` // its workflow id
	Repository forge.Repo `json:"repository"`
	forge.Watched
	Seen map[string]forge.Seen `json:"seen,omitempty"` // by the last poll; empty: there was none
}

// JoinWatch has the watch of the repository signal the ticket: once soon, and then after each change.
func (a *Activities) JoinWatch(ctx context.Context, e WatchEntry) error {
	return a.told(a.config.Engine.Watch(ctx, e))
}

// Polled is the result of PollPulls.
type Polled struct {
	Seen    map[string]map[string]forge.Seen `json:"seen"` // by ticket
	Changed []string                         `json:"changed"`
}

// PollPulls returns when a pull request that a ticket waits for has changed. Until then it returns an error, and the engine
// calls it again after a while: this adds no event to the history and occupies no slot of the worker. Its heartbeat keeps
// what it has seen, so each call asks only for changes.
func (a *Activities) PollPulls(ctx context.Context, entries []WatchEntry) (out Polled, err error) {
	seen := map[string]map[string]forge.Seen{}
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &seen); err != nil {
			return out, err
		}
	}
	out.Seen = map[string]map[string]forge.Seen{}
	pending := false
	for _, e := range entries {
		known, ok := seen[e.Ticket]
		if !ok {
			known = e.Seen
		}
		client, err := a.clientOf(e.Repository)
		if err != nil {
			return out, a.told(err)
		}
		p, err := client.Poll(ctx, e.Watched, known)
		if said, ok := errors.AsType[*forge.Error](err); ok && said.Code == 404 { // the ticket finds out
			_, gone := known["gone"]
			p, err = forge.Polled{Seen: map[string]forge.Seen{"gone": {}}, Changed: !gone}, nil
		}
		if err != nil {
			return out, a.told(err)
		}
		if p.Changed {
			out.Changed = append(out.Changed, e.Ticket)
		}
		out.Seen[e.Ticket] = p.Seen
		pending = pending || p.Pending
	}
	if len(out.Changed) > 0 {
		return out, nil
	}
	activity.RecordHeartbeat(ctx, out.Seen)
	return out, temporal.NewApplicationErrorWithOptions("nothing has changed", UnchangedError, temporal.ApplicationErrorOptions{NextRetryDelay: a.pace(pending)})
}

// pace returns the time until the next look.
func (a *Activities) pace(pending bool) time.Duration {
	pace := a.config.Pace
	if pace == 0 {
		pace = DefaultPace
	}
	if !pending {
		pace *= 10
	}
	return pace
}
