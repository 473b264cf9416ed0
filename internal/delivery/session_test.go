package delivery_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/delivery"
)

func TestOneSessionAThread(t *testing.T) {
	h := fresh(t, delivery.StrictSafe)
	other := delivery.Bound{Session: "session-2", Thread: threadID, Adapter: adapter}
	if err := h.try(other); !errors.Is(err, delivery.ErrProfileMismatch) {
		t.Errorf("a second session: %v", err)
	}
	if err := h.try(delivery.Bound{Session: sessionID, Thread: threadID, Adapter: "pi"}); !errors.Is(err, delivery.ErrProfileMismatch) {
		t.Errorf("another adapter: %v", err)
	}
	h.refuses(delivery.SessionRetired{Session: sessionID}) // it lives
	h.invalidate(true)
	h.refuses(other)
	h.refuses(delivery.SessionRetired{Session: "session-2"})
	h.do(delivery.SessionRetired{Session: sessionID})
	h.refuses(delivery.SessionRetired{Session: sessionID})
	h.refuses(bound()) // a retired one does not come back
	h.do(other)
	if s := h.s.Session; s.ID != "session-2" || s.Epoch != 1 || s.State != delivery.Live || s.Startup != nil {
		t.Errorf("session %+v", s)
	}
}

func TestNothingIsBoundWhileADeliveryIsOpen(t *testing.T) {
	for name, happen := range map[string]func(*history, delivery.Begun){
		"pending": func(*history, delivery.Begun) {},
		"tracked": func(h *history, b delivery.Begun) { h.do(h.accepted(b, turnU)) },
		"manual":  func(h *history, b delivery.Begun) { h.do(h.accepted(b, turnU), h.seen(b, turnU, delivery.TurnFailed)) },
	} {
		h, b := begun(t, delivery.TurnStart)
		happen(h, b)
		if err := h.try(bound()); !errors.Is(err, delivery.ErrPendingResolution) {
			t.Errorf("%s: bound: %v", name, err)
		}
		h.s.Session.State = delivery.Detached
		if err := h.try(delivery.SessionRetired{Session: sessionID}); !errors.Is(err, delivery.ErrPendingResolution) {
			t.Errorf("%s: retired: %v", name, err)
		}
	}
}

