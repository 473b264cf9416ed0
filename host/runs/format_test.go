package runs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/workflows"
)

// TestARunOfAnotherBuildIsRefusedAndStaysAsItIs has this build's worker take over a run that another build has begun. The
// client tells the worker's reason, and the run can end with a worker of its own build.
func TestARunOfAnotherBuildIsRefusedAndStaysAsItIs(t *testing.T) {
	e := temporaltest.Shared(t)
	begun := func(ctx workflow.Context, _ any) (string, error) {
		err := workflow.SetQueryHandler(ctx, workflows.StateQuery, func() (run.State, error) { return run.State{Status: run.Running}, nil })
		workflow.GetSignalChannel(ctx, "end").Receive(ctx, nil)
		return "ended", err
	}
	old := func() (stop func()) {
		return e.Serve(t, "queue", func(r worker.Registry) { r.RegisterWorkflowWithOptions(begun, workflow.RegisterOptions{Name: "Run"}) })
	}
	stop := old()
	wr, err := e.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: run.ID("r1").WorkflowID(), TaskQueue: "queue", WorkflowTaskTimeout: time.Second}, "Run", map[string]int{"format": 99})
	if err != nil {
		t.Fatal(err)
	}
	c := runs.New(e.Client, "queue")
	eventually.Holds(t, "the run has begun", func() bool { _, err := c.State(t.Context(), "r1"); return err == nil })
	stop()

	if err := e.Client.SignalWorkflow(t.Context(), wr.GetID(), "", "end", nil); err != nil {
		t.Fatal(err)
	}
	// A worker that dies with the first task: the history has no failure of the tries after it.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := e.Client.WorkflowService().PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
		Namespace: client.DefaultNamespace, TaskQueue: &taskqueue.TaskQueue{Name: "queue"}, Identity: "dies",
	}); err != nil {
		t.Fatal(err)
	}
	stop = e.Serve(t, "queue", func(r worker.Registry) { r.RegisterWorkflow(workflows.Run) })
	eventually.Holds(t, "the reason is told", func() bool {
		_, err = c.State(t.Context(), "r1")
		return err != nil && strings.Contains(err.Error(), "another build of Ratchet started this workflow") && !strings.Contains(err.Error(), "\n")
	})
	t.Log(err)
	stop()

	stop = old()
	defer stop()
	var got string
	if err := wr.Get(t.Context(), &got); err != nil || got != "ended" {
		t.Errorf("with a worker of its build it ends with %q, %v", got, err)
	}
}
