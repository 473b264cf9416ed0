package host

import (
	"context"

	"go.temporal.io/sdk/client"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/workflows/forge"
)

// ticketed starts the runs of tickets, as schedules do, and the watches of repositories.
type ticketed struct {
	scheduled
	temporal client.Client
	queue    string
}

// Watch implements activities/forge.Engine.
func (t ticketed) Watch(ctx context.Context, e forgeacts.WatchEntry) error {
	o := client.StartWorkflowOptions{TaskQueue: t.queue, StaticSummary: "Watch of " + e.Repository.String()}
	_, err := t.temporal.SignalWithStartWorkflow(ctx, forge.WatchID(e.Repository, t.queue), forge.JoinSignal, e, o, forge.Watch, forge.WatchInput{})
	return err
}
