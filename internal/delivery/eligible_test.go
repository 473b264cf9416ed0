package delivery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// outcome demands a decision on a batch, and that the gate agrees with it: what is not to be sent is not
// admitted, and a steer that is forced is refused too.
func (h *history) outcome(id string, want delivery.Outcome, reason delivery.Reason) {
	h.Helper()
	d := h.s.Decide(id, h.now)
	if d.Outcome != want || d.Reason != reason || (d.Turn == turnU) != (want == delivery.Steer) {
		h.Errorf("batch %s: %+v, want %s %s", id, d, want, reason)
	}
	for kind, sends := range map[delivery.RPCKind]delivery.Outcome{delivery.TurnSteer: delivery.Steer, delivery.TurnStart: delivery.Start} {
		b := h.request(kind)
		b.Batch = id
		if p, a, err := h.s.Begin(b, h.now); (err == nil) != (want == sends) || a != nil || (p != nil) != (err == nil) {
			h.Errorf("%s of batch %s while the decision is %s: %v", kind, id, d.Outcome, err)
		} else if err != nil {
			h.refuses(b)
		}
	}
}

type decisionRow struct {
	name   string
	mode   delivery.Mode
	change func(h *history)
	batch  string // b1 unless it says otherwise
	want   delivery.Outcome
	reason delivery.Reason
}

func decide(t *testing.T, facts func(testing.TB, delivery.Mode) *history, rows []decisionRow) {
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h := facts(t, row.mode)
			if row.change != nil {
				row.change(h)
			}
			if row.batch == "" {
				row.batch = "b1"
			}
			h.outcome(row.batch, row.want, row.reason)
		})
	}
}

func profile(change func(*delivery.Profile)) func(*history) {
	return func(h *history) {
		p := delivery.SafeProfile()
		change(&p)
		h.s.Queue[0].Batch.Profile = p
	}
}

func seen(change func(*delivery.View)) func(*history) {
	return func(h *history) { change(h.s.Session.View) }
}

func artifact(h *history) {
	h.s.Queue[0].Batch.Jobs[0].Artifacts = []delivery.Artifact{{Name: "log"}}
}

