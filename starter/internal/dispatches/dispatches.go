// Package dispatches sends messages to the sessions of this host, by the workflows that serve them.
package dispatches

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	dispatchflow "github.com/ratchet-dev/ratchet/workflows/dispatch"
)

// Client dispatches through one Temporal server.
type Client struct {
	Temporal client.Client
	Queue    string // the task queue of the host whose registry has the target
	Taken    func() // called when a workflow has accepted the message; may be nil
}

// again is the pause before Dispatch sends a message to the next workflow of a target. It
// applies when the target's last workflow was just ending.
const again = 200 * time.Millisecond

// Dispatch sends the message to the target's workflow and waits for the result. It starts
// the workflow if there is none. The error is a *CutOffError when ctx or the server ended
// and the result cannot be learned here. A message that is sent twice is one dispatch.
func (c Client) Dispatch(ctx context.Context, l dispatch.Message) (res dispatch.Result, err error) {
	taken, err := c.acceptMessage(ctx, l)
	if err == nil && c.Taken != nil {
		c.Taken()
	}
	if err == nil {
		err = taken.Get(ctx, &res)
	}
	switch {
	case err == nil:
		return res, nil
	case isAnswer(err):
		return res, explainError(l.Request.Target, err)
	case ctx.Err() != nil:
		err = ctx.Err() // the Temporal client words it differently
	}
	return res, &CutOffError{Workflow: dispatchflow.WorkflowID(l.Request.Target), Taken: taken != nil, Over: endedWithMessage(err), Cause: err}
}

// CutOffError reports a dispatch whose result cannot be learned here. The message may have
// been delivered, or may still be delivered.
type CutOffError struct {
	Workflow string // id of the workflow that has the dispatch
	Taken    bool   // the workflow took the message; false: unknown
	Over     bool   // the workflow ended with the message and answers no more
	Cause    error
}

func (e *CutOffError) Error() string {
	if e.Over {
		return fmt.Sprintf("the workflow %s ended too early: the message may have been delivered", e.Workflow)
	}
	if e.Taken {
		return fmt.Sprintf("%v: the message is still being sent, in the workflow %s", e.Cause, e.Workflow)
	}
	return fmt.Sprintf("%v: if the message was accepted, it is being sent in the workflow %s", e.Cause, e.Workflow)
}

func (e *CutOffError) Unwrap() error { return e.Cause }

// isAnswer reports whether an error is the workflow's answer or a refusal of the request. In
// both cases the message was not delivered, or the answer says that it was. A workflow that
// ended with the message has not answered.
func isAnswer(err error) bool {
	if _, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return !endedWithMessage(err)
	}
	_, step := errors.AsType[*temporal.ActivityError](err)
	_, canceled := errors.AsType[*temporal.CanceledError](err)
	_, invalid := errors.AsType[*serviceerror.InvalidArgument](err)
	_, denied := errors.AsType[*serviceerror.PermissionDenied](err)
	_, nowhere := errors.AsType[*serviceerror.NamespaceNotFound](err)
	return step || canceled || invalid || denied || nowhere
}

// endedWithMessage reports whether a workflow ended with a message that it had accepted.
func endedWithMessage(err error) bool {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && app.Type() == "AcceptedUpdateCompletedWorkflow"
}

// acceptMessage sends the message and returns when the target's workflow has accepted it.
func (c Client) acceptMessage(ctx context.Context, l dispatch.Message) (client.WorkflowUpdateHandle, error) {
	for {
		start := c.Temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
			ID: dispatchflow.WorkflowID(l.Request.Target), TaskQueue: c.Queue, StaticSummary: "Dispatches to " + string(l.Request.Target),
			WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		}, dispatchflow.Dispatch, dispatchflow.Input{Target: l.Request.Target})
		taken, err := c.Temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: start,
			UpdateOptions: client.UpdateWorkflowOptions{
				UpdateID: l.ID, UpdateName: dispatchflow.Update, Args: []any{l}, WaitForStage: client.WorkflowUpdateStageAccepted,
			},
		})
		if err == nil {
			return taken, nil
		}
		if !endedBeforeMessage(err) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(again):
		}
	}
}

// endedBeforeMessage reports whether the workflow ended, or lost its workers, before it accepted
// the message.
func endedBeforeMessage(err error) bool {
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	_, busy := errors.AsType[*serviceerror.WorkflowNotReady](err)
	return gone || busy
}

func explainError(to dispatch.GardenID, err error) error {
	if err == nil {
		return nil
	}
	if step, ok := errors.AsType[*temporal.ActivityError](err); ok {
		err = step.Unwrap() // the text of the ActivityError repeats its cause
	}
	if said, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		err = errors.New(said.Message())
	}
	return fmt.Errorf("dispatch to %s: %w", to, err)
}

func Registry(c *factory.Factory) (citizen.Dirs, error) { return citizen.FindDirs(c.LookupEnv) }

// Caller returns this process as the caller whose identity others look up.
func Caller(c *factory.Factory) citizen.Caller {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	return citizen.Caller{Lookup: c.LookupEnv, CWD: dir, Parent: os.Getppid(), Now: c.Now()}
}

// WorkerStart is the time that a worker which has just been started may take until the engine
// knows it.
const WorkerStart = 3 * time.Second

// Post sends the message and waits for the result. It refuses when no worker serves
// dispatches, because the message would wait for ever. taken is called when a workflow has
// accepted the message; it may be nil.
func Post(ctx context.Context, c *factory.Factory, t client.Client, l dispatch.Message, taken func()) (dispatch.Result, error) {
	if served, err := c.ClientOf(t).AwaitServed(ctx, WorkerStart); err == nil && !served {
		return dispatch.Result{}, runs.ErrNoWorker
	}
	return Client{Temporal: t, Queue: c.Queue, Taken: taken}.Dispatch(ctx, l)
}
