package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/agent"
)

// Agents asks a worker which agents it has, and shows them in the Web UI.
func Agents(ctx workflow.Context) (activities.AgentsResult, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, ScheduleToStartTimeout: time.Minute, Summary: "Look for agents",
	})
	var out activities.AgentsResult
	err := workflow.ExecuteActivity(ctx, acts.Agents).Get(ctx, &out)
	workflow.SetCurrentDetails(ctx, agentDetails(out.Agents))
	return out, err
}

func agentDetails(list []agent.Manifest) string {
	var m markdown
	m.printf("## Agents of this worker\n\n")
	for _, a := range list {
		if !a.Installed {
			m.printf("- **%s** is not available: %s\n", text(a.Label), text(a.Unavailable))
			continue
		}
		m.printf("- **%s** %s, %s", text(a.Label), text(a.Version), code(a.Binary))
		if a.StatusReason != "" {
			m.printf(" (%s)", text(a.StatusReason))
		}
		m.printf("\n")
	}
	return m.String()
}
