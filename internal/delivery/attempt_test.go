package delivery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// row is one row of a table: what happens, and how batch b1 and the session are then. The other half of
// a row that needs a process or a client is tested where beyond says.
type row struct {
	name   string
	happen func(t *testing.T) *history
	want   want
	beyond string
}

func run(t *testing.T, rows []row) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			r.happen(t).holds(r.want)
			if r.beyond != "" {
				t.Log("beyond the fold:", r.beyond)
			}
		})
	}
}

// with returns w with changes.
func (w want) with(change func(*want)) want {
	change(&w)
	return w
}

func both(name string, happen func(*history, delivery.Begun), w want) []row {
	var rows []row
	for _, kind := range []delivery.RPCKind{delivery.TurnStart, delivery.TurnSteer} {
		rows = append(rows, row{name: name + " " + string(kind), want: w, happen: func(t *testing.T) *history {
			h, b := tracked(t, kind)
			happen(h, b)
			return h
		}})
	}
	return rows
}

func begun(t testing.TB, kind delivery.RPCKind) (*history, delivery.Begun) {
	h := green(t, delivery.StrictSafe)
	if kind == delivery.TurnStart {
		h = idle(t, delivery.StrictSafe)
	}
	return h, h.begin(kind)
}

// once is a row of an attempt whose acceptance is pending.
func once(name string, kind delivery.RPCKind, happen func(*history, delivery.Begun), w want) row {
	return row{name: name, want: w, happen: func(t *testing.T) *history {
		h, b := begun(t, kind)
		happen(h, b)
		return h
	}}
}

// deadline is the deadline of the attempt at b1.
func (h *history) deadline() time.Time {
	a := h.entry("b1").Attempts
	return a[len(a)-1].Deadline
}

func (h *history) invalidate(gone bool) {
	h.Helper()
	h.do(delivery.Invalidated{Session: sessionID, Epoch: h.s.Session.Epoch, Reason: "the pipe is gone", Gone: gone})
}

// sweep applies what is due, and says how much that was.
func (h *history) sweep() int {
	h.Helper()
	due := h.s.Sweep(h.now)
	h.do(due...)
	return len(due)
}

// expire lets the deadline pass.
func (h *history) expire() {
	h.Helper()
	h.now = h.deadline()
	if h.sweep() != 1 {
		h.Errorf("nothing expired at %v", h.now)
	}
}

