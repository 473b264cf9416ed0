package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/workflows"
)

// chain is a run that began a new history several times: execution n, from 1,
// knows the events that it made and no others. Those up to gone are deleted.
type chain struct {
	client.Client
	events []int // that each execution made
	gone   int
}

func made(from, to int) (events []run.Event) {
	for n := from; n <= to; n++ {
		p := run.PhaseCompleted{Result: run.Pass}
		events = append(events, run.Event{ID: run.EventID(n), RunID: "r", TS: time.Unix(int64(n), 0).UTC(), Type: p.Type(), Payload: p})
	}
	return events
}

func (c *chain) latest() string { return strconv.Itoa(len(c.events)) }

func (c *chain) number(execution string) (int, error) {
	if execution == "" {
		execution = c.latest()
	}
	n, err := strconv.Atoi(execution)
	if err != nil || n <= c.gone {
		return 0, serviceerror.NewNotFound("past its retention")
	}
	return n, nil
}

func (c *chain) QueryWorkflow(_ context.Context, _, execution, _ string, args ...any) (converter.EncodedValue, error) {
	n, err := c.number(execution)
	if err != nil {
		return nil, err
	}
	first := 1
	for _, k := range c.events[:n-1] {
		first += k
	}
	after := run.Event{ID: args[0].(workflows.EventsInput).After}.Seq()
	last := first + c.events[n-1] - 1
	p, err := converter.GetDefaultDataConverter().ToPayloads(workflows.EventsResult{Events: made(max(first, after+1), last), First: first})
	return client.NewValue(p), err
}

func (c *chain) DescribeWorkflow(ctx context.Context, id, execution string) (*client.WorkflowExecutionDescription, error) {
	return temporaltest.Described(c.describe(ctx, id, execution))
}

func (c *chain) describe(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{WorkflowId: "run-r", RunId: c.latest()}, Type: &common.WorkflowType{Name: "Run"},
	}}, nil
}

func (c *chain) GetWorkflowHistory(_ context.Context, _, execution string, _ bool, _ enums.HistoryEventFilterType) client.HistoryEventIterator {
	n, err := c.number(execution)
	started := &history.WorkflowExecutionStartedEventAttributes{}
	if n > 1 {
		started.ContinuedExecutionRunId = strconv.Itoa(n - 1)
	}
	return &once{event: &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: started,
	}}, err: err}
}

type once struct {
	event *history.HistoryEvent
	err   error
}

func (o *once) HasNext() bool                        { return true }
func (o *once) Next() (*history.HistoryEvent, error) { return o.event, o.err }

// recordOf returns a runs directory whose run r has the events.
func recordOf(t *testing.T, events []run.Event) string {
	t.Helper()
	runsDir := t.TempDir()
	dir := filepath.Join(runsDir, "workflows", "r")
	var log []byte
	for _, e := range events {
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		log = append(append(log, b...), '\n')
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "events.ndjson"), log, 0o600)); err != nil {
		t.Fatal(err)
	}
	return runsDir
}

func TestEventsOfALongRun(t *testing.T) {
	for _, tt := range []struct {
		name     string
		events   []int
		gone     int
		after    int
		recorded int // events on disk; zero: there is no record here
		from     int // the first that comes
	}{
		{name: "one history", events: []int{5}, from: 1},
		{name: "one history, from the middle", events: []int{5}, after: 3, from: 4},
		{name: "nothing new", events: []int{3, 4}, after: 7, from: 8},
		{name: "three histories", events: []int{3, 4, 2}, from: 1},
		{name: "three histories, from within the second", events: []int{3, 4, 2}, after: 5, from: 6},
		{name: "three histories, from the end of the second", events: []int{3, 4, 2}, after: 7, from: 8},
		{name: "a new history that has no events yet", events: []int{3, 0}, from: 1},
		{name: "the first is gone, and there is no record", events: []int{3, 4, 2}, gone: 1, from: 4},
		{name: "the first is gone, and the record has it", events: []int{3, 4, 2}, gone: 1, recorded: 9, from: 1},
		{name: "the first is gone, and the record is behind", events: []int{3, 4, 2}, gone: 1, after: 1, recorded: 5, from: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := runs.New(&chain{events: tt.events, gone: tt.gone}, "queue")
			if tt.recorded > 0 {
				c.RunsDir = recordOf(t, made(1, tt.recorded))
			}
			after := ""
			if tt.after > 0 {
				after = run.EventID(tt.after)
			}
			got, err := c.Events(t.Context(), "r", after)
			if err != nil {
				t.Fatal(err)
			}
			total := 0
			for _, k := range tt.events {
				total += k
			}
			if len(got) != total-tt.from+1 {
				t.Fatalf("%d events, want %d", len(got), total-tt.from+1)
			}
			for i, e := range got {
				if e.Seq() != tt.from+i {
					t.Errorf("event %d is %s", i, e.ID)
				}
			}
		})
	}
}
