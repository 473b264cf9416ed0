package runs

import (
	"context"
	"fmt"

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