func TestRevisionsGrowByOne(t *testing.T) {
	h := idle(t, delivery.StrictSafe)
	s := h.s.Session
	proof := func(change func(*delivery.Proved)) delivery.Proved {
		p := delivery.Proved{
			Session: sessionID, Epoch: 7, Activity: ptr(s.Activity), Capabilities: ptr(s.Capabilities),
			Permissions: &delivery.PermissionProof{Epoch: 7, Revision: s.Permissions.Revision, Current: &delivery.Allows{}},
		}
		change(&p)
		return p
	}
	h.do(proof(func(*delivery.Proved) {})) // told twice in the same words
	for name, change := range map[string]func(*delivery.Proved){
		"another session":            func(p *delivery.Proved) { p.Session = "session-2" },
		"an older epoch":             func(p *delivery.Proved) { p.Epoch = 6 },
		"an activity of an epoch":    func(p *delivery.Proved) { p.Activity.Epoch, p.Activity.Revision = 6, 2 },
		"another activity":           func(p *delivery.Proved) { p.Activity.Activity = delivery.ActiveThread },
		"an activity that skips":     func(p *delivery.Proved) { p.Activity.Revision += 2 },
		"other capabilities":         func(p *delivery.Proved) { p.Capabilities.Steer.Gate = false },
		"capabilities that skip":     func(p *delivery.Proved) { p.Capabilities.Revision += 2 },
		"capabilities that go back":  func(p *delivery.Proved) { p.Capabilities.Revision-- },
		"other permissions":          func(p *delivery.Proved) { p.Permissions.Current.Write = true },
		"permissions nobody can say": func(p *delivery.Proved) { p.Permissions.Current = nil },
		"permissions that skip":      func(p *delivery.Proved) { p.Permissions.Revision += 2 },
	} {
		p := proof(change)
		if err := h.try(p); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	h.invalidate(true)
	p := proof(func(p *delivery.Proved) { p.Epoch, p.Activity.Epoch, p.Activity.Revision = 8, 8, 2 })
	p.Capabilities, p.Permissions = nil, nil
	h.refuses(p) // it has no process
	h.do(bound())
	p.Epoch, p.Activity.Epoch = 9, 9
	h.do(p)
	if d := h.s.Decide("b1", h.now); d.Outcome != delivery.Wait {
		t.Errorf("idle, and nothing else is proved: %+v", d)
	}
}

// The first permissions that could be read are the bound, for all epochs of the session.
func TestTheFirstPermissionsAreTheBound(t *testing.T) {
	h := fresh(t, delivery.StrictSafe)
	told := func(a *delivery.Allows) {
		t.Helper()
		s := h.s.Session
		h.do(delivery.Proved{Session: sessionID, Epoch: s.Epoch, Permissions: &delivery.PermissionProof{
			Epoch: s.Epoch, Revision: s.Permissions.Revision + 1, Current: a,
		}})
	}
	told(nil)
	if h.s.Session.Startup != nil {
		t.Errorf("bound %+v by nothing", h.s.Session.Startup)
	}
	told(&delivery.Allows{Network: true})
	h.invalidate(false)
	told(&delivery.Allows{})
	if h.s.Session.Startup == nil || *h.s.Session.Startup != (delivery.Allows{Network: true}) {
		t.Errorf("bound %+v", h.s.Session.Startup)
	}
}

// The audit tells each decision once, and the permission to send before everything else.
func TestTheAudit(t *testing.T) {
	for name, tc := range map[string]struct {
		happen func(h *history, b delivery.Begun)
		want   []delivery.Audit
	}{
		"delivered": {func(h *history, b delivery.Begun) {
			h.do(h.accepted(b, turnU), h.accepted(b, turnU), h.marked(b, turnU), h.seen(b, turnU, delivery.TurnCompleted), h.seen(b, turnU, delivery.TurnCompleted))
		}, []delivery.Audit{delivery.AuditAccepted, delivery.AuditObserved}},
		"accepted by the marker": {func(h *history, b delivery.Begun) { h.do(h.marked(b, turnU)) }, []delivery.Audit{delivery.AuditReconciled}},
		"refused": {func(h *history, b delivery.Begun) {
			h.do(delivery.Refused{RequestID: b.RequestID, Class: delivery.Benign})
		}, []delivery.Audit{delivery.AuditRejected}},
		"refused permanently": {func(h *history, b delivery.Begun) {
			h.do(delivery.Refused{RequestID: b.RequestID, Class: delivery.Permanent})
		}, []delivery.Audit{delivery.AuditRejected, delivery.AuditManualized}},
		"failed": {func(h *history, b delivery.Begun) {
			h.do(h.accepted(b, turnU), h.seen(b, turnU, delivery.TurnFailed))
		}, []delivery.Audit{delivery.AuditAccepted, delivery.AuditObserved, delivery.AuditManualized}},
		"nobody knows": {func(h *history, _ delivery.Begun) {
			h.now = h.now.Add(time.Hour)
			h.sweep()
		}, []delivery.Audit{delivery.AuditManualized}},
		"continuity lost": {func(h *history, b delivery.Begun) {
			h.do(h.accepted(b, turnU))
			h.invalidate(true)
		}, []delivery.Audit{delivery.AuditAccepted, delivery.AuditManualized}},
	} {
		t.Run(name, func(t *testing.T) {
			h, b := begun(t, delivery.TurnStart)
			tc.happen(h, b)
			var got []delivery.Audit
			for _, l := range h.lines {
				got = append(got, l.Decision)
				if l.Thread != threadID || l.Batch != "b1" || l.Attempt != 1 || l.Session != sessionID || l.Epoch != 7 ||
					l.Policy != delivery.StrictSafe || l.Adapter != adapter || l.TS.IsZero() {
					t.Errorf("line %+v", l)
				}
			}
			if want := append([]delivery.Audit{delivery.AuditAllow, delivery.AuditStart}, tc.want...); !slices.Equal(got, want) {
				t.Errorf("told %v, want %v", got, want)
			}
		})
	}
	h := green(t, delivery.TrustedAll)
	if l := h.s.Denied(h.now, "b1", delivery.OtherThread); l.Decision != delivery.AuditDeny || l.Reason != "thread_mismatch" || l.Policy != delivery.TrustedAll || l.Batch != "b1" {
		t.Errorf("denied %+v", l)
	}
}

func TestAHistoryFolds(t *testing.T) {
	h := &history{TB: t, s: new(delivery.Snapshot), now: start}
	h.refuses(bound())
	for name, p := range map[string]delivery.Opened{
		"no thread": {}, "too long an observation": {Thread: threadID, Limits: delivery.Limits{Observe: 6*time.Hour + 1}},
		"a negative interval": {Thread: threadID, Limits: delivery.Limits{Interval: -1}},
	} {
		if h.try(p) == nil {
			t.Errorf("%s was taken", name)
		}
	}
	h.do(delivery.Opened{Thread: threadID, Limits: delivery.Limits{Interval: time.Second, Observe: time.Minute}})
	h.refuses(delivery.Opened{Thread: threadID})
	h.do(bound(), delivery.Enqueued{Batch: batch("b1")})
	h.prove(delivery.IdleThread, nil)
	b := h.begin(delivery.TurnStart)
	h.do(h.accepted(b, turnU))
	if d := h.deadline(); !d.Equal(h.now.Add(time.Minute)) {
		t.Errorf("deadline %v", d)
	}
	for _, e := range []delivery.Event{
		{Seq: h.s.Seq + 2, Type: delivery.WindowEvent, Payload: delivery.WindowPassed{Batch: "b1"}},
		{Seq: h.s.Seq, Type: delivery.WindowEvent, Payload: delivery.WindowPassed{Batch: "b1"}},
		{Seq: h.s.Seq + 1, Type: delivery.StaleEvent, Payload: delivery.WindowPassed{Batch: "b1"}},
		{Seq: h.s.Seq + 1, Type: delivery.WindowEvent},
	} {
		if _, err := h.s.Apply(e); !errors.Is(err, delivery.ErrTransition) {
			t.Errorf("event %+v: %v", e, err)
		}
	}
}