// The rows of docs/contracts/delivery.md, 3.
func TestAttempts(t *testing.T) {
	const start, steer = delivery.TurnStart, delivery.TurnSteer
	rows := []row{
		once("1", start, func(h *history, b delivery.Begun) {
			a := h.s.InFlight()
			if a == nil || a.Generation != 1 || a.RequestID != b.RequestID || a.Marker != b.Marker || a.Kind != start || !a.StartedAt.Equal(h.now) ||
				a.Session != sessionID || a.Epoch != 7 || a.ActivityRevision != 1 || a.CapabilityRevision != 1 {
				h.Errorf("attempt %+v", a)
			}
		}, pending),
		once("2", start, func(h *history, b delivery.Begun) {
			if p, a, err := h.s.Begin(b, h.now); err != nil || p != nil || a == nil || a.Generation != 1 {
				h.Errorf("begun again: %v, %v, %v", p, a, err)
			}
			h.refuses(b)
		}, pending),
		once("2 in other words", start, func(h *history, b delivery.Begun) {
			for name, change := range map[string]func(*delivery.Begun){
				"adapter": func(b *delivery.Begun) { b.Adapter = "pi" }, "batch": func(b *delivery.Begun) { b.Batch = "b2" },
				"session": func(b *delivery.Begun) { b.Session = "session-2" }, "epoch": func(b *delivery.Begun) { b.Epoch = 6 },
				"kind": func(b *delivery.Begun) { b.Kind = steer }, "marker": func(b *delivery.Begun) { b.Marker = "m" },
			} {
				c := b
				change(&c)
				if p, a, err := h.s.Begin(c, h.now); err == nil || p != nil || a != nil {
					h.Errorf("another %s: %v, %v", name, p, a)
				}
			}
		}, pending),
		once("2 in another epoch", start, func(h *history, b delivery.Begun) {
			h.invalidate(false)
			if p, a, err := h.s.Begin(b, h.now); err == nil {
				h.Errorf("%v, %v", p, a)
			}
		}, pending.with(func(w *want) { w.epoch = 8 })),
		once("3", start, func(h *history, b delivery.Begun) {
			h.now = h.now.Add(time.Minute)
			h.do(h.accepted(b, turnU))
			if a := h.s.InFlight(); a.Turn != turnU || !a.AcceptedAt.Equal(h.now) || !a.Deadline.Equal(h.now.Add(6*time.Hour)) || !h.s.LastAccepted.Equal(h.now) {
				h.Errorf("attempt %+v", a)
			}
		}, tracking),
		once("3 without a turn", start, func(h *history, b delivery.Begun) { h.refuses(h.accepted(b, "")) }, pending),
		once("3 in another epoch", start, func(h *history, b delivery.Begun) {
			h.invalidate(false)
			h.refuses(h.accepted(b, turnU))
			a := h.accepted(b, turnU)
			a.Epoch = 8
			h.refuses(a)
		}, pending.with(func(w *want) { w.epoch = 8 })),
		once("3 told of another epoch", start, func(h *history, b delivery.Begun) {
			for _, epoch := range []int{6, 8} {
				a := h.accepted(b, turnU)
				a.Epoch = epoch
				h.refuses(a)
			}
			a := h.accepted(b, turnU)
			a.Session = "session-2"
			h.refuses(a)
		}, pending),
		once("3 by a session that does not live", start, func(h *history, b delivery.Begun) {
			h.s.Session.State = delivery.Detached
			h.refuses(h.accepted(b, turnU))
			h.refuses(h.marked(b, turnU))
			h.s.Session.State, h.s.Session.ID = delivery.Live, "session-2"
			h.refuses(h.accepted(b, turnU))
		}, pending),
		once("3 without the capability", steer, func(h *history, b delivery.Begun) {
			h.s.Session.Capabilities.Steer.Gate = false
			h.refuses(h.accepted(b, turnU))
		}, pending),
		once("3 with other permissions", start, func(h *history, b delivery.Begun) {
			h.s.Session.Permissions.Current = &delivery.Allows{Network: true}
			h.refuses(h.accepted(b, turnU))
		}, pending),
		once("3 with another profile", start, func(h *history, b delivery.Begun) {
			h.s.Queue[0].Batch.Profile = delivery.Profile{}
			h.refuses(h.accepted(b, turnU))
		}, pending),
		once("3 without budget", start, func(h *history, b delivery.Begun) {
			h.s.Queue[0].Charged = 3
			h.refuses(h.accepted(b, turnU))
		}, pending.with(func(w *want) { w.charged = 3 })),
		once("4", start, func(h *history, b delivery.Begun) {
			h.do(h.accepted(b, turnU), h.accepted(b, turnU))
			h.refuses(h.accepted(b, "turn-v"))
		}, tracking),
		once("5 benign", steer, func(h *history, b delivery.Begun) {
			h.do(delivery.Refused{RequestID: b.RequestID, Class: delivery.Benign})
		}, rejected),
		once("5 not sent", start, func(h *history, b delivery.Begun) {
			h.do(delivery.Refused{RequestID: b.RequestID, Class: delivery.NotSent})
		}, rejected),
		once("5 lost", start, func(h *history, b delivery.Begun) {
			h.do(delivery.Refused{RequestID: b.RequestID, Class: delivery.Lost})
		},
			rejected.with(func(w *want) { w.session = delivery.Detached })),
		once("5 busy", start, func(h *history, b delivery.Begun) {
			h.do(delivery.Refused{RequestID: b.RequestID, Class: delivery.Busy})
			h.prove(delivery.IdleThread, nil)
			if d := h.s.Decide("b1", h.now); d.Reason != delivery.TooSoon {
				h.Errorf("at once: %+v", d)
			}
			if d := h.s.Decide("b1", h.now.Add(delivery.RetryPause)); d.Outcome != delivery.Start {
				h.Errorf("after the pause: %+v", d)
			}
			h.invalidate(false)
		}, rejected.with(func(w *want) { w.epoch = 9 })),
		once("5 and another attempt", start, func(h *history, b delivery.Begun) {
			h.do(delivery.Refused{RequestID: b.RequestID, Class: delivery.Benign})
			h.prove(delivery.IdleThread, nil)
			again := h.request(start)
			again.RequestID = b.RequestID
			if _, _, err := h.s.Begin(again, h.now); delivery.ReasonOf(err) != delivery.Reused {
				h.Errorf("the old request id: %v", err)
			}
			again = h.request(start)
			again.Marker = b.Marker
			h.refuses(again)
			if second := h.begin(start); second.Generation != 2 {
				h.Errorf("generation %d", second.Generation)
			}
			h.invalidate(false)
		}, pending.with(func(w *want) { w.epoch = 9 })),
		once("5 after the epoch", start, func(h *history, b delivery.Begun) {
			h.invalidate(true)
			h.refuses(delivery.Refused{RequestID: b.RequestID, Class: delivery.Benign})
		}, pending.with(func(w *want) { w.epoch, w.session = 8, delivery.Detached })),
		once("5 after the acceptance", start, func(h *history, b delivery.Begun) {
			h.do(h.accepted(b, turnU))
			h.refuses(delivery.Refused{RequestID: b.RequestID, Class: delivery.Benign})
		}, tracking),
		once("6", start, func(h *history, b delivery.Begun) {
			h.do(delivery.Refused{RequestID: b.RequestID, Class: delivery.Permanent, Reason: "input must not be empty"})
		}, manual.with(func(w *want) { w.rpc, w.charged = delivery.RejectedBeforeAccept, 0 })),
		once("7", start, func(h *history, b delivery.Begun) {
			h.now = h.now.Add(delivery.AcceptLimit - 1)
			if n := h.sweep(); n != 0 {
				h.Errorf("%d due", n)
			}
			h.refuses(delivery.Stale{RequestID: b.RequestID})
			if d := h.s.Decide("b1", h.now); d.Outcome != delivery.Nothing {
				h.Errorf("sent again: %+v", d)
			}
		}, pending),
		once("8", start, func(h *history, b delivery.Begun) {
			h.do(h.marked(b, turnU))
			if a := h.s.InFlight(); a.Turn != turnU || !a.Marked {
				h.Errorf("attempt %+v", a)
			}
			h.do(h.accepted(b, turnU)) // the answer comes after all
		}, tracking),
		once("8 in another epoch", start, func(h *history, b delivery.Begun) {
			h.invalidate(false)
			m := h.marked(b, turnU)
			h.refuses(m)
			m.Epoch = 8
			h.refuses(m)
		}, pending.with(func(w *want) { w.epoch = 8 })),
		once("8 told of another epoch", start, func(h *history, b delivery.Begun) {
			for _, epoch := range []int{6, 8} {
				m := h.marked(b, turnU)
				m.Epoch = epoch
				h.refuses(m)
			}
		}, pending),
		once("8 by another session", start, func(h *history, b delivery.Begun) {
			m := h.marked(b, turnU)
			m.Session = "session-2"
			h.refuses(m)
		}, pending),
		once("8 of another marker", start, func(h *history, b delivery.Begun) {
			m := h.marked(b, turnU)
			m.Marker = "somebody's"
			h.refuses(m)
		}, pending),
		once("9", start, func(h *history, b delivery.Begun) {
			h.now = h.now.Add(delivery.AcceptLimit)
			if n := h.sweep(); n != 1 {
				h.Errorf("%d due", n)
			}
			if e := h.entry("b1"); !e.Until.Equal(h.now.Add(24 * time.Hour)) {
				h.Errorf("until %v", e.Until)
			}
			h.refuses(h.accepted(b, turnU))
		}, manual.with(func(w *want) { w.rpc, w.charged = delivery.UnknownRPC, 0 })),
		once("9 unanswered", start, func(h *history, b delivery.Begun) {
			h.refuses(delivery.Unanswered{RequestID: b.RequestID}) // the answer may still come
			h.invalidate(true)
			h.refuses(delivery.Unanswered{RequestID: "request-9"})
			h.do(delivery.Unanswered{RequestID: b.RequestID, Shown: "it is there"})
			if l := h.lines[len(h.lines)-1]; l.Decision != delivery.AuditManualized || !strings.HasSuffix(l.Reason, ": it is there") {
				h.Errorf("told %+v", l)
			}
			h.refuses(h.accepted(b, turnU))
			h.refuses(delivery.Unanswered{RequestID: b.RequestID})
		}, manual.with(func(w *want) { w.rpc, w.charged, w.epoch = delivery.UnknownRPC, 0, 9 })),
		once("9 answered", start, func(h *history, b delivery.Begun) {
			h.do(h.accepted(b, turnU))
			h.invalidate(true)
			h.refuses(delivery.Unanswered{RequestID: b.RequestID})
		}, manual),
		once("20 pending", start, func(h *history, b delivery.Begun) {
			h.do(delivery.Closed{Batch: "b1", Reason: delivery.Unconfirmed, By: "ada", Note: "seen"})
			h.refuses(h.accepted(b, turnU))
			h.refuses(h.marked(b, turnU))
		}, want{state: delivery.Finished, rpc: delivery.PendingAcceptance, replay: delivery.Automatic, close: delivery.Unconfirmed, session: delivery.Live, epoch: 8}),
	}
	late := func(h *history, b delivery.Begun, what delivery.TurnEvent, at time.Time) delivery.TurnSeen {
		p := h.seen(b, turnU, what)
		p.At = at
		return p
	}
	for _, list := range [][]row{
		both("10", func(h *history, b delivery.Begun) {
			h.do(h.seen(b, turnU, delivery.TurnStarted))
			if a := h.s.InFlight(); a.LastEvent != delivery.TurnStarted {
				h.Errorf("attempt %+v", a)
			}
		}, tracking),
		both("11", func(h *history, b delivery.Begun) {
			h.do(late(h, b, delivery.TurnCompleted, h.deadline().Add(-1)))
			if head := h.s.Head(); head == nil || head.Batch.ID != "b2" {
				h.Errorf("head %+v", head)
			}
			h.now = h.now.Add(time.Hour)
			if d := h.s.Decide("b2", h.now); d.Outcome != delivery.Wait {
				h.Errorf("without a proof of its own: %+v", d)
			}
		}, delivered),
		both("12 failed", func(h *history, b delivery.Begun) { h.do(h.seen(b, turnU, delivery.TurnFailed)) }, manual),
		both("12 interrupted", func(h *history, b delivery.Begun) { h.do(h.seen(b, turnU, delivery.TurnInterrupted)) }, manual),
		both("12 replaced", func(h *history, b delivery.Begun) { h.do(h.seen(b, turnU, delivery.TurnReplaced)) }, manual),
		both("13", func(h *history, b delivery.Begun) { h.do(late(h, b, delivery.TurnCompleted, h.deadline())) }, expired),
		both("13 started", func(h *history, b delivery.Begun) { h.do(late(h, b, delivery.TurnStarted, h.deadline())) }, expired),
		both("13 and then in time", func(h *history, b delivery.Begun) {
			h.do(late(h, b, delivery.TurnFailed, h.deadline()))
			h.refuses(late(h, b, delivery.TurnCompleted, h.deadline().Add(-1)))
		}, expired),
		both("14", func(h *history, b delivery.Begun) {
			h.refuses(delivery.ObservationExpired{RequestID: b.RequestID})
			h.expire()
		}, expired),
		both("14 not current", func(h *history, b delivery.Begun) {
			h.s.Session.Epoch, h.s.Session.Capabilities, h.s.Session.Activity, h.s.Session.View = 8, delivery.Capabilities{}, delivery.ActivityProof{}, nil
			h.expire()
		}, manual.with(func(w *want) { w.epoch = 9 })),
		both("15 by epoch", func(h *history, b delivery.Begun) {
			p := h.seen(b, turnU, delivery.TurnCompleted)
			p.Epoch = 8
			h.do(p)
		}, manual),
		both("15 by session", func(h *history, b delivery.Begun) {
			p := h.seen(b, turnU, delivery.TurnCompleted)
			p.Session = "session-2"
			h.do(p)
		}, manual),
		both("15 by state", func(h *history, b delivery.Begun) {
			h.s.Session.State = delivery.Detached
			h.do(h.seen(b, turnU, delivery.TurnCompleted))
		}, manual),
		both("16", func(h *history, b delivery.Begun) { h.invalidate(false) }, manual),
		both("16 after the expiry", func(h *history, b delivery.Begun) {
			h.expire()
			h.invalidate(false)
		}, manual.with(func(w *want) { w.epoch = 9 })),
		both("17", func(h *history, b delivery.Begun) {
			before := h.deadline().Add(-time.Minute)
			h.expire()
			h.do(late(h, b, delivery.TurnCompleted, before))
		}, delivered.with(func(w *want) { w.replay, w.session, w.epoch = delivery.Manual, delivery.Parked, 9 })),
		both("17 stamped at the deadline", func(h *history, b delivery.Begun) {
			h.expire()
			h.do(late(h, b, delivery.TurnCompleted, h.deadline()))
		}, expired),
		both("17 after a failure", func(h *history, b delivery.Begun) {
			before := h.deadline().Add(-time.Minute)
			h.expire()
			h.do(late(h, b, delivery.TurnFailed, before))
			h.refuses(late(h, b, delivery.TurnCompleted, before))
		}, expired),
		both("17 by another session", func(h *history, b delivery.Begun) {
			before := h.deadline().Add(-time.Minute)
			h.expire()
			p := late(h, b, delivery.TurnCompleted, before)
			p.Session = "session-2"
			h.do(p)
		}, expired),
		both("18", func(h *history, b delivery.Begun) {
			h.do(h.seen(b, turnU, delivery.TurnStarted))
			h.invalidate(false)
			h.do(h.seen(b, turnU, delivery.TurnCompleted))
			if a := h.entry("b1").Attempts[0]; a.LastEvent != delivery.TurnCompleted {
				h.Errorf("attempt %+v", a)
			}
		}, manual),
		both("19", func(h *history, b delivery.Begun) {
			h.do(h.seen(b, turnU, delivery.TurnCompleted), h.seen(b, turnU, delivery.TurnCompleted))
			h.refuses(h.seen(b, turnU, delivery.TurnFailed))
		}, delivered),
		both("20", func(h *history, b delivery.Begun) {
			h.do(delivery.Closed{Batch: "b1", Reason: delivery.Confirmed, By: "ada"})
			h.refuses(h.seen(b, turnU, delivery.TurnCompleted))
			if e := h.entry("b1"); e.By != "ada" || h.s.Head().Batch.ID != "b2" {
				h.Errorf("closed %+v", e)
			}
		}, want{state: delivery.Finished, rpc: delivery.AcceptedRPC, seen: delivery.Tracking, replay: delivery.Automatic, close: delivery.Confirmed, charged: 1, session: delivery.Live, epoch: 8}),
		both("21", func(h *history, b delivery.Begun) {
			for _, what := range delivery.TurnEvents {
				h.refuses(h.seen(b, "turn-v", what))
			}
			h.refuses(h.seen(b, "", delivery.TurnCompleted))
		}, tracking),
		both("a message in the wrong place", func(h *history, b delivery.Begun) {
			m := h.marked(b, turnU)
			m.First = !m.First
			h.do(m)
		}, manual),
	} {
		rows = append(rows, list...)
	}
	run(t, rows)
}

