package deliveries_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
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
		g, err := c.Enqueue(t.Context(), session, activities.EnqueueInput{ID: "b-1", Jobs: []delivery.Job{{ID: "j", State: delivery.JobReady}}})
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

func TestAPersonsCloseIsInTheAudit(t *testing.T) {
	store, fold, at := ledger.In(t.TempDir()), new(delivery.Snapshot), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	batch := delivery.Batch{ID: "b-1", Thread: "t-1", Jobs: []delivery.Job{{ID: "j", State: delivery.JobReady}}}
	for n, p := range []delivery.Payload{
		delivery.Opened{Thread: "t-1"}, delivery.Enqueued{Batch: batch}, delivery.Closed{Batch: "b-1", Reason: delivery.Unconfirmed, By: "ann", Note: "not there"},
	} {
		e := fold.Event(at, p)
		if _, err := fold.Apply(e); err != nil {
			t.Fatal(err)
		}
		if err := store.Record(t.Context(), session, []ledger.Entry{{N: n + 1, Event: &e}}); err != nil {
			t.Fatal(err)
		}
	}
	_, audit, err := deliveries.Recorded(store, session)
	if err != nil || len(audit) != 1 {
		t.Fatalf("got %+v, %v, want one line", audit, err)
	}
	if l := audit[0]; l.Decision != "closed" || l.Batch != "b-1" || l.Reason != "operator_closed_unconfirmed by ann: not there" || !l.TS.Equal(at) {
		t.Errorf("got %+v", l)
	}
}
