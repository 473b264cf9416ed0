package workflows

import (
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/activities"
)

// Register gives a worker all that runs are made of, and Agents.
func Register(w worker.Registry, a *activities.Activities) {
	w.RegisterWorkflow(Run)
	w.RegisterWorkflow(Agents)
	w.RegisterActivity(a)
}
