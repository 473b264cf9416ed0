package runs

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	activities "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/workflows/forge"
)

// trouble is how often a waiting client looks why the pull request is not there yet.
const trouble = 2 * time.Second

// PullRequest has the worker push the branch of a run and open or update its pull request, and waits for the result. If
// another call is in progress, it waits for that one. If a step fails and is retried, tell gets each reason once. If ctx
// ends, the worker continues.
func (c *Client) PullRequest(ctx context.Context, in activities.Target, tell func(string)) (out forge.Result, err error) {
	if err := c.mayDecide(); err != nil {
		return out, err
	}
	c = c.onHostOf(ctx, in.RunID)
	if served, err := c.Served(ctx); err == nil && !served {
		return out, ErrNoWorker
	}
	wr, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: forge.WorkflowID(in.RunID), TaskQueue: c.queue, StaticSummary: "Pull request of run " + string(in.RunID),
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, forge.PullRequest, in)
	if err != nil {
		return out, err
	}
	done := make(chan error, 1)
	go func() { done <- wr.Get(ctx, &out) }()
	ticks := time.NewTicker(trouble)
	defer ticks.Stop()
	last := ""
	for {
		select {
		case err := <-done:
			if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
				return out, errors.New(app.Message())
			}
			return out, err
		case <-ticks.C:
		}
		d, err := temporalclient.Describe(ctx, c.temporal, wr.GetID(), wr.GetRunID())
		if err != nil {
			continue
		}
		for _, a := range d.GetPendingActivities() {
			if text := a.GetLastFailure().GetMessage(); text != "" && text != last {
				last = text
				tell(text)
			}
		}
	}
}
