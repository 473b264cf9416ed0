package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
)

// desk is a worker with one session, whose thread it plays.
type desk struct {
	*testing.T
	agent.Session // nil: the parts that are not used
	runs          string
	unwatched     bool
	thread        agent.Thread
	readError     error
	turn          string
	sendError     error
	sent          []agent.Delivery
	recorded      func() bool // when a message is sent
	env           *testsuite.TestActivityEnvironment
}

func (d *desk) Find(session, process string) (agent.Session, bool) {
	if session != "s-1" || process != "1" {
		return nil, false
	}
	if d.unwatched {
		return plain{d}, true
	}
	return watched{d}, true
}

type plain struct{ *desk }

func (plain) ID() string { return "thread-1" }

type watched struct{ *desk }

func (watched) ID() string { return "thread-1" }

func (w watched) Thread(context.Context) (agent.Thread, error) { return w.thread, w.readError }

func (w watched) Deliver(_ context.Context, d agent.Delivery) (string, error) {
	if w.recorded != nil && !w.recorded() {
		w.Error("sent before it was recorded")
	}
	w.desk.sent = append(w.desk.sent, d)
	return w.turn, w.sendError
}

func (watched) Capabilities() delivery.Capabilities {
	return delivery.Capabilities{
		ThreadResume: true, TurnStart: true, CurrentStateSync: true, TurnCompleted: true, NegativeEnds: true,
		Steer: delivery.SteerProof{SameTurn: true, Reconciles: true, Ordered: true, Smoke: true, KeepsAnswers: true},
	}
}

func newDesk(t *testing.T, steer bool) *desk {
	d := &desk{T: t, runs: t.TempDir(), turn: "u-1", thread: agent.Thread{ID: "thread-1", Status: "idle", Allows: &delivery.Allows{}}}
	a, err := activities.New(activities.Config{Sessions: d, Ledger: ledger.In(d.runs), Steer: steer})
	if err != nil {
		t.Fatal(err)
	}
	var suite testsuite.WorkflowTestSuite
	d.env = suite.NewTestActivityEnvironment()
	d.env.RegisterActivity(a)
	return d
}

func call[R any](d *desk, name string, in any) (out R, kind string) {
	d.Helper()
	got, err := d.env.ExecuteActivity(name, in)
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return out, app.Type()
	}
	if err != nil {
		d.Fatal(err)
	}
	if err := got.Get(&out); err != nil {
		d.Fatal(err)
	}
	return out, ""
}

func (d *desk) entries() int {
	list, err := ledger.In(d.runs).Read("s-1")
	if err != nil {
		d.Fatal(err)
	}
	return len(list)
}

func attempt(kind delivery.RPCKind) activities.DeliverInput {
	b := delivery.Begun{Batch: "b-1", Generation: 1, RequestID: "r-1", Marker: "m-1", Kind: kind, Adapter: "codex", Session: "s-1", Epoch: 1}
	if kind == delivery.TurnSteer {
		b.Expected = "u-0"
	}
	e := delivery.Event{Seq: 1, TS: time.Unix(0, 0).UTC(), Type: delivery.BegunEvent, Payload: b}
	return activities.DeliverInput{Session: "s-1", Process: "1", Attempt: b, Text: "text", Record: []ledger.Entry{{N: 1, Event: &e}}}
}

func TestSendDelivery(t *testing.T) {
	d := newDesk(t, true)
	d.recorded = func() bool { return d.entries() == 1 }
	for _, row := range []struct {
		kind delivery.RPCKind
		want agent.Delivery
	}{
		{delivery.TurnStart, agent.Delivery{Text: "text", Marker: "m-1"}},
		{delivery.TurnSteer, agent.Delivery{Text: "text", Marker: "m-1", Expected: "u-0"}},
	} {
		d.sent = nil
		os.RemoveAll(filepath.Join(d.runs, "deliveries"))
		out, kind := call[activities.DeliverResult](d, "SendDelivery", attempt(row.kind))
		if kind != "" || out.Turn != "u-1" || out.At.IsZero() || out.Refused != "" {
			t.Errorf("%s: %+v, %s", row.kind, out, kind)
		}
		if !slices.Equal(d.sent, []agent.Delivery{row.want}) {
			t.Errorf("sent %+v", d.sent)
		}
	}
}

