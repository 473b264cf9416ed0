package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// account is what a second reader of the accepted events knows of one attempt. It knows nothing of the
// fold.
type account struct {
	begun    delivery.Begun
	turn     string
	deadline time.Time
	in       map[string]bool // turns in which the marker was seen in its place
	broken   bool            // the epoch ended after the acceptance
}

// ledger is that reader.
type ledger struct {
	*rapid.T
	h        *history
	attempts map[string]*account // by request id
	charges  map[string]int      // by batch
}

// note takes an event that the fold took.
func (l *ledger) note(p delivery.Payload) {
	switch p := p.(type) {
	case delivery.Begun:
		l.attempts[p.RequestID] = &account{begun: p, in: map[string]bool{}}
	case delivery.Accepted:
		l.attempts[p.RequestID].accept(p.Turn, p.At)
	case delivery.Marked:
		for _, a := range l.attempts {
			if a.begun.Marker == p.Marker {
				a.accept(p.Turn, p.At)
				a.in[p.Turn] = a.in[p.Turn] || p.First == (a.begun.Kind == delivery.TurnStart)
			}
		}
	case delivery.Invalidated:
		for _, a := range l.attempts {
			a.broken = a.broken || a.turn != ""
		}
	}
}

func (a *account) accept(turn string, at time.Time) {
	if a.turn == "" {
		a.turn, a.deadline = turn, at.Add(6*time.Hour)
	}
}

// judge compares what the event has changed with what the reader knows.
func (l *ledger) judge(p delivery.Payload, closed int) {
	active := 0
	for _, list := range [][]delivery.Entry{l.h.s.Queue, l.h.s.Closed} {
		for _, e := range list {
			for _, a := range e.Attempts {
				if a.Active() {
					active++
				}
			}
			if e.Charged > l.charges[e.Batch.ID] {
				l.charged(p, e)
			}
			l.charges[e.Batch.ID] = e.Charged
		}
	}
	if active > 1 {
		l.Fatalf("%d active attempts after %+v", active, p)
	}
	if n := len(l.h.s.Closed); n > closed && l.h.s.Closed[n-1].Close == delivery.Delivered {
		l.delivered(p, l.h.s.Closed[n-1])
	}
}

// charged demands that a charge is of one attempt that was not charged before.
func (l *ledger) charged(p delivery.Payload, e delivery.Entry) {
	accepted := 0
	for _, a := range l.attempts {
		if a.begun.Batch == e.Batch.ID && a.turn != "" {
			accepted++
		}
	}
	if e.Charged != l.charges[e.Batch.ID]+1 || e.Charged > accepted {
		l.Fatalf("batch %s was charged %d times for %d acceptances, the last after %+v", e.Batch.ID, e.Charged, accepted, p)
	}
}

func (l *ledger) delivered(p delivery.Payload, e delivery.Entry) {
	end, ok := p.(delivery.TurnSeen)
	if !ok || end.What != delivery.TurnCompleted {
		l.Fatalf("batch %s was delivered by %+v", e.Batch.ID, p)
	}
	for _, a := range l.attempts {
		if a.begun.Batch == e.Batch.ID && a.begun.Generation == e.Generation {
			late := !end.At.Before(a.deadline)
			if a.turn != end.Turn || late || a.broken || !a.in[end.Turn] || end.Session != a.begun.Session {
				l.Fatalf("batch %s was delivered by %+v, attempt %+v", e.Batch.ID, end, a)
			}
			// After an expiry the epoch has ended, and the end of the turn is told with the one that followed.
			if onTime := l.h.entry(e.Batch.ID).Replay == delivery.Automatic; onTime && end.Epoch != a.begun.Epoch {
				l.Fatalf("batch %s was delivered in epoch %d by an event of %d", e.Batch.ID, a.begun.Epoch, end.Epoch)
			}
			return
		}
	}
	l.Fatalf("batch %s was delivered by no attempt", e.Batch.ID)
}

// The order of the events is random, and most of them are out of turn.
func TestAnyOrderOfEvents(t *testing.T) {
	total := map[delivery.Close]int{}
	manuals, corrected := 0, 0
	check := func(rt *rapid.T) {
		h := &history{TB: t, s: new(delivery.Snapshot), now: start}
		l := &ledger{T: rt, h: h, attempts: map[string]*account{}, charges: map[string]int{}}
		h.do(delivery.Opened{Thread: threadID}, bound())
		for range rapid.IntRange(1, 300).Draw(rt, "events") {
			p := h.draw(rt)
			closed := len(h.s.Closed)
			if p == nil {
				continue
			}
			if _, err := h.s.Apply(h.s.Event(h.now, p)); err == nil {
				l.note(p)
				l.judge(p, closed)
			}
		}
		for _, e := range h.s.Closed {
			total[e.Close]++
			if e.Close == delivery.Delivered && e.Replay == delivery.Manual {
				corrected++
			}
		}
		if e := h.s.Head(); e != nil && e.Replay == delivery.Manual {
			manuals++
		}
	}
	for range 10 {
		rapid.Check(t, check)
	}
	for _, c := range closes {
		if total[c] == 0 {
			t.Errorf("no batch was ever closed as %s: %v", c, total)
		}
	}
	if manuals == 0 || corrected == 0 {
		t.Errorf("%d batches were left to a person, %d expiries corrected", manuals, corrected)
	}
	t.Logf("closed %v, %d left to a person, %d corrected", total, manuals, corrected)
}

