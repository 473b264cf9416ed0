package agenttest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/agenttest/fakemodel"
)

var permissions = []testCase{
	{"an allowed call is made", asks, allowed},
	{"a call allowed for the session is made", asks, allowedForTheSession},
	{"a denied call is not made", asks, denied},
	{"an abort ends the turn", asks, aborted},
	{"a decision counts once", asks, decidedOnce},
	{"an interrupt withdraws what was asked", func(c agent.Capabilities) bool { return c.Permissions && c.Interrupt }, withdrawn},
	{"what waited at a stop is asked again", func(c agent.Capabilities) bool { return c.Permissions && c.Resume }, askedAgain},
}

// ask has the agent ask whether it may create the file.
func (b *bench) ask(l *Log) (p agent.Permission, file string) {
	b.Helper()
	file = filepath.Join(b.options.Dir, "made")
	l.Send("make it " + b.Touch(file) + fakemodel.Say("that was it"))
	p = b.asked(l)
	if p.CallID == "" || p.Tool == "" || !json.Valid(p.Input) {
		b.Errorf("%+v with input %s", p, p.Input)
	}
	if exists(file) {
		b.Error("the file was made before anybody was asked")
	}
	return p, file
}

// asked reads up to a permission request that must come.
func (b *bench) asked(l *Log) agent.Permission {
	b.Helper()
	p, ok := permissionOrTurn(l)
	if !ok {
		b.Fatalf("the turn ended without a permission request:%s", l)
	}
	return p
}

// permissionOrTurn reads up to a permission request, or the end of the turn.
func permissionOrTurn(l *Log) (p agent.Permission, ok bool) {
	l.t.Helper()
	l.Until("a permission request or the end of the turn", func(e agent.Event) (either bool) {
		switch e := e.(type) {
		case agent.Permission:
			p, ok = e, true
			return true
		case agent.Turn:
			return true
		default:
			return false
		}
	})
	return p, ok
}

func (b *bench) decide(s agent.Session, d agent.PermissionDecision) {
	b.Helper()
	if err := s.Decide(b.Context(), d); err != nil {
		b.Fatalf("decide %s: %v", d.Verdict, err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// result checks that the call was told once, and returns what it gave.
func (b *bench) result(l *Log, callID string) agent.ToolResult {
	b.Helper()
	uses, results := 0, []agent.ToolResult{}
	for _, u := range All[agent.ToolUse](l.Events()) {
		if u.CallID == callID {
			uses++
		}
	}
	for _, r := range All[agent.ToolResult](l.Events()) {
		if r.CallID == callID {
			results = append(results, r)
		}
	}
	if uses != 1 || len(results) != 1 {
		b.Fatalf("the call was told %d times, and its result %d times:%s", uses, len(results), l)
	}
	return results[0]
}

func allowed(b *bench) {
	s, l := b.start(b.options)
	p, file := b.ask(l)
	b.decide(s, agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow})
	turn := Next[agent.Turn](l)
	if turn.Status != agent.Completed || turn.Text != "that was it" {
		b.Errorf("the turn was %s with %q, error %v:%s", turn.Status, turn.Text, turn.Err, l)
	}
	if r := b.result(l, p.CallID); r.Error {
		b.Errorf("%+v", r)
	}
	if !exists(file) {
		b.Error("the file was not made")
	}
	if w := All[agent.Withdrawn](l.Events()); len(w) > 0 {
		b.Errorf("withdrawn: %v", w)
	}
	b.works(l)
}

// allowedForTheSession repeats the very call: that is the least that a session's
// scope covers.
func allowedForTheSession(b *bench) {
	s, l := b.start(b.options)
	p, file := b.ask(l)
	b.decide(s, agent.PermissionDecision{CallID: p.CallID, Verdict: agent.AllowSession})
	if turn := Next[agent.Turn](l); turn.Status != agent.Completed || !exists(file) {
		b.Fatalf("the turn was %s, the file made: %v:%s", turn.Status, exists(file), l)
	}
	l.Send("again " + b.Touch(file) + fakemodel.Say("twice"))
	if p, ok := permissionOrTurn(l); ok {
		if b.can.SessionScope {
			b.Errorf("asked again: %+v", p)
		}
		b.decide(s, agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow})
		Next[agent.Turn](l)
	}
	b.works(l)
}

func denied(b *bench) {
	s, l := b.start(b.options)
	p, file := b.ask(l)
	b.decide(s, agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Deny, Reason: "not on my watch"})
	if turn := Next[agent.Turn](l); turn.Status != agent.Completed {
		b.Errorf("the turn was %s, error %v:%s", turn.Status, turn.Err, l)
	}
	if r := b.result(l, p.CallID); !r.Error {
		b.Errorf("%+v", r)
	}
	if exists(file) {
		b.Error("the file was made")
	}
	b.works(l)
	if b.can.DenyReason && !b.heard("not on my watch") {
		b.Error("the model did not hear why")
	}
}

