package workflows

import (
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/activities"
)

// Register gives a worker all that runs and dispatches are made of. A worker
// without d serves no dispatches.
func Register(w worker.Registry, a *activities.Activities, d *activities.DispatchActivities) {
	w.RegisterWorkflow(Run)
	w.RegisterWorkflow(Agents)
	w.RegisterActivity(a)
	if d != nil {
		w.RegisterWorkflow(Dispatch)
		w.RegisterActivity(d)
	}
}