// The rows of docs/contracts/delivery.md, 9.1.
func TestSteer(t *testing.T) {
	const strict, trusted = delivery.StrictSafe, delivery.TrustedAll
	risky := func(v *delivery.View) { v.RiskClass, v.RequiresWrite = ptr(delivery.MixedRisk), ptr(true) }
	decide(t, green, []decisionRow{
		{"S1", strict, nil, "", delivery.Steer, ""},
		{"S1 by trust", trusted, nil, "", delivery.Steer, ""},
		{"S2", strict, func(h *history) { h.s.Session.Capabilities.Steer.Gate = false }, "", delivery.Wait, delivery.SteerOff},
		{"S3 not read-only", strict, profile(func(p *delivery.Profile) { p.ReadOnly = ptr(false) }), "", delivery.Operator, delivery.BatchPolicy},
		{"S3 approval", strict, profile(func(p *delivery.Profile) { p.Approval = ptr(true) }), "", delivery.Operator, delivery.BatchPolicy},
		{"S3 network", strict, profile(func(p *delivery.Profile) { p.Network = ptr(true) }), "", delivery.Operator, delivery.BatchPolicy},
		{"S3 write", strict, profile(func(p *delivery.Profile) { p.Write = ptr(true) }), "", delivery.Operator, delivery.BatchPolicy},
		{"S3 a flag is absent", strict, profile(func(p *delivery.Profile) { p.Write = nil }), "", delivery.Operator, delivery.BatchPolicy},
		{"S3 no flags", strict, profile(func(p *delivery.Profile) { *p = delivery.Profile{} }), "", delivery.Operator, delivery.BatchPolicy},
		{"S3 by trust", trusted, profile(func(p *delivery.Profile) { p.Network = ptr(true) }), "", delivery.Wait, delivery.SteerBatch},
		{"S4", strict, artifact, "", delivery.Operator, delivery.BatchFile},
		{"S4 by trust", trusted, artifact, "", delivery.Wait, delivery.SteerBatch},
		{"S5", strict, func(h *history) { h.s.Queue[0].Batch.Jobs[0].Summary = strings.Repeat("x", delivery.MaxSteerBytes) }, "", delivery.Wait, delivery.SteerSize},
		{"S6 approval", strict, seen(func(v *delivery.View) { v.RequiresApproval = ptr(true) }), "", delivery.Wait, delivery.RiskyTurn},
		{"S6 network", strict, seen(func(v *delivery.View) { v.RequiresNetwork = ptr(true) }), "", delivery.Wait, delivery.RiskyTurn},
		{"S6 write", strict, seen(func(v *delivery.View) { v.RequiresWrite = ptr(true) }), "", delivery.Wait, delivery.RiskyTurn},
		{"S7 no view", strict, func(h *history) { h.s.Session.View = nil }, "", delivery.Wait, delivery.NoView},
		{"S7 no id", strict, seen(func(v *delivery.View) { v.ID = nil }), "", delivery.Wait, delivery.NoView},
		{"S7 an empty id", strict, seen(func(v *delivery.View) { v.ID = ptr("") }), "", delivery.Wait, delivery.NoView},
		{"S7 no kind", strict, seen(func(v *delivery.View) { v.Kind = nil }), "", delivery.Wait, delivery.NoView},
		{"S7 no approval", strict, seen(func(v *delivery.View) { v.RequiresApproval = nil }), "", delivery.Wait, delivery.NoView},
		{"S7 no network", strict, seen(func(v *delivery.View) { v.RequiresNetwork = nil }), "", delivery.Wait, delivery.NoView},
		{"S7 no write", strict, seen(func(v *delivery.View) { v.RequiresWrite = nil }), "", delivery.Wait, delivery.NoView},
		{"S7 no class", strict, seen(func(v *delivery.View) { v.RiskClass = nil }), "", delivery.Wait, delivery.NoView},
		{"S7 no word on steering", strict, seen(func(v *delivery.View) { v.Steerable = nil }), "", delivery.Wait, delivery.NoView},
		{"S7 unknown class", strict, seen(func(v *delivery.View) { v.RiskClass = ptr(delivery.UnknownRisk) }), "", delivery.Wait, delivery.RiskyTurn},
		{"S7 mixed class", strict, seen(func(v *delivery.View) { v.RiskClass = ptr(delivery.MixedRisk) }), "", delivery.Wait, delivery.RiskyTurn},
		{"S8", strict, seen(func(v *delivery.View) { v.Epoch = 6 }), "", delivery.Wait, delivery.OldView},
		{"S9 another thread", strict, seen(func(v *delivery.View) { v.Thread = "thread-2" }), "", delivery.Deny, delivery.OtherThread},
		{"S9 another session", strict, seen(func(v *delivery.View) { v.Session = "session-2" }), "", delivery.Deny, delivery.OtherThread},
		{"S9 by trust", trusted, seen(func(v *delivery.View) { v.Thread = "thread-2" }), "", delivery.Deny, delivery.OtherThread},
		{"S10", strict, seen(func(v *delivery.View) { v.ID = nil }), "", delivery.Wait, delivery.NoView},
		{"S11", strict, seen(func(v *delivery.View) { v.Kind = ptr(delivery.OtherTurn) }), "", delivery.Wait, delivery.RiskyTurn},
		{"S12", strict, seen(func(v *delivery.View) { v.Steerable = ptr(false) }), "", delivery.Wait, delivery.Unsteerable},
		{"S13 the same turn", strict, func(h *history) { h.s.Session.Capabilities.Steer.SameTurn = false }, "", delivery.Wait, delivery.SteerUnproved},
		{"S13 the marker", strict, func(h *history) { h.s.Session.Capabilities.Steer.Reconciles = false }, "", delivery.Wait, delivery.SteerUnproved},
		{"S13 the order", strict, func(h *history) { h.s.Session.Capabilities.Steer.Ordered = false }, "", delivery.Wait, delivery.SteerUnproved},
		{"S13 the trial", strict, func(h *history) { h.s.Session.Capabilities.Steer.Smoke = false }, "", delivery.Wait, delivery.SteerUnproved},
		{"S13 the answers", strict, func(h *history) { h.s.Session.Capabilities.Steer.KeepsAnswers = false }, "", delivery.Wait, delivery.SteerUnproved},
		{"S13 the other ends", strict, func(h *history) { h.s.Session.Capabilities.NegativeEnds = false }, "", delivery.Wait, delivery.Incapable},
		{"S13 an older epoch", strict, func(h *history) { h.s.Session.Capabilities.Epoch = 6 }, "", delivery.Wait, delivery.Incapable},
		{"S14 pending", strict, func(h *history) { h.begin(delivery.TurnSteer) }, "", delivery.Nothing, delivery.InFlight},
		{"S14 tracked", strict, func(h *history) {
			h.do(h.accepted(h.begin(delivery.TurnSteer), turnU))
			h.now = h.now.Add(time.Hour)
		}, "", delivery.Nothing, delivery.InFlight},
		{"S15", strict, nil, "b2", delivery.Nothing, delivery.NotHead},
		{"S16", strict, func(h *history) { h.s.Queue[0].Charged = 3 }, "", delivery.Nothing, delivery.NoBudget},
		{"S16 one is left", strict, func(h *history) { h.s.Queue[0].Charged = 2 }, "", delivery.Steer, ""},
		{"S17", strict, func(h *history) { h.s.LastAccepted = h.now.Add(-time.Second) }, "", delivery.Nothing, delivery.TooSoon},
		{"S17 the last moment", strict, func(h *history) { h.s.LastAccepted = h.now.Add(-30*time.Second + 1) }, "", delivery.Nothing, delivery.TooSoon},
		{"S17 over", strict, func(h *history) { h.s.LastAccepted = h.now.Add(-30 * time.Second) }, "", delivery.Steer, ""},
		{"S17 another interval", strict, func(h *history) {
			h.s.Limits.Interval = time.Hour
			h.s.LastAccepted = h.now.Add(-30 * time.Second)
		}, "", delivery.Nothing, delivery.TooSoon},
		{"S18", strict, func(h *history) { h.s.Queue[0].Replay = delivery.Manual }, "", delivery.Nothing, delivery.ManualOnly},
		{"S18 the next", strict, func(h *history) { h.s.Queue[0].Replay = delivery.Manual }, "b2", delivery.Nothing, delivery.NotHead},
		{"S18 by trust", trusted, func(h *history) { h.s.Queue[0].Replay = delivery.Manual }, "", delivery.Nothing, delivery.ManualOnly},
		{"S19", trusted, seen(risky), "", delivery.Wait, delivery.RiskyTurn},
		{"reserved", strict, func(h *history) { h.s.Queue[0].Batch.ReservedBy = "desktop" }, "", delivery.Nothing, delivery.Reserved},
		{"reserved for us", strict, func(h *history) { h.s.Queue[0].Batch.ReservedBy = adapter }, "", delivery.Steer, ""},
		{"no such batch", strict, nil, "b9", delivery.Nothing, delivery.NotOpen},
	})
}