// The rows of docs/contracts/delivery.md, 9.3.
func TestAcceptance(t *testing.T) {
	const start, steer = delivery.TurnStart, delivery.TurnSteer
	refuse := func(c delivery.Refusal) func(*history, delivery.Begun) {
		return func(h *history, b delivery.Begun) { h.do(delivery.Refused{RequestID: b.RequestID, Class: c}) }
	}
	unknown := func(h *history, b delivery.Begun) {
		h.invalidate(true)
		if d := h.s.Decide("b1", h.now); d.Outcome != delivery.Nothing {
			h.Errorf("sent again: %+v", d)
		}
		h.now = h.now.Add(delivery.AcceptLimit)
		h.sweep()
	}
	lost := manual.with(func(w *want) { w.rpc, w.charged, w.epoch = delivery.UnknownRPC, 0, 9 })
	rows := []row{
		once("A1", steer, refuse(delivery.Benign), rejected),
		once("A2", steer, refuse(delivery.Permanent), manual.with(func(w *want) { w.rpc, w.charged = delivery.RejectedBeforeAccept, 0 })),
		once("A3", start, unknown, lost),
		once("A4", start, unknown, lost),
		once("A5", start, refuse(delivery.NotSent), rejected),
		once("A6", start, refuse(delivery.NotSent), rejected),
		once("A7", steer, func(h *history, b delivery.Begun) {
			h.do(h.accepted(b, "turn-v"))
			h.do(h.seen(b, "turn-v", delivery.TurnCompleted))
		}, manual),
		once("A7 by the marker", steer, func(h *history, b delivery.Begun) { h.do(h.marked(b, "turn-v")) }, manual),
		once("A8", start, func(h *history, b delivery.Begun) {
			h.now = h.now.Add(delivery.AcceptLimit)
			h.sweep()
			h.refuses(h.accepted(b, turnU))
		}, manual.with(func(w *want) { w.rpc, w.charged = delivery.UnknownRPC, 0 })),
		once("a turn of its own that joined another", start, func(h *history, b delivery.Begun) {
			m := h.marked(b, turnU)
			m.First = false
			h.do(m)
		}, manual),
		once("a steer that began a turn", steer, func(h *history, b delivery.Begun) {
			m := h.marked(b, turnU)
			m.First = true
			h.do(m)
		}, manual),
	}
	for name, where := range map[string]string{
		"A1": "the adapter's refusals, of a client and of the real one", "A3": "a client that does not answer",
		"A4": "kills of a worker between the record and the write", "A6": "an audit that cannot be written",
		"A8": "an engine that is away when the answer comes",
	} {
		for j := range rows {
			if rows[j].name == name {
				rows[j].beyond = where
			}
		}
	}
	run(t, rows)
}

