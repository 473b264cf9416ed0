package runs_test

import (
	"errors"
	"slices"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

// A run that an operator has paused in the Web UI is open and waits as before. The engine answers nothing else of it, and
// says so.
func TestAPausedRunIsOpenAndSaysThatItIsPaused(t *testing.T) {
	e := temporaltest.StartEngine(t, nil)
	id := run.ID("paused")
	for _, of := range []run.ID{id, "goes-on"} {
		if _, err := e.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: of.WorkflowID(), TaskQueue: "nobody",
			TypedSearchAttributes: temporal.NewSearchAttributes(attribute.Status().ValueSet(string(run.AwaitingApproval))),
		}, "Run"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Client.WorkflowService().PauseWorkflowExecution(t.Context(), &workflowservice.PauseWorkflowExecutionRequest{
		Namespace: client.DefaultNamespace, WorkflowId: id.WorkflowID(), RequestId: "r", Reason: "lunch",
	}); err != nil {
		t.Fatal(err)
	}
	c := runs.New(e.Client, "nobody")
	list := func(f runs.Filter) (ids []run.ID) {
		found, err := c.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range found {
			ids = append(ids, l.ID)
		}
		return ids
	}
	eventually.Holds(t, "the visibility knows both, one as paused", func() bool {
		paused, err := e.Client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "ExecutionStatus = 'Paused'"})
		return err == nil && paused.GetCount() == 1 && len(list(runs.Filter{})) == 2
	})
	if err := c.Decide(t.Context(), id, run.Decision{}); !errors.Is(err, runs.ErrPaused) {
		t.Errorf("a decision: %v", err)
	}
	if _, err := c.Pending(t.Context(), id); !errors.Is(err, runs.ErrPaused) {
		t.Errorf("a question: %v", err)
	}
	if open := list(runs.Filter{Open: true}); !slices.Contains(open, id) || len(open) != 2 {
		t.Errorf("open: %v", open)
	}
	if over := list(runs.Filter{Over: true}); len(over) != 0 {
		t.Errorf("over: %v", over)
	}
	waiting, err := c.Waiting(t.Context())
	if err != nil || len(waiting) != 2 {
		t.Errorf("waiting: %+v, %v", waiting, err)
	}
}