// The rows of docs/contracts/delivery.md, 9.2.
func TestIdle(t *testing.T) {
	const strict, trusted = delivery.StrictSafe, delivery.TrustedAll
	status := func(word string) func(*history) {
		return func(h *history) { h.s.Session.Activity.Activity = delivery.ActivityOf(word) }
	}
	network := func(h *history) {
		h.s.Session.Permissions.Current, h.s.Session.Startup = &delivery.Allows{Network: true}, &delivery.Allows{Network: true}
	}
	without := func(change func(*delivery.Capabilities)) func(*history) {
		return func(h *history) { change(&h.s.Session.Capabilities) }
	}
	decide(t, idle, []decisionRow{
		{"I1", strict, nil, "", delivery.Start, ""},
		{"I1 without a gate", strict, without(func(c *delivery.Capabilities) { c.Steer = delivery.SteerProof{} }), "", delivery.Start, ""},
		{"I1 with resume alone", strict, without(func(c *delivery.Capabilities) { c.ThreadStart = false }), "", delivery.Start, ""},
		{"I2 unknown", strict, status("unknown"), "", delivery.Wait, delivery.Unproved},
		{"I2 active", strict, status("active"), "", delivery.Wait, delivery.NoView},
		{"I2 notLoaded", strict, status("notLoaded"), "", delivery.Wait, delivery.Unproved},
		{"I2 systemError", strict, status("systemError"), "", delivery.Wait, delivery.Unproved},
		{"I2 a new word", strict, status("paused"), "", delivery.Wait, delivery.Unproved},
		{"I3", strict, func(h *history) { h.s.Session.Activity.Epoch = 6 }, "", delivery.Wait, delivery.Unproved},
		{"I3 a new epoch", strict, func(h *history) {
			h.do(delivery.Invalidated{Session: sessionID, Epoch: 7, Reason: "test"})
		}, "", delivery.Wait, delivery.NoSnapshot},
		{"I3 a new epoch by trust", trusted, func(h *history) {
			h.do(delivery.Invalidated{Session: sessionID, Epoch: 7, Reason: "test"})
		}, "", delivery.Wait, delivery.Incapable},
		{"I4", strict, network, "", delivery.Operator, delivery.Permitted},
		{"I4 approval", strict, func(h *history) {
			h.s.Session.Permissions.Current, h.s.Session.Startup = &delivery.Allows{Approval: true}, &delivery.Allows{Approval: true}
		}, "", delivery.Operator, delivery.Permitted},
		{"I4 write", strict, func(h *history) {
			h.s.Session.Permissions.Current, h.s.Session.Startup = &delivery.Allows{Write: true}, &delivery.Allows{Write: true}
		}, "", delivery.Operator, delivery.Permitted},
		{"I4 tighter since the start", strict, func(h *history) { h.s.Session.Startup = &delivery.Allows{Network: true} }, "", delivery.Start, ""},
		{"I4 looser since the start", strict, func(h *history) { h.s.Session.Permissions.Current = &delivery.Allows{Write: true} }, "", delivery.Operator, delivery.Drifted},
		{"I4 by trust", trusted, network, "", delivery.Start, ""},
		{"I5", strict, func(h *history) { h.s.Session.Permissions.Epoch = 6 }, "", delivery.Wait, delivery.NoSnapshot},
		{"I5 unreadable", strict, func(h *history) { h.s.Session.Permissions.Current = nil }, "", delivery.Wait, delivery.NoSnapshot},
		{"I5 nothing pinned", strict, func(h *history) { h.s.Session.Startup = nil }, "", delivery.Wait, delivery.NoSnapshot},
		{"I5 by trust", trusted, func(h *history) { h.s.Session.Permissions.Epoch = 6 }, "", delivery.Start, ""},
		{"no thread", strict, without(func(c *delivery.Capabilities) { c.ThreadStart, c.ThreadResume = false, false }), "", delivery.Wait, delivery.Incapable},
		{"no turn, and permissions that are never read", strict, func(h *history) {
			h.s.Session.Capabilities.TurnStart, h.s.Session.Permissions.Current = false, nil
		}, "", delivery.Wait, delivery.Incapable},
		{"no turn", strict, without(func(c *delivery.Capabilities) { c.TurnStart = false }), "", delivery.Wait, delivery.Incapable},
		{"no read", strict, without(func(c *delivery.Capabilities) { c.CurrentStateSync = false }), "", delivery.Wait, delivery.Incapable},
		{"no completions", strict, without(func(c *delivery.Capabilities) { c.TurnCompleted = false }), "", delivery.Wait, delivery.Incapable},
		{"no other ends", strict, without(func(c *delivery.Capabilities) { c.NegativeEnds = false }), "", delivery.Wait, delivery.Incapable},
		{"detached", strict, func(h *history) {
			h.do(delivery.Invalidated{Session: sessionID, Epoch: 7, Reason: "test", Gone: true})
		}, "", delivery.Wait, delivery.NotLive},
		{"bound to another thread", strict, func(h *history) { h.s.Session.Thread = "thread-2" }, "", delivery.Deny, delivery.OtherThread},
		{"a view of another thread, though idle", strict, func(h *history) {
			h.s.Session.View = view(7)
			h.s.Session.View.Thread = "thread-2"
		}, "", delivery.Deny, delivery.OtherThread},
		{"overloaded a moment ago", strict, func(h *history) { h.s.Queue[0].NotBefore = h.now.Add(1) }, "", delivery.Nothing, delivery.TooSoon},
		{"overloaded before", strict, func(h *history) { h.s.Queue[0].NotBefore = h.now }, "", delivery.Start, ""},
	})
}

