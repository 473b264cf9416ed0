package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/workflows"
)

// Agents asks a worker of the task queue which agents it has. The page of the asking workflow
// in the Web UI shows them too. The error is ErrNoWorker when no worker serves the queue.
func (c *Client) Agents(ctx context.Context) ([]agent.Manifest, error) {
	var out activities.AgentsResult
	err := c.askWorker(ctx, "for the agents", client.StartWorkflowOptions{
		ID: "agents-" + uuid.NewString(), StaticSummary: "Which agents are there?",
	}, &out, workflows.Agents)
	return out.Agents, err
}

// probePatience bounds the wait for the answer about providers. A worker needs less, unless it is too busy to answer.
const probePatience = 45 * time.Second

// Probe asks a worker of the task queue whether the providers of a run that is about to start can work
// there, and how it tells people of runs. The error is ErrNoWorker when no worker serves the queue.
func (c *Client) Probe(ctx context.Context, in activities.ProbeInput) (activities.ProbeResult, error) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	var out activities.ProbeResult
	err := c.askWorker(ctx, "for the providers", client.StartWorkflowOptions{
		ID: "providers-" + uuid.NewString(), StaticSummary: "Can the providers work?",
		WorkflowExecutionTimeout: probePatience,
	}, &out, workflows.Probe, in)
	return out, err
}

// Mirror has a worker of the task queue fetch a commit from a server into the mirror of its host. If ctx ends, so does the
// fetch. The error is ErrNoWorker when no worker serves the queue.
func (c *Client) Mirror(ctx context.Context, in activities.MirrorInput) (out activities.MirrorResult, err error) {
	id := "mirror-" + uuid.NewString()
	err = c.askWorker(ctx, "for the repository", client.StartWorkflowOptions{ID: id, StaticSummary: "Fetch " + in.URL}, &out, workflows.Mirror, in)
	if ctx.Err() != nil {
		ending, stop := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer stop()
		return out, errors.Join(context.Cause(ctx), c.temporal.CancelWorkflow(ending, id, ""))
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return out, errors.New(app.Message())
	}
	return out, err
}

// startPatience bounds the wait for a worker that is just starting.
const startPatience = 3 * time.Second

// askWorker reads the result of a workflow that asks a worker of the task queue into out. It returns
// ErrNoWorker itself when no worker serves the queue; any other error names the request.
func (c *Client) askWorker(ctx context.Context, what string, how client.StartWorkflowOptions, out, workflow any, args ...any) error {
	if served, err := c.AwaitServed(ctx, startPatience); err == nil && !served {
		return ErrNoWorker
	}
	how.TaskQueue = c.queue
	wr, err := c.temporal.ExecuteWorkflow(ctx, how, workflow, args...)
	if err == nil {
		err = wr.Get(ctx, out)
	}
	if err != nil {
		return fmt.Errorf("ask the worker %s: %w", what, err)
	}
	return nil
}