// likely returns the kind of event that leads on from where the thread is.
func (h *history) likely() string {
	s, e, a := h.s.Session, h.s.Head(), h.s.InFlight()
	switch {
	case e == nil:
		return "enqueue"
	case len(h.s.Sweep(h.now)) > 0:
		return "sweep"
	case e.Replay == delivery.Manual && e.Attempts[len(e.Attempts)-1].Observation == delivery.Expired && e.Attempts[len(e.Attempts)-1].LastEvent == "":
		return "see"
	case e.Replay == delivery.Manual && len(e.Batch.ID)%2 == 0:
		return "close"
	case e.Replay == delivery.Manual:
		return "wait"
	case s.State != delivery.Live:
		return "bind"
	case a == nil && s.Activity.Epoch != s.Epoch:
		return "prove"
	case a == nil && h.s.Decide(e.Batch.ID, h.now).Reason == delivery.TooSoon:
		return "wait"
	case a == nil:
		return "begin"
	case a.State == delivery.AcceptPending:
		return "accept"
	case !a.Marked:
		return "mark"
	case len(e.Batch.ID)%2 == 0:
		return "wait"
	}
	return "see"
}

// draw draws an event, of things that are known and of some that are not; nil for the passing of time.
func (h *history) draw(t *rapid.T) delivery.Payload {
	s := h.s.Session
	epoch := s.Epoch + rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, -1}).Draw(t, "epoch")
	session := rapid.SampledFrom([]string{sessionID, sessionID, sessionID, sessionID, sessionID, "session-2"}).Draw(t, "session")
	turn := rapid.SampledFrom([]string{turnU, turnU, turnU, "turn-v"}).Draw(t, "turn")
	at := h.now.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, 0, 0, -time.Minute, 6 * time.Hour, -7 * time.Hour}).Draw(t, "at"))
	b := delivery.Begun{RequestID: "none", Marker: "none", Session: session, Epoch: epoch}
	if e := h.s.Head(); e != nil && len(e.Attempts) > 0 {
		a := e.Attempts[rapid.IntRange(max(0, len(e.Attempts)-2), len(e.Attempts)-1).Draw(t, "attempt")]
		b.RequestID, b.Marker, b.Kind = a.RequestID, a.Marker, a.Kind
	}
	kind := rapid.SampledFrom([]delivery.RPCKind{delivery.TurnStart, delivery.TurnSteer}).Draw(t, "kind")
	batchID := fmt.Sprintf("b%d", rapid.IntRange(1, 200).Draw(t, "batch"))
	event := h.likely()
	if rapid.IntRange(0, 2).Draw(t, "likely") == 0 {
		event = rapid.SampledFrom([]string{
			"bind", "prove", "invalidate", "enqueue", "begin", "accept", "mark", "refuse", "lose", "see", "start", "sweep", "sweep", "close", "wait", "wait", "retire",
		}).Draw(t, "event")
	}
	switch event {
	case "bind":
		return delivery.Bound{Session: session, Thread: threadID, Adapter: adapter}
	case "prove":
		activity, v := delivery.IdleThread, (*delivery.View)(nil)
		if kind == delivery.TurnSteer {
			activity, v = delivery.ActiveThread, view(epoch)
		}
		return delivery.Proved{
			Session: session, Epoch: epoch, View: v,
			Activity:     &delivery.ActivityProof{Epoch: epoch, Revision: s.Activity.Revision + 1, Activity: activity},
			Capabilities: capable(epoch, s.Capabilities.Revision+1),
			Permissions:  &delivery.PermissionProof{Epoch: epoch, Revision: s.Permissions.Revision + 1, Current: &delivery.Allows{}},
		}
	case "invalidate":
		return delivery.Invalidated{Session: session, Epoch: epoch, Reason: "random", Gone: rapid.Bool().Draw(t, "gone")}
	case "enqueue":
		return delivery.Enqueued{Batch: batch(batchID)}
	case "begin":
		if e := h.s.Head(); e != nil && s.View != nil && kind == delivery.TurnStart {
			kind = delivery.TurnSteer
		}
		return h.request(kind)
	case "accept":
		return delivery.Accepted{RequestID: b.RequestID, Turn: turn, At: at, Session: session, Epoch: epoch}
	case "mark":
		first := b.Kind == delivery.TurnStart
		return delivery.Marked{Marker: b.Marker, Turn: turn, First: first != (rapid.IntRange(0, 9).Draw(t, "first") == 0), At: at, Session: session, Epoch: epoch}
	case "refuse":
		return delivery.Refused{RequestID: b.RequestID, Class: rapid.SampledFrom(delivery.Refusals).Draw(t, "class")}
	case "lose":
		return delivery.Unanswered{RequestID: b.RequestID}
	case "see":
		what := rapid.SampledFrom(append(delivery.TurnEvents, delivery.TurnCompleted, delivery.TurnCompleted)).Draw(t, "what")
		return delivery.TurnSeen{Turn: turn, What: what, At: at, Session: session, Epoch: epoch}
	case "start":
		return delivery.TurnSeen{Turn: turn, What: delivery.TurnStarted, At: at, Session: session, Epoch: epoch}
	case "sweep":
		if due := h.s.Sweep(h.now); len(due) > 0 {
			return due[0]
		}
	case "close":
		if e := h.s.Head(); e != nil && rapid.Bool().Draw(t, "head") {
			batchID = e.Batch.ID
		}
		return delivery.Closed{Batch: batchID, Reason: rapid.SampledFrom(closes).Draw(t, "reason")}
	case "retire":
		return delivery.SessionRetired{Session: session}
	case "wait":
		h.now = h.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 5 * time.Minute, 6 * time.Hour, 25 * time.Hour}).Draw(t, "time"))
	}
	return nil
}
