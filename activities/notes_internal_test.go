package activities

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

// noteEngine has a run whose history grows by a note at every second look.
type noteEngine struct {
	client.Client
	t       *testing.T
	looks   int
	queries int
	silent  bool // the run's worker does not answer the first query
}

func (e *noteEngine) DescribeWorkflow(ctx context.Context, id, execution string) (*client.WorkflowExecutionDescription, error) {
	return temporaltest.Described(e.describe(ctx, id, execution))
}

func (e *noteEngine) describe(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	e.looks++
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{HistoryLength: int64(10 + e.looks/2)}}, nil
}

func (e *noteEngine) QueryWorkflow(_ context.Context, _, _, query string, _ ...any) (converter.EncodedValue, error) {
	if e.queries++; e.queries == 1 && e.silent {
		return nil, errors.New("no worker answers")
	}
	if query != NotesQuery {
		e.t.Errorf("the run is asked for %q", query)
	}
	list := slices.Repeat([]run.Note{{Text: "use a table"}}, e.looks/2)
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(list)
	return client.NewValue(payloads), err
}

func TestTheNotesOfARunAreWatched(t *testing.T) {
	e := &noteEngine{t: t, silent: true}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{temporaltest.WithClient(e)}})
	watch := func(ctx context.Context) (counts []int, err error) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		notes := watchNotes(ctx)
		for range 2 {
			select {
			case list := <-notes:
				counts = append(counts, len(list))
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return counts, nil
	}
	env.RegisterActivity(watch)
	value, err := env.ExecuteActivity(watch)
	if err != nil {
		t.Fatal(err)
	}
	var counts []int
	if err := value.Get(&counts); err != nil || !slices.Equal(counts, []int{1, 2}) {
		t.Errorf("%v notes came, %v", counts, err)
	}
	if e.queries > 4 || e.looks < 4 {
		t.Errorf("%d queries at %d looks: a run whose history has not grown is asked", e.queries, e.looks)
	}
}
