package runs

import (
	"context"
	"time"

	"go.temporal.io/api/enums/v1"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// changesAgain is the wait before a run whose engine does not answer is followed again, and endedAgain the wait of one
// whose workflow has ended: a resumed run has another.
const (
	changesAgain = time.Second
	endedAgain   = 10 * time.Second
)

// Changes returns a channel that holds a value when the run's workflow has gone on since the last one was
// taken. The engine reports it at once, so a follower need not ask often. Changes may miss one while the
// engine does not answer: a follower asks now and then all the same. It ends with ctx.
func (c *Client) Changes(ctx context.Context, id run.ID) <-chan struct{} {
	changed := make(chan struct{}, 1)
	go func() {
		for ctx.Err() == nil {
			wait := changesAgain
			if c.followHistory(ctx, id, changed) {
				wait = endedAgain
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
	}()
	return changed
}

// followHistory waits for the events of the run's latest execution until it ends, or the engine does not
// answer. It reports whether the workflow has ended, and no other continues it. The state of a run changes with a
// workflow task alone: no other event but an end is reported.
func (c *Client) followHistory(ctx context.Context, id run.ID, changed chan<- struct{}) (ended bool) {
	history := c.temporal.GetWorkflowHistory(ctx, id.WorkflowID(), "", true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return false
		}
		ended = isEnd(event.GetEventType())
		if !ended && event.GetEventType() != enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			continue
		}
		select {
		case changed <- struct{}{}:
		default: // one is waiting to be taken
		}
	}
	return ended
}

// isEnd reports whether a workflow ends with an event of the type.
func isEnd(t enums.EventType) bool {
	switch t {
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
		enums.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		return true
	}
	return false
}
