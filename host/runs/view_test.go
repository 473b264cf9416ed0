package runs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
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

// forgetful is a Temporal that knows no workflow.
type forgetful struct{ client.Client }

func (forgetful) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	return nil, serviceerror.NewNotFound("no such workflow")
}

func (forgetful) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return nil, serviceerror.NewNotFound("no such workflow")
}

func (forgetful) DescribeWorkflow(context.Context, string, string) (*client.WorkflowExecutionDescription, error) {
	return nil, serviceerror.NewNotFound("no such workflow")
}

// TestARunThatOnlyItsRecordKnows asks about runs that the engine has forgotten.
func TestARunThatOnlyItsRecordKnows(t *testing.T) {
	in := run.Input{RunID: "r", Goal: "x", Policy: run.Always, Tools: run.AskTools, Sandbox: run.SandboxOff, Repository: run.Repository{Path: "/r", Base: "c"}, Providers: run.Providers{Planner: "replay:/a", Developer: "replay:/a", Fixer: "replay:/a"}}
	s := run.New(in)
	var events []run.Event
	record := func(p run.Payload) {
		e := s.Event(time.Unix(int64(len(events)), 0).UTC(), p)
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	record(run.RunCreated{Input: in, Branch: "ratchet/r", Format: run.Format})
	c := runs.New(forgetful{}, "q")
	c.RunsDir = recordOf(t, events)
	if _, err := c.Facts(t.Context(), "r"); !errors.As(err, new(*runs.NotFoundError)) {
		t.Errorf("a run that is not over: got %v, want that it is not found", err)
	}
	record(run.RunCanceled{Reason: "enough"})
	c.RunsDir = recordOf(t, events)
	facts, err := c.Facts(t.Context(), "r")
	if err != nil || facts.Branch != "ratchet/r" {
		t.Errorf("got %+v, %v, want the facts of the record", facts, err)
	}
	if state, err := c.State(t.Context(), "r"); err != nil || state.Status != run.Canceled {
		t.Errorf("got %+v, %v, want that it is canceled", state, err)
	}
	if p, err := c.Pending(t.Context(), "r"); err != nil || p.Approval != nil || p.Question != nil {
		t.Errorf("got %+v, %v, want that it waits for nothing", p, err)
	}
	for what, err := range map[string]error{"note": c.Note(t.Context(), "r", run.Note{Text: "x"}), "cancel": c.Cancel(t.Context(), "r")} {
		if !errors.Is(err, runs.ErrOver) || !strings.Contains(err.Error(), "canceled") {
			t.Errorf("%s: got %v, want that the run is over and canceled", what, err)
		}
	}
	if got, err := c.Events(t.Context(), "r", ""); err != nil || len(got) != 2 {
		t.Errorf("got %+v, %v, want the events of the record", got, err)
	}
}
