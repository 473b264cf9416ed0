package delivery_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/delivery"
)

var start = time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)

const (
	threadID  = "thread-1"
	sessionID = "session-1"
	adapter   = "codex"
	turnU     = "turn-u"
)

// history is the history of one thread, as a workflow would write it.
type history struct {
	testing.TB
	s     *delivery.Snapshot
	now   time.Time
	lines []delivery.Line
	begun int
}

func ptr[T any](v T) *T { return &v }

// copied is the snapshot after a way through JSON, which a continued workflow takes it.
func copied(t testing.TB, s *delivery.Snapshot) *delivery.Snapshot {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	c := new(delivery.Snapshot)
	if err := json.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// try applies a payload, and reports whether a refused one has left the snapshot as it was.
func (h *history) try(p delivery.Payload) error {
	h.Helper()
	e := h.s.Event(h.now, p)
	text, err := json.Marshal(e)
	if err != nil {
		h.Fatal(err)
	}
	var back delivery.Event
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, e) {
		h.Fatalf("%s came back as %+v: %v", text, back, err)
	}
	before := copied(h, h.s)
	told, err := h.s.Apply(back)
	if after := copied(h, h.s); err != nil && !reflect.DeepEqual(before, after) {
		h.Fatalf("refused %T changed the snapshot:\n%+v\n%+v", p, before, after)
	}
	if err != nil && !errors.Is(err, delivery.ErrTransition) && !errors.Is(err, delivery.ErrRefused) {
		h.Fatalf("%T: error of no kind: %v", p, err)
	}
	h.lines = append(h.lines, told...)
	return err
}

func (h *history) do(payloads ...delivery.Payload) {
	h.Helper()
	for _, p := range payloads {
		if err := h.try(p); err != nil {
			h.Fatalf("%T: %v", p, err)
		}
	}
}

// refuses demands that the payload is out of turn.
func (h *history) refuses(p delivery.Payload) {
	h.Helper()
	if err := h.try(p); err == nil {
		h.Errorf("%+v was taken", p)
	}
}

func batch(id string) delivery.Batch {
	return delivery.Batch{
		ID: id, Thread: threadID, Profile: delivery.SafeProfile(),
		Jobs: []delivery.Job{{ID: "job-" + id, State: delivery.JobReady, Summary: "the build is green"}},
	}
}

func capable(epoch, revision int) *delivery.Capabilities {
	return &delivery.Capabilities{
		Epoch: epoch, Revision: revision, ThreadStart: true, ThreadResume: true, TurnStart: true, CurrentStateSync: true,
		TurnCompleted: true, NegativeEnds: true,
		Steer: delivery.SteerProof{Gate: true, SameTurn: true, Reconciles: true, Ordered: true, Smoke: true, KeepsAnswers: true},
	}
}

func view(epoch int) *delivery.View {
	return &delivery.View{
		Thread: threadID, Session: sessionID, Epoch: epoch,
		ID: ptr(turnU), Kind: ptr(delivery.RegularTurn), RequiresApproval: ptr(false), RequiresNetwork: ptr(false),
		RequiresWrite: ptr(false), RiskClass: ptr(delivery.LowRisk), Steerable: ptr(true),
	}
}

// prove proves the epoch anew: capable, without permissions, and idle or active as in view.
func (h *history) prove(activity delivery.Activity, v *delivery.View) {
	h.Helper()
	s := h.s.Session
	h.do(delivery.Proved{
		Session: s.ID, Epoch: s.Epoch, View: v,
		Activity:     &delivery.ActivityProof{Epoch: s.Epoch, Revision: s.Activity.Revision + 1, Activity: activity},
		Capabilities: capable(s.Epoch, s.Capabilities.Revision+1),
		Permissions:  &delivery.PermissionProof{Epoch: s.Epoch, Revision: s.Permissions.Revision + 1, Current: &delivery.Allows{}},
	})
}

func bound() delivery.Bound {
	return delivery.Bound{Session: sessionID, Thread: threadID, Adapter: adapter}
}

// fresh is a thread with a session in epoch 7, and two batches.
func fresh(t testing.TB, mode delivery.Mode) *history {
	t.Helper()
	h := &history{TB: t, s: new(delivery.Snapshot), now: start}
	h.do(delivery.Opened{Thread: threadID, Mode: mode}, bound())
	for h.s.Session.Epoch < 7 {
		h.do(delivery.Invalidated{Session: sessionID, Epoch: h.s.Session.Epoch, Reason: "test"})
	}
	h.do(delivery.Enqueued{Batch: batch("b1")}, delivery.Enqueued{Batch: batch("b2")})
	return h
}

// green is a thread of which all facts are green for a steer; idle, for a turn of its own.
func green(t testing.TB, mode delivery.Mode) *history {
	t.Helper()
	h := fresh(t, mode)
	h.prove(delivery.ActiveThread, view(7))
	return h
}

func idle(t testing.TB, mode delivery.Mode) *history {
	t.Helper()
	h := fresh(t, mode)
	h.prove(delivery.IdleThread, nil)
	return h
}