func TestRefusalsAndDoubts(t *testing.T) {
	d := newDesk(t, false)
	d.sendError = &agent.Refused{Class: delivery.Benign, Cause: agent.ErrBusy}
	if out, kind := call[activities.DeliverResult](d, "SendDelivery", attempt(delivery.TurnStart)); kind != "" || out.Refused != delivery.Benign || out.Reason != agent.ErrBusy.Error() {
		t.Errorf("a refusal: %+v, %s", out, kind)
	}
	d.sendError = context.DeadlineExceeded
	if _, kind := call[activities.DeliverResult](d, "SendDelivery", attempt(delivery.TurnStart)); kind != activities.UnknownError {
		t.Errorf("no answer: %s", kind)
	}
	for _, ended := range []error{context.Canceled, temporal.NewCanceledError(), fmt.Errorf("the answer was not awaited: %w", temporal.NewCanceledError())} {
		d.sendError = ended
		_, err := d.env.ExecuteActivity("SendDelivery", attempt(delivery.TurnStart))
		if app, ok := errors.AsType[*temporal.ApplicationError](err); !ok || app.Type() != activities.UnknownError || temporal.IsCanceledError(err) {
			t.Errorf("%v: %v passes for a message that was not sent", ended, err)
		}
	}
	d.sent = d.sent[:2]
	gone := attempt(delivery.TurnStart)
	gone.Process = "2"
	if out, kind := call[activities.DeliverResult](d, "SendDelivery", gone); kind != "" || out.Refused != delivery.NotSent || len(d.sent) != 2 {
		t.Errorf("another process: %+v, %s, %d sent", out, kind, len(d.sent))
	}
}

// A steer that the worker's operator has not allowed is refused, and nothing is written.
func TestAForcedSteerWritesNothing(t *testing.T) {
	d := newDesk(t, false)
	out, kind := call[activities.DeliverResult](d, "SendDelivery", attempt(delivery.TurnSteer))
	if kind != "" || out.Refused != delivery.NotSent || len(d.sent) > 0 || d.entries() > 0 {
		t.Errorf("%+v, %s, sent %+v, %d entries", out, kind, d.sent, d.entries())
	}
}

// An attempt that cannot be recorded is not sent.
func TestAnUnwrittenLedgerBlocksTheMessage(t *testing.T) {
	d := newDesk(t, false)
	if err := os.WriteFile(filepath.Join(d.runs, "deliveries"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, kind := call[activities.DeliverResult](d, "SendDelivery", attempt(delivery.TurnStart))
	if kind != "" || out.Refused != delivery.NotSent || len(d.sent) > 0 {
		t.Errorf("%+v, %s, sent %+v", out, kind, d.sent)
	}
	if _, kind := call[activities.ProveResult](d, "ProveThread", activities.ProveInput{Session: "s-1", Process: "1", Record: attempt(delivery.TurnStart).Record}); kind != activities.LedgerError {
		t.Errorf("a proof beside it: %s", kind)
	}
	if _, kind := call[struct{}](d, "RecordDelivery", activities.RecordInput{Session: "s-1", Record: attempt(delivery.TurnStart).Record}); kind != activities.LedgerError {
		t.Errorf("a record: %s", kind)
	}
}

func TestProveThread(t *testing.T) {
	managed := delivery.Session{ID: "s-1", Thread: "thread-1", Epoch: 3}
	in := activities.ProveInput{Session: "s-1", Process: "1", Managed: managed}
	for _, gate := range []bool{false, true} {
		d := newDesk(t, gate)
		out, kind := call[activities.ProveResult](d, "ProveThread", in)
		p := out.Proved
		if kind != "" || p.Epoch != 3 || p.Activity.Activity != delivery.IdleThread || !p.Capabilities.Minimum() || p.Capabilities.Steer.Gate != gate || p.Permissions.Current == nil {
			t.Errorf("gate %v: %+v, %s", gate, p, kind)
		}
	}
	d := newDesk(t, true)
	d.unwatched = true
	if out, kind := call[activities.ProveResult](d, "ProveThread", in); kind != "" || out.Proved.Capabilities.Minimum() || out.Proved.Activity.Activity != delivery.UnknownActivity || out.Proved.Permissions.Current != nil {
		t.Errorf("a session that proves nothing: %+v, %s", out, kind)
	}
	d.unwatched, d.readError = false, errors.New("no answer")
	if _, kind := call[activities.ProveResult](d, "ProveThread", in); kind != activities.ReadError {
		t.Errorf("a read without an answer: %s", kind)
	}
	in.Process = "2"
	if _, kind := call[activities.ProveResult](d, "ProveThread", in); kind != activities.GoneError {
		t.Errorf("another process: %s", kind)
	}
}

func TestReconcileDelivery(t *testing.T) {
	d := newDesk(t, false)
	in := activities.ReconcileInput{Session: "s-1", Process: "1", Epoch: 2, Marker: "m-1"}
	if out, kind := call[activities.ReconcileResult](d, "ReconcileDelivery", in); kind != "" || out.Marked != nil || out.Turn != nil {
		t.Errorf("nothing there: %+v, %s", out, kind)
	}
	d.thread.Turns = []agent.ThreadTurn{{ID: "u-1", Status: "completed", Ended: true, Markers: []string{"m-1"}}}
	out, kind := call[activities.ReconcileResult](d, "ReconcileDelivery", in)
	if kind != "" || out.Marked == nil || !out.Marked.First || out.Marked.Epoch != 2 || out.Turn == nil || out.Turn.What != delivery.TurnCompleted || !out.Turn.Read {
		t.Errorf("a completed turn: %+v, %s", out, kind)
	}
}
