package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/api/enums/v1"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/workflows"
)

// Events returns the run's events after the given event, or all events when after is empty.
// It asks the earlier executions of a long run for the events that they know. It reads the
// events that no execution knows any more from the record, and all events of a run that is over and that the engine does
// not know.
func (c *Client) Events(ctx context.Context, id run.ID, after string) ([]run.Event, error) {
	res, err := queryRun[workflows.EventsResult](ctx, c, id, "", workflows.EventsQuery, workflows.EventsInput{After: after})
	if c.endedRecord(id, err) != nil {
		return c.withRecorded(id, after, nil)
	}
	if err != nil || isWhole(res, after) {
		return res.Events, err
	}
	return c.earlierEvents(ctx, id, after)
}

// isWhole reports whether no event is missing between after and the first event that the
// execution knows.
func isWhole(res workflows.EventsResult, after string) bool {
	return res.First <= run.Event{ID: after}.Seq()+1
}

func (c *Client) earlierEvents(ctx context.Context, id run.ID, after string) ([]run.Event, error) {
	e, err := c.Describe(ctx, id)
	if err != nil {
		return nil, err
	}
	var events []run.Event
	for execution := e.execution; execution != ""; {
		res, err := queryRun[workflows.EventsResult](ctx, c, id, execution, workflows.EventsQuery, workflows.EventsInput{After: after})
		_, gone := errors.AsType[*NotFoundError](err)
		if (gone || errors.Is(err, ErrNoWorker)) && len(events) > 0 { // the host that had it before the run moved may be away
			break
		}
		if err != nil {
			return nil, err
		}
		if events = append(res.Events, events...); isWhole(res, after) {
			return events, nil
		}
		if execution, err = c.previousExecution(ctx, id, execution); err != nil {
			return nil, err
		}
	}
	return c.withRecorded(id, after, events)
}

// withRecorded prepends to the events those between after and the first of them, from the run's
// directory. Without a directory on this host it returns the events unchanged, and the story
// begins late.
func (c *Client) withRecorded(id run.ID, after string, events []run.Event) ([]run.Event, error) {
	dir, err := rundir.OfRun(c.RunsDir, id)
	if err != nil {
		return events, nil // the record is on another host
	}
	all, err := dir.Events()
	if err != nil {
		return events, nil // it cannot be read
	}
	from := run.Event{ID: after}.Seq()
	between := slices.DeleteFunc(all, func(e run.Event) bool {
		return e.Seq() <= from || len(events) > 0 && e.Seq() >= events[0].Seq()
	})
	return append(between, events...), nil
}

// previousExecution returns the execution that continued as the given one. It is empty when there is
// none.
func (c *Client) previousExecution(ctx context.Context, id run.ID, execution string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	history := c.temporal.GetWorkflowHistory(ctx, id.WorkflowID(), execution, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if !history.HasNext() {
		return "", nil
	}
	first, err := history.Next()
	if err != nil {
		return "", fmt.Errorf("read the history of run %s: %w", id, err)
	}
	return first.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(), nil
}
