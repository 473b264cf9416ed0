package codex_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

// deliveries are the deliveries into the thread of one real session, by the fold.
type deliveries struct {
	*testing.T
	fold *delivery.Snapshot
	s    agent.Watched
	l    *agenttest.Log
	read int // events that the fold has seen
}

const managed = "managed-1"

// capable is what the tests of this file show of the adapter.
var capable = delivery.Capabilities{
	ThreadStart: true, ThreadResume: true, TurnStart: true, CurrentStateSync: true, TurnCompleted: true, NegativeEnds: true,
	Steer: delivery.SteerProof{Gate: true, SameTurn: true, Reconciles: true, Ordered: true, Smoke: true, KeepsAnswers: true},
}

func (d *deliveries) do(p delivery.Payload) {
	d.Helper()
	if _, err := d.fold.Apply(d.fold.Event(time.Now(), p)); err != nil {
		d.Fatalf("%T: %v", p, err)
	}
}

// observed returns what an event of a watched session tells of the deliveries into its thread; nil if it tells nothing.
func observed(e agent.Event, session string, epoch int, now time.Time) delivery.Payload {
	switch e := e.(type) {
	case agent.TurnOpened:
		return delivery.TurnSeen{Turn: e.ID, What: delivery.TurnStarted, At: now, Session: session, Epoch: epoch}
	case agent.UserMessage:
		if e.Marker != "" {
			return delivery.Marked{Marker: e.Marker, Turn: e.Turn, First: e.First, At: now, Session: session, Epoch: epoch}
		}
	case agent.TurnClosed:
		return delivery.TurnSeen{Turn: e.ID, What: delivery.EndOf(e.Status), At: e.At, Session: session, Epoch: epoch}
	}
	return nil
}

// observe tells the fold the events of the session so far. Most are of turns that deliver nothing.
func (d *deliveries) observe() {
	d.Helper()
	for _, e := range d.l.Events()[d.read:] {
		d.read++
		p := observed(e, managed, d.fold.Session.Epoch, time.Now())
		if p == nil {
			continue
		}
		if _, err := d.fold.Apply(d.fold.Event(time.Now(), p)); err != nil && !errors.Is(err, delivery.ErrTransition) {
			d.Fatal(err)
		}
	}
}

// deliver queues a batch and delivers it, which the decision must be for.
func (d *deliveries) deliver(id string, want delivery.Outcome) delivery.Begun {
	d.Helper()
	d.observe()
	d.do(delivery.Enqueued{Batch: delivery.Batch{
		ID: id, Thread: d.fold.Thread, Profile: delivery.SafeProfile(),
		Jobs: []delivery.Job{{ID: "run-" + id, State: delivery.JobReady, Summary: "all checks passed"}},
	}})
	thread, err := d.s.Thread(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	d.do(thread.Prove(d.fold.Session, capable))
	decision := d.fold.Decide(id, time.Now())
	if decision.Outcome != want {
		d.Fatalf("decided %+v by %+v", decision, thread)
	}
	s := d.fold.Session
	b := delivery.Begun{
		Batch: id, Generation: 1, RequestID: "request-" + id, Marker: "marker-" + id, Kind: delivery.TurnStart, Expected: decision.Turn,
		Adapter: "codex", Session: managed, Epoch: s.Epoch, ActivityRevision: s.Activity.Revision, CapabilityRevision: s.Capabilities.Revision,
	}
	if want == delivery.Steer {
		b.Kind = delivery.TurnSteer
	}
	p, _, err := d.fold.Begin(b, time.Now())
	if err != nil {
		d.Fatal(err)
	}
	d.do(*p)
	text := d.fold.Head().Batch.Text(b.Marker, b.Generation)
	turn, err := d.s.Deliver(d.Context(), agent.Delivery{Text: text, Marker: b.Marker, Expected: b.Expected})
	if err != nil {
		d.Fatal(err)
	}
	d.do(delivery.Accepted{RequestID: b.RequestID, Turn: turn, At: time.Now(), Session: managed, Epoch: b.Epoch})
	return b
}

// An idle delivery and a steer close their batches as delivered. A steer whose client is killed before it
// was taken in goes to a person, and nothing of it is left in the thread.
func TestRealDeliveriesByTheFold(t *testing.T) {
	realClient(t)
	model, c, s, l := live(t, func(o *agent.Options) { o.Sandbox = agent.ReadOnly })
	d := &deliveries{T: t, fold: new(delivery.Snapshot), s: watched(t, s), l: l}
	d.do(delivery.Opened{Thread: s.ID(), Limits: delivery.Limits{Interval: 1}})
	d.do(delivery.Bound{Session: managed, Thread: s.ID(), Adapter: "codex"})

	d.deliver("idle", delivery.Start)
	agenttest.Next[agent.Turn](l)
	d.observe()
	l.Send(slowly("working", 8))
	opened(l)
	agenttest.Next[agent.Text](l)
	d.deliver("steer", delivery.Steer)
	agenttest.Next[agent.Turn](l)
	d.observe()
	if n := len(d.fold.Closed); n != 2 || d.fold.Closed[0].Close != delivery.Delivered || d.fold.Closed[1].Close != delivery.Delivered {
		t.Fatalf("closed %+v, open %+v", d.fold.Closed, d.fold.Queue)
	}

	l.Send(slowly("working", 40))
	opened(l)
	agenttest.Next[agent.Text](l)
	lost := d.deliver("killed", delivery.Steer)
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	agenttest.Next[agent.Exit](l)
	d.observe()
	d.do(delivery.Invalidated{Session: managed, Epoch: d.fold.Session.Epoch, Reason: "the client was killed", Gone: true})
	if e := d.fold.Head(); e == nil || e.Replay != delivery.Manual || e.Charged != 1 || d.fold.Session.State != delivery.Parked {
		t.Errorf("after the kill: %+v", e)
	}
	again, err := codex.New(c).Start(t.Context(), agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly, Resume: s.ID()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Stop(t.Context()) })
	agenttest.Watch(t, again)
	thread, err := watched(t, again).Thread(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if turn, _, alone := thread.Marked(lost.Marker); alone || turn.ID != "" {
		t.Errorf("the lost steer is in %+v", turn)
	}
	for _, done := range []string{"marker-idle", "marker-steer"} {
		if turn, _, alone := thread.Marked(done); !alone || turn.Status != "completed" {
			t.Errorf("%s is in %+v", done, turn)
		}
	}
	heard := map[string]bool{}
	for _, q := range model.Requests() {
		for _, id := range []string{"idle", "steer", "killed"} {
			heard[id] = heard[id] || strings.Contains(q.Text(), "[ratchet delivery marker-"+id)
		}
	}
	if want := map[string]bool{"idle": true, "steer": true, "killed": false}; fmt.Sprint(heard) != fmt.Sprint(want) {
		t.Errorf("the model heard %v", heard)
	}
}
