package engine_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/query/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

const word = "word"

// waiter returns what it is told.
func waiter(ctx workflow.Context) (string, error) {
	var said string
	workflow.GetSignalChannel(ctx, word).Receive(ctx, &said)
	return said, nil
}

// patient runs an activity that never sends a heartbeat, until the activity is cancelled.
func patient(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Hour,
		WaitForCancellation: true,
	})
	return workflow.ExecuteActivity(ctx, holder).Get(ctx, nil)
}

func holder(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func dial(t *testing.T, e *engine.Engine) client.Client {
	t.Helper()
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Engine: e.Address, Key: e.Key, Open: e.Open, API: e.API})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func work(t *testing.T, c client.Client) {
	t.Helper()
	w := worker.New(c, temporalclient.TaskQueue, temporalclient.WorkerOptions(""))
	w.RegisterWorkflow(waiter)
	w.RegisterWorkflow(patient)
	w.RegisterActivity(holder)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
}

func TestWorkflowSurvivesAKilledEngine(t *testing.T) {
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	c := dial(t, e)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID:        "waiter",
		TaskQueue: temporalclient.TaskQueue,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			attribute.Status().ValueSet("running"), attribute.Iteration().ValueSet(1)),
	}, waiter)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SignalWorkflow(t.Context(), run.GetID(), "", word, "ratchet"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(e.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-e.Done()

	e = start(t, engine.Options{DB: e.DB})
	c = dial(t, e)
	work(t, c)
	var said string
	if err := c.GetWorkflow(t.Context(), run.GetID(), run.GetRunID()).Get(t.Context(), &said); err != nil || said != "ratchet" {
		t.Errorf("result %q, %v", said, err)
	}
}

// TestErrorsOfTheEngineAreProved: one without a proof would be taken for a stranger's.
func TestErrorsOfTheEngineAreProved(t *testing.T) {
	c := dial(t, temporaltest.Shared(t).Engine)
	_, err := temporalclient.Describe(t.Context(), c, "none", "")
	if _, ok := errors.AsType[*serviceerror.NotFound](err); !ok {
		t.Errorf("a workflow that is not there: %v", err)
	}
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: strings.Repeat("x", 2000), TaskQueue: "q"}, waiter)
	if _, ok := errors.AsType[*serviceerror.InvalidArgument](err); !ok {
		t.Errorf("an id that is too long: %v", err)
	}
	_, err = c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "none"})
	if _, ok := errors.AsType[*serviceerror.NamespaceNotFound](err); !ok {
		t.Errorf("a namespace that is not there: %v", err)
	}
	_, err = c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "None = 1"})
	if _, ok := errors.AsType[*serviceerror.InvalidArgument](err); !ok {
		t.Errorf("a query that cannot be read: %v", err)
	}
}

// TestManyAskABusyWorkflow has several queries wait for the task of a workflow that is under way.
func TestManyAskABusyWorkflow(t *testing.T) {
	t.Parallel()
	c := dial(t, start(t, engine.Options{DB: newDB(t)}))
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: temporalclient.TaskQueue}, waiter)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const questions = 20
	answers := make(chan error, questions)
	for range questions {
		go func() { // without the retries of the SDK's client
			_, err := c.WorkflowService().QueryWorkflow(ctx, &workflowservice.QueryWorkflowRequest{
				Namespace: client.DefaultNamespace, Execution: &common.WorkflowExecution{WorkflowId: run.GetID()},
				Query: &query.WorkflowQuery{QueryType: client.QueryTypeStackTrace},
			})
			answers <- err
		}()
	}
	work(t, c)
	for range questions {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

func TestCancelReachesAnActivityWithoutHeartbeats(t *testing.T) {
	t.Parallel()
	c := dial(t, temporaltest.Shared(t).Engine)
	work(t, c)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: temporalclient.TaskQueue}, patient)
	if err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the activity runs", func() bool {
		d, err := temporalclient.Describe(t.Context(), c, run.GetID(), run.GetRunID())
		return err == nil && len(d.GetPendingActivities()) == 1 &&
			d.GetPendingActivities()[0].GetState() == enums.PENDING_ACTIVITY_STATE_STARTED
	})
	asked := time.Now()
	if err := c.CancelWorkflow(t.Context(), run.GetID(), ""); err != nil {
		t.Fatal(err)
	}
	if err := run.Get(t.Context(), nil); !temporal.IsCanceledError(err) {
		t.Errorf("result %v", err)
	}
	t.Logf("cancelled within %v", time.Since(asked))
}