// The rows of docs/contracts/delivery.md, 9.4.
func TestObservation(t *testing.T) {
	var rows []row
	for _, list := range [][]row{
		both("O1", func(h *history, b delivery.Begun) { h.do(h.seen(b, turnU, delivery.TurnCompleted)) }, delivered),
		both("O2", func(h *history, b delivery.Begun) { h.refuses(h.seen(b, "turn-v", delivery.TurnCompleted)) }, tracking),
		both("O3 failed", func(h *history, b delivery.Begun) { h.do(h.seen(b, turnU, delivery.EndOf("failed"))) }, manual),
		both("O3 interrupted", func(h *history, b delivery.Begun) { h.do(h.seen(b, turnU, delivery.EndOf("interrupted"))) }, manual),
		both("O3 replaced", func(h *history, b delivery.Begun) { h.do(h.seen(b, turnU, delivery.EndOf("replaced"))) }, manual),
		both("O3 a new word", func(h *history, b delivery.Begun) { h.do(h.seen(b, turnU, delivery.EndOf("inProgress"))) }, manual),
		both("O4", func(h *history, b delivery.Begun) {
			p := h.seen(b, turnU, delivery.TurnCompleted)
			p.At = h.deadline()
			h.do(p)
			if a := h.entry("b1").Attempts[0]; a.LastEvent != delivery.TurnCompleted {
				h.Errorf("no evidence in %+v", a)
			}
		}, expired),
		both("O5", func(h *history, _ delivery.Begun) { h.expire() }, expired),
		both("O6", func(h *history, b delivery.Begun) {
			p := h.seen(b, turnU, delivery.TurnCompleted)
			h.expire()
			h.do(p)
		}, delivered.with(func(w *want) { w.replay, w.session, w.epoch = delivery.Manual, delivery.Parked, 9 })),
		both("O7", func(h *history, b delivery.Begun) {
			p := h.seen(b, turnU, delivery.TurnCompleted)
			h.expire()
			h.invalidate(true)
			h.do(p)
		}, manual.with(func(w *want) { w.epoch = 9 })),
		both("O8", func(h *history, b delivery.Begun) {
			h.invalidate(true)
			p := h.seen(b, turnU, delivery.TurnCompleted)
			p.Epoch = 8
			h.do(p)
		}, manual),
		both("O10", func(h *history, b delivery.Begun) {
			p := h.seen(b, turnU, delivery.TurnCompleted)
			p.Read = true
			h.do(p)
			if l := h.lines[len(h.lines)-1]; l.Decision != delivery.AuditReconciled {
				h.Errorf("the audit says %+v", l)
			}
		}, delivered),
		both("O11", func(h *history, _ delivery.Begun) { h.expire() }, expired),
		both("O12", func(h *history, b delivery.Begun) {
			for range 3 {
				h.do(h.seen(b, turnU, delivery.TurnCompleted))
			}
		}, delivered),
	} {
		rows = append(rows, list...)
	}
	for _, kind := range []delivery.RPCKind{delivery.TurnStart, delivery.TurnSteer} {
		rows = append(rows, once("O9 "+string(kind), kind, func(h *history, b delivery.Begun) {
			h.do(h.accepted(b, turnU), h.seen(b, turnU, delivery.TurnCompleted))
		}, manual), once("O9, and expired "+string(kind), kind, func(h *history, b delivery.Begun) {
			h.do(h.accepted(b, turnU))
			p := h.seen(b, turnU, delivery.TurnCompleted)
			h.expire()
			h.do(p)
		}, expired))
	}
	for i := range rows {
		switch rows[i].name[:3] {
		case "O10":
			rows[i].beyond = "a completion that a client does not tell and a read shows"
		case "O11":
			rows[i].beyond = "no activity reads a client's files for a proof"
		}
	}
	run(t, rows)
}