// request is what begins the next attempt at the head.
func (h *history) request(kind delivery.RPCKind) delivery.Begun {
	h.begun++
	b := delivery.Begun{
		Generation: 1, RequestID: fmt.Sprintf("request-%d", h.begun), Marker: fmt.Sprintf("marker-%d", h.begun), Kind: kind,
		Adapter: adapter, Session: h.s.Session.ID, Epoch: h.s.Session.Epoch,
		ActivityRevision: h.s.Session.Activity.Revision, CapabilityRevision: h.s.Session.Capabilities.Revision,
	}
	if e := h.s.Head(); e != nil {
		b.Batch, b.Generation = e.Batch.ID, e.Generation+1
	}
	if kind == delivery.TurnSteer {
		b.Expected = turnU
	}
	return b
}

// begin begins an attempt, by the way that a workflow takes.
func (h *history) begin(kind delivery.RPCKind) delivery.Begun {
	h.Helper()
	p, a, err := h.s.Begin(h.request(kind), h.now)
	if err != nil || a != nil {
		h.Fatalf("begin: %v, %v", a, err)
	}
	h.do(*p)
	return *p
}

func (h *history) accepted(b delivery.Begun, turn string) delivery.Accepted {
	return delivery.Accepted{RequestID: b.RequestID, Turn: turn, At: h.now, Session: b.Session, Epoch: b.Epoch}
}

func (h *history) marked(b delivery.Begun, turn string) delivery.Marked {
	return delivery.Marked{Marker: b.Marker, Turn: turn, First: b.Kind == delivery.TurnStart, At: h.now, Session: b.Session, Epoch: b.Epoch}
}

func (h *history) seen(b delivery.Begun, turn string, what delivery.TurnEvent) delivery.TurnSeen {
	return delivery.TurnSeen{Turn: turn, What: what, At: h.now, Session: b.Session, Epoch: b.Epoch}
}

// tracked is a thread whose head was accepted by U as the kind says; the message is in it.
func tracked(t testing.TB, kind delivery.RPCKind) (*history, delivery.Begun) {
	t.Helper()
	h := green(t, delivery.StrictSafe)
	if kind == delivery.TurnStart {
		h = idle(t, delivery.StrictSafe)
	}
	b := h.begin(kind)
	h.do(h.accepted(b, turnU), h.marked(b, turnU))
	return h, b
}

// want is what is to be true of a batch after an event.
type want struct {
	state   delivery.AttemptState
	rpc     delivery.RPCState
	seen    delivery.Observation
	replay  delivery.Replay
	close   delivery.Close
	charged int
	session delivery.SessionState
	epoch   int
}

func (h *history) entry(id string) delivery.Entry {
	h.Helper()
	for _, list := range [][]delivery.Entry{h.s.Queue, h.s.Closed} {
		for _, e := range list {
			if e.Batch.ID == id {
				return e
			}
		}
	}
	h.Fatalf("no batch %s", id)
	return delivery.Entry{}
}

// holds compares batch b1, its newest attempt and the session with what is wanted.
func (h *history) holds(w want) {
	h.Helper()
	e := h.entry("b1")
	got := want{replay: e.Replay, close: e.Close, charged: e.Charged, session: h.s.Session.State, epoch: h.s.Session.Epoch}
	if n := len(e.Attempts); n > 0 {
		a := e.Attempts[n-1]
		got.state, got.rpc, got.seen = a.State, a.RPC, a.Observation
	}
	if got != w {
		h.Errorf("got  %+v\nwant %+v", got, w)
	}
	if s := h.s.Session; s.Epoch > 7 && (s.Activity.Activity == delivery.IdleThread || s.Capabilities.Minimum() || s.View != nil) {
		h.Errorf("epoch %d has the proofs of another: %+v", s.Epoch, s)
	}
}

// The ends that most rows have.
var (
	pending   = want{state: delivery.AcceptPending, rpc: delivery.PendingAcceptance, replay: delivery.Automatic, session: delivery.Live, epoch: 7}
	tracking  = want{state: delivery.Cooldown, rpc: delivery.AcceptedRPC, seen: delivery.Tracking, replay: delivery.Automatic, charged: 1, session: delivery.Live, epoch: 7}
	delivered = want{state: delivery.Finished, rpc: delivery.AcceptedRPC, seen: delivery.ObservedComplete, replay: delivery.Automatic, close: delivery.Delivered, charged: 1, session: delivery.Live, epoch: 8}
	rejected  = want{state: delivery.Abandoned, rpc: delivery.RejectedBeforeAccept, seen: delivery.Unobserved, replay: delivery.Automatic, session: delivery.Live, epoch: 8}
	manual    = want{state: delivery.Abandoned, rpc: delivery.AcceptedRPC, seen: delivery.Unobserved, replay: delivery.Manual, charged: 1, session: delivery.Parked, epoch: 8}
	expired   = want{state: delivery.Abandoned, rpc: delivery.AcceptedRPC, seen: delivery.Expired, replay: delivery.Manual, charged: 1, session: delivery.Parked, epoch: 8}
)
