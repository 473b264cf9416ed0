package activities

import (
	"context"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// AgentsResult lists the agents that can work for this worker.
type AgentsResult struct {
	Agents []agent.Manifest `json:"agents"`
}

// Agents looks for the agents on this machine. A second call looks again.
func (a *Activities) Agents(ctx context.Context) (AgentsResult, error) {
	return AgentsResult{Agents: a.survey(ctx)}, nil
}
