package runs

import (
	"context"
	"time"

	"go.temporal.io/api/enums/v1"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// changesAgain is the wait before a run whose engine does not answer is followed again.
const changesAgain = time.Second

// Changes returns a channel that holds a value when the run's workflow has gone on since the last one was
// taken. The engine tells it at once, so a follower need not ask often. Changes may miss one while the
// engine does not answer: a follower asks now and then all the same. It ends with ctx.
func (c *Client) Changes(ctx context.Context, id run.ID) <-chan struct{} {
	changed := make(chan struct{}, 1)
	go func() {
		for ctx.Err() == nil {
			c.followHistory(ctx, id, changed)
			select {
			case <-ctx.Done():
			case <-time.After(changesAgain):
			}
		}
	}()
	return changed
}

// followHistory waits for the events of the run's latest execution until it ends, or the engine does not
// answer.
func (c *Client) followHistory(ctx context.Context, id run.ID, changed chan<- struct{}) {
	history := c.temporal.GetWorkflowHistory(ctx, id.WorkflowID(), "", true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		if _, err := history.Next(); err != nil {
			return
		}
		select {
		case changed <- struct{}{}:
		default: // one is waiting to be taken
		}
	}
}
