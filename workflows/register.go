package workflows

import (
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/activities"
)

// Register registers the workflows and activities of runs and dispatches with a worker. A worker
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
