// Package dispatches gives letters to the workflows that serve their targets.
package dispatches

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/workflows"
)

// Client dispatches through one Temporal server.
type Client struct {
	Temporal client.Client
	Queue    string // the task queue of the host whose registry has the target
}

// again is how soon a letter is given to the next workflow of a target whose
// last one was just ending.
const again = 200 * time.Millisecond

// Dispatch gives the letter to the target's workflow, which it starts where
// there is none, and waits for what becomes of it. When ctx ends first the
// dispatch goes on. A letter that is given twice is one dispatch while its
// workflow lives.
func (c Client) Dispatch(ctx context.Context, l activities.Letter) (dispatch.Result, error) {
	for {
		res, err := c.try(ctx, l)
		if !ending(err) {
			return res, explain(l.Request.Target, err)
		}
		select {
		case <-ctx.Done():
			return res, ctx.Err()
		case <-time.After(again):
		}
	}
}

func (c Client) try(ctx context.Context, l activities.Letter) (res dispatch.Result, err error) {
	start := c.Temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: workflows.DispatchWorkflowID(l.Request.Target), TaskQueue: c.Queue, StaticSummary: "Dispatches to " + string(l.Request.Target),
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, workflows.Dispatch, workflows.DispatchInput{Target: l.Request.Target})
	h, err := c.Temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: l.ID, UpdateName: workflows.DispatchMessage, Args: []any{l}, WaitForStage: client.WorkflowUpdateStageAccepted,
		},
	})
	if err == nil {
		err = h.Get(ctx, &res)
	}
	return res, err
}

// ending says whether the workflow ended before it took the letter.
func ending(err error) bool {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.Type() == "AcceptedUpdateCompletedWorkflow" {
		return false // it was taken: what became of it is not known
	}
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	_, busy := errors.AsType[*serviceerror.WorkflowNotReady](err)
	return gone || busy
}

func explain(to dispatch.GardenID, err error) error {
	if err == nil {
		return nil
	}
	if step, ok := errors.AsType[*temporal.ActivityError](err); ok {
		err = step.Unwrap() // what is around it repeats it
	}
	if said, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		err = errors.New(said.Message())
	}
	return fmt.Errorf("dispatch to %s: %w", to, err)
}
