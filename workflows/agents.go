package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/workflows/page"
)

// probeLimit bounds the question of Probe, the wait for a worker included.
const probeLimit = 15 * time.Second

// Probe asks a worker whether the providers of a run that is about to start can work there.
func Probe(ctx workflow.Context, in activities.ProbeInput) (activities.ProbeResult, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{ScheduleToCloseTimeout: probeLimit, Summary: "Look for the providers"})
	var out activities.ProbeResult
	err := workflow.ExecuteActivity(ctx, acts.Probe, in).Get(ctx, &out)
	return out, err
}

// Mirror has a worker fetch the commit that a run will begin at.
func Mirror(ctx workflow.Context, in activities.MirrorInput) (activities.MirrorResult, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 3 * time.Hour, HeartbeatTimeout: longHeartbeat, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second, MaximumAttempts: mirrorAttempts},
		Summary:     "Fetch " + in.URL,
	})
	var out activities.MirrorResult
	err := workflow.ExecuteActivity(ctx, acts.Mirror, in).Get(ctx, &out)
	return out, err
}

// mirrorAttempts bounds the attempts at a fetch that somebody waits for.
const mirrorAttempts = 4

// agentsLimit bounds the question of Agents with all its attempts: a survey starts programs that may hang.
const agentsLimit = 3 * time.Minute

// Agents asks a worker which agents it has, and shows them in the Web UI.
func Agents(ctx workflow.Context) (activities.AgentsResult, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, ScheduleToStartTimeout: time.Minute, ScheduleToCloseTimeout: agentsLimit, Summary: "Look for agents",
	})
	var out activities.AgentsResult
	err := workflow.ExecuteActivity(ctx, acts.Agents).Get(ctx, &out)
	workflow.SetCurrentDetails(ctx, page.OfAgents(out.Agents))
	return out, err
}
