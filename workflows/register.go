package workflows

import (
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/activities"
)

// Register registers the workflows and activities of runs with a worker.
func Register(w worker.Registry, a *activities.Activities) {
	w.RegisterWorkflow(Run)
	w.RegisterActivity(a)
}
