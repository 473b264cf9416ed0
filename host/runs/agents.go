package runs

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/workflows"
)

// Agents asks a worker of the task queue which agents it has. The page of the asking workflow
// in the Web UI shows them too. The error is ErrNoWorker when no worker serves the queue.
func (c *Client) Agents(ctx context.Context) ([]agent.Manifest, error) {
	if served, err := c.Served(ctx); err == nil && !served {
		return nil, ErrNoWorker
	}
	wr, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "agents-" + uuid.NewString(), TaskQueue: c.queue, StaticSummary: "Which agents are there?",
	}, workflows.Agents)
	if err != nil {
		return nil, fmt.Errorf("ask for the agents: %w", err)
	}
	var out activities.AgentsResult
	if err := wr.Get(ctx, &out); err != nil {
		return nil, fmt.Errorf("ask for the agents: %w", err)
	}
	return out.Agents, nil
}

// probePatience bounds the wait for the answer about providers. A worker needs less, unless it is too busy
// or too old to answer.
const probePatience = 18 * time.Second

// Probe asks a worker of the task queue whether the providers of a run that is about to start can work
// there. It returns one line for each that cannot. The error is ErrNoWorker when no worker serves the queue.
func (c *Client) Probe(ctx context.Context, in activities.ProbeInput) ([]string, error) {
	if served, err := c.Served(ctx); err == nil && !served {
		return nil, ErrNoWorker
	}
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	wr, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "providers-" + uuid.NewString(), TaskQueue: c.queue, StaticSummary: "Can the providers work?",
		WorkflowExecutionTimeout: probePatience,
	}, workflows.Probe, in)
	var out activities.ProbeResult
	if err == nil {
		err = wr.Get(ctx, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the worker for the providers: %w", err)
	}
	return out.Problems, nil
}
