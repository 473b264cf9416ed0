package deliveries_test

import (
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/temporaltest"
	"github.com/ratchet-dev/ratchet/starter/internal/deliveries"
	deliveryflow "github.com/ratchet-dev/ratchet/workflows/delivery"
)

const session = "s-1"

// Asleep is the workflow of a session whose agent never starts. Without Step, nothing else of its host is called.
func Asleep(ctx workflow.Context) error {
	if _, err := deliveryflow.New(ctx, deliveryflow.Settings{Session: session}, host{}, deliveryflow.State{}); err != nil {
		return err
	}
	return workflow.Await(ctx, func() bool { return false })
}

type host struct{ deliveryflow.Host }

func (host) Touch() {}

// The engine answers an update that it knows with the receipt of the first one, whatever has become of the batch since.
func TestABatchThatHasEndedIsNotSaidToBeQueued(t *testing.T) {
	e := temporaltest.StartEngine(t, nil)
	e.Serve(t, "q", func(w worker.Registry) { w.RegisterWorkflow(Asleep) })
	o := client.StartWorkflowOptions{ID: activities.WorkflowID(session), TaskQueue: "q"}
	if _, err := e.Client.ExecuteWorkflow(t.Context(), o, Asleep); err != nil {
		t.Fatal(err)
	}
	c := deliveries.Client{Temporal: e.Client}
	give := func() deliveries.Given {
		t.Helper()
		g, err := c.Enqueue(t.Context(), session, activities.Parcel{ID: "b-1", Jobs: []delivery.Job{{ID: "j", State: delivery.JobReady}}})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	if g := give(); g.Batch != "b-1" || g.Waiting != 1 || g.Close != "" {
		t.Errorf("given %+v", g)
	}
	if _, err := c.Close(t.Context(), session, deliveryflow.Closing{Reason: delivery.Cancelled, By: "ann", Note: "not needed"}); err != nil {
		t.Fatal(err)
	}
	if g := give(); g.Batch != "b-1" || g.Waiting != 0 || g.Close != delivery.Cancelled || g.Note != "not needed" {
		t.Errorf("given again %+v", g)
	}
}
