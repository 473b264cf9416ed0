package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/workflows/page"
)

// Agents asks a worker which agents it has, and shows them in the Web UI.
func Agents(ctx workflow.Context) (activities.AgentsResult, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, ScheduleToStartTimeout: time.Minute, Summary: "Look for agents",
	})
	var out activities.AgentsResult
	err := workflow.ExecuteActivity(ctx, acts.Agents).Get(ctx, &out)
	workflow.SetCurrentDetails(ctx, page.OfAgents(out.Agents))
	return out, err
}