// The rows of docs/contracts/delivery.md, 9.5.
func TestEnds(t *testing.T) {
	run(t, []row{
		{name: "P1", happen: func(t *testing.T) *history {
			h, _ := tracked(t, delivery.TurnStart)
			h.invalidate(false)
			h.refuses(bound())
			h.do(delivery.Closed{Batch: "b1", Reason: delivery.Unconfirmed, By: "ada"})
			h.now = h.now.Add(time.Hour)
			if d := h.s.Decide("b2", h.now); d.Reason != delivery.NotLive {
				t.Errorf("parked: %+v", d)
			}
			h.do(bound())
			if d := h.s.Decide("b2", h.now); d.Outcome != delivery.Wait {
				t.Errorf("bound and not proved: %+v", d)
			}
			h.prove(delivery.IdleThread, nil)
			if d := h.s.Decide("b2", h.now); d.Outcome != delivery.Start {
				t.Errorf("proved: %+v", d)
			}
			h.invalidate(false)
			return h
		}, want: manual.with(func(w *want) { w.close, w.session, w.epoch = delivery.Unconfirmed, delivery.Live, 10 })},
		{name: "P2", happen: func(t *testing.T) *history {
			h, _ := tracked(t, delivery.TurnStart)
			h.now = h.now.Add(time.Hour)
			h.invalidate(false)
			h.now = h.now.Add(24*time.Hour - 1)
			h.refuses(delivery.WindowPassed{Batch: "b1"})
			h.now = h.now.Add(1)
			h.sweep()
			return h
		}, want: manual.with(func(w *want) { w.close = delivery.ResolutionPassed })},
		{name: "P3", happen: func(t *testing.T) *history {
			h := idle(t, delivery.StrictSafe)
			h.now = h.now.Add(24*time.Hour - 1)
			if n := h.sweep(); n != 0 {
				t.Errorf("%d due", n)
			}
			h.now = h.now.Add(1)
			if n := h.sweep(); n != 2 || len(h.s.Queue) != 0 {
				t.Errorf("%d due", n)
			}
			h.invalidate(false)
			return h
		}, want: want{replay: delivery.Automatic, close: delivery.WindowExhausted, session: delivery.Live, epoch: 8}},
		{name: "P4", happen: func(t *testing.T) *history {
			h := idle(t, delivery.StrictSafe)
			h.now = h.now.Add(23 * time.Hour)
			b := h.begin(delivery.TurnStart)
			h.do(h.accepted(b, turnU))
			h.now = h.now.Add(2 * time.Hour)
			h.refuses(delivery.WindowPassed{Batch: "b1"})
			if n := h.sweep(); n != 1 || h.entry("b2").Close != delivery.WindowExhausted {
				t.Errorf("%d due", n)
			}
			return h
		}, want: tracking},
		{name: "P5", happen: func(t *testing.T) *history {
			h, b := tracked(t, delivery.TurnStart)
			h.refuses(delivery.Bound{Session: sessionID, Thread: "thread-2", Adapter: adapter})
			h.refuses(delivery.Bound{Session: "session-2", Thread: "thread-2", Adapter: adapter})
			h.do(h.seen(b, turnU, delivery.TurnCompleted))
			if h.s.Session.Thread != threadID {
				t.Errorf("bound to %s", h.s.Session.Thread)
			}
			return h
		}, want: delivered},
		{name: "cancelled", happen: func(t *testing.T) *history {
			h := idle(t, delivery.StrictSafe)
			h.refuses(delivery.Closed{Batch: "b2", Reason: delivery.Confirmed})
			h.refuses(delivery.Closed{Batch: "b1", Reason: delivery.Delivered})
			h.refuses(delivery.Closed{Batch: "b9", Reason: delivery.Cancelled})
			h.do(delivery.Closed{Batch: "b2", Reason: delivery.Cancelled}, delivery.Closed{Batch: "b1", Reason: delivery.Cancelled})
			h.invalidate(false)
			return h
		}, want: want{replay: delivery.Automatic, close: delivery.Cancelled, session: delivery.Live, epoch: 8}},
		{name: "cancelled while it is tracked", happen: func(t *testing.T) *history {
			h, _ := tracked(t, delivery.TurnStart)
			h.refuses(delivery.Closed{Batch: "b1", Reason: delivery.Cancelled})
			return h
		}, want: tracking},
	})
}
