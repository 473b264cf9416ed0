package runs_test

import (
	"context"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// answering is an engine whose worker answers queries.
type answering struct {
	engine
	answers map[string]answer
}

func (a *answering) QueryWorkflow(_ context.Context, _, _, name string, _ ...any) (converter.EncodedValue, error) {
	return a.answers[name], nil
}

func TestAViewOfARunOnTheEngine(t *testing.T) {
	const id run.ID = "20260612T090000-0a1b2c"
	e := &answering{answers: map[string]answer{
		workflows.StateQuery: `{"runId":"20260612T090000-0a1b2c","status":"awaiting_input"}`, workflows.FactsQuery: `{"branch":"b","name":"slug#1"}`,
		workflows.PendingQuery: `{"status":"awaiting_input","question":{"questionId":"q-1","question":"which?"}}`,
	}}
	e.add(t, id.WorkflowID(), run.Running, enums.WORKFLOW_EXECUTION_STATUS_RUNNING)
	c := runs.New(e, "q")
	c.RunsDir = t.TempDir()
	v, err := c.View(t.Context(), id)
	if err != nil || v.From != runs.FromWorkflow || !v.Open || v.Facts.Branch != "b" || v.Pending == nil || v.Pending.Question == nil {
		t.Fatalf("got %+v, %v, want the view of an open run that asks", v, err)
	}
	if n := v.Needs(); !n.Waits || n.Name != "slug#1" || n.RunID != id {
		t.Errorf("got %+v, want that it needs an answer", n)
	}
	if _, err := c.View(t.Context(), "20260612T090000-ffffff"); err == nil {
		t.Error("got a view of a run that nobody knows")
	}
}
