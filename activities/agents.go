package activities

import (
	"context"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// AgentsResult says what this worker can have work for it.
type AgentsResult struct {
	Agents []agent.Manifest `json:"agents"`
}

// Agents looks for the agents on this machine. A second call looks again.
func (a *Activities) Agents(ctx context.Context) (AgentsResult, error) {
	return AgentsResult{Agents: a.survey(ctx)}, nil
}