// What a request says of itself must be true, whatever the facts allow.
func TestARequestMustFitTheFacts(t *testing.T) {
	for name, change := range map[string]func(*delivery.Begun){
		"another session":             func(b *delivery.Begun) { b.Session = "session-2" },
		"another adapter":             func(b *delivery.Begun) { b.Adapter = "pi" },
		"an older epoch":              func(b *delivery.Begun) { b.Epoch = 6 },
		"a coming epoch":              func(b *delivery.Begun) { b.Epoch = 8 },
		"an older activity":           func(b *delivery.Begun) { b.ActivityRevision-- },
		"older capabilities":          func(b *delivery.Begun) { b.CapabilityRevision-- },
		"a forced generation":         func(b *delivery.Begun) { b.Generation = 2 },
		"no generation":               func(b *delivery.Begun) { b.Generation = 0 },
		"no request id":               func(b *delivery.Begun) { b.RequestID = "" },
		"a marker of several lines":   func(b *delivery.Begun) { b.Marker = "m\nn" },
		"another turn":                func(b *delivery.Begun) { b.Expected = "turn-v" },
		"no turn":                     func(b *delivery.Begun) { b.Expected = "" },
		"a batch that is not there":   func(b *delivery.Begun) { b.Batch = "b9" },
		"a batch that is second":      func(b *delivery.Begun) { b.Batch = "b2" },
		"a kind that is none":         func(b *delivery.Begun) { b.Kind = "turn_inject" },
		"a start with a turn to join": func(b *delivery.Begun) { b.Kind = delivery.TurnStart },
	} {
		t.Run(name, func(t *testing.T) {
			h := green(t, delivery.StrictSafe)
			b := h.request(delivery.TurnSteer)
			change(&b)
			if _, _, err := h.s.Begin(b, h.now); delivery.ReasonOf(err) == "" {
				t.Errorf("admitted: %v", err)
			}
			if b.Kind == "turn_inject" {
				return // it does not even decode
			}
			h.refuses(b)
		})
	}
}