func aborted(b *bench) {
	s, l := b.start(b.options)
	p, file := b.ask(l)
	b.decide(s, agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Abort})
	if turn := Next[agent.Turn](l); turn.Status != agent.Interrupted {
		b.Errorf("the turn was %s, error %v:%s", turn.Status, turn.Err, l)
	}
	if exists(file) {
		b.Error("the file was made")
	}
	b.works(l)
}

func decidedOnce(b *bench) {
	s, l := b.start(b.options)
	p, _ := b.ask(l)
	yes := agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow}
	for name, d := range map[string]agent.PermissionDecision{
		"no id": {Verdict: agent.Allow}, "an id of nothing": {CallID: p.CallID + "0", Verdict: agent.Allow},
	} {
		if err := s.Decide(b.Context(), d); !errors.Is(err, agent.ErrNotPending) {
			b.Errorf("%s: %v", name, err)
		}
	}
	b.decide(s, yes)
	if err := s.Decide(b.Context(), yes); !errors.Is(err, agent.ErrNotPending) {
		b.Errorf("a second time: %v", err)
	}
	Next[agent.Turn](l)
	if err := s.Decide(b.Context(), yes); !errors.Is(err, agent.ErrNotPending) {
		b.Errorf("after the turn: %v", err)
	}
}

func withdrawn(b *bench) {
	s, l := b.start(b.options)
	p, file := b.ask(l)
	b.interrupt(s)
	l.Poll("Withdrawn and Turn", func() bool {
		return len(All[agent.Withdrawn](l.Events())) > 0 && len(All[agent.Turn](l.Events())) > 0
	})
	if w := All[agent.Withdrawn](l.Events()); len(w) != 1 || w[0].CallID != p.CallID {
		b.Errorf("withdrawn: %v, asked under %s", w, p.CallID)
	}
	if turn := All[agent.Turn](l.Events())[0]; turn.Status != agent.Interrupted {
		b.Errorf("the turn was %s, error %v:%s", turn.Status, turn.Err, l)
	}
	err := s.Decide(b.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow})
	if !errors.Is(err, agent.ErrNotPending) {
		b.Errorf("a late decision: %v", err)
	}
	b.works(l)
	if exists(file) {
		b.Error("the file was made")
	}
}

// askedAgain has the model call again what was never answered. Whether the
// agent told it so is what it sees.
func askedAgain(b *bench) {
	s, l := b.start(b.options)
	first, file := b.ask(l)
	o := b.resumed(s)
	b.stop(s)
	s, l = b.start(o)
	l.Send("go on")
	p := b.asked(l)
	if p.Tool != first.Tool || p.CallID == first.CallID {
		b.Errorf("asked %+v, then %+v", first, p)
	}
	b.decide(s, agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow})
	if turn := Next[agent.Turn](l); turn.Status != agent.Completed || turn.Text != "that was it" || !exists(file) {
		b.Errorf("the turn was %s with %q, the file made: %v:%s", turn.Status, turn.Text, exists(file), l)
	}
}
