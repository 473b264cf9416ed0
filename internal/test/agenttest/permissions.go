package agenttest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

var permissions = []testCase{
	{"an allowed call is made", canAsk, testAllowed},
	{"a call allowed for the session is made", canAsk, testAllowedForTheSession},
	{"a denied call is not made", canAsk, testDenied},
	{"an abort ends the turn", canAsk, testAborted},
	{"a decision counts once", canAsk, testDecidedOnce},
	{"an interrupt withdraws what was asked", func(c agent.Capabilities) bool { return c.Permissions && c.Interrupt }, testWithdrawn},
	{"what waited at a stop is asked again", func(c agent.Capabilities) bool { return c.Permissions && c.Resume }, testAskedAgain},
}

// askForFile makes the agent ask for the permission to create the file.
func (b *bench) askForFile(l *Log) (p agent.Permission, file string) {
	b.Helper()
	file = filepath.Join(b.options.Dir, "made")
	l.Send("make it " + b.Touch(file) + fakemodel.Say("that was it"))
	p = b.nextPermission(l)
	if p.CallID == "" || p.Tool == "" || !json.Valid(p.Input) {
		b.Errorf("%+v with input %s", p, p.Input)
	}
	if fileExists(file) {
		b.Error("the file was made before anybody was asked")
	}
	return p, file
}

// nextPermission reads up to a permission request that must come.
func (b *bench) nextPermission(l *Log) agent.Permission {
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

func (b *bench) decidePermission(s agent.Session, d agent.PermissionDecision) {
	b.Helper()
	if err := s.Decide(b.Context(), d); err != nil {
		b.Fatalf("decide %s: %v", d.Verdict, err)
	}
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// callResult checks that the call was reported once, and returns its result.
func (b *bench) callResult(l *Log, callID string) agent.ToolResult {
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

func testAllowed(b *bench) {
	s, l := b.startSession(b.options)
	p, file := b.askForFile(l)
	b.decidePermission(s, agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow})
	turn := Next[agent.Turn](l)
	if turn.Status != agent.Completed || turn.Text != "that was it" {
		b.Errorf("the turn was %s with %q, error %v:%s", turn.Status, turn.Text, turn.Err, l)
	}
	if r := b.callResult(l, p.CallID); r.Error {
		b.Errorf("%+v", r)
	}
	if !fileExists(file) {
		b.Error("the file was not made")
	}
	if w := All[agent.Withdrawn](l.Events()); len(w) > 0 {
		b.Errorf("withdrawn: %v", w)
	}
	b.checkWorks(l)
}

// testAllowedForTheSession repeats the same call, which is the least that the scope
// of a session covers.
func testAllowedForTheSession(b *bench) {
	s, l := b.startSession(b.options)
	p, file := b.askForFile(l)
	b.decidePermission(s, agent.PermissionDecision{CallID: p.CallID, Verdict: agent.AllowSession})
	if turn := Next[agent.Turn](l); turn.Status != agent.Completed || !fileExists(file) {
		b.Fatalf("the turn was %s, the file made: %v:%s", turn.Status, fileExists(file), l)
	}
	l.Send("again " + b.Touch(file) + fakemodel.Say("twice"))
	if p, ok := permissionOrTurn(l); ok {
		if b.can.SessionScope {
			b.Errorf("asked again: %+v", p)
		}
		b.decidePermission(s, agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow})
		Next[agent.Turn](l)
	}
	b.checkWorks(l)
}

func testDenied(b *bench) {
	s, l := b.startSession(b.options)
	p, file := b.askForFile(l)
	b.decidePermission(s, agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Deny, Reason: "not on my watch"})
	if turn := Next[agent.Turn](l); turn.Status != agent.Completed {
		b.Errorf("the turn was %s, error %v:%s", turn.Status, turn.Err, l)
	}
	if r := b.callResult(l, p.CallID); !r.Error {
		b.Errorf("%+v", r)
	}
	if fileExists(file) {
		b.Error("the file was made")
	}
	b.checkWorks(l)
	if b.can.DenyReason && !b.modelHeard("not on my watch") {
		b.Error("the model did not hear why")
	}
}

func testAborted(b *bench) {
	s, l := b.startSession(b.options)
	p, file := b.askForFile(l)
	b.decidePermission(s, agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Abort})
	if turn := Next[agent.Turn](l); turn.Status != agent.Interrupted {
		b.Errorf("the turn was %s, error %v:%s", turn.Status, turn.Err, l)
	}
	if fileExists(file) {
		b.Error("the file was made")
	}
	b.checkWorks(l)
}

func testDecidedOnce(b *bench) {
	s, l := b.startSession(b.options)
	p, _ := b.askForFile(l)
	yes := agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow}
	for name, d := range map[string]agent.PermissionDecision{
		"no id": {Verdict: agent.Allow}, "an id of nothing": {CallID: p.CallID + "0", Verdict: agent.Allow},
	} {
		if err := s.Decide(b.Context(), d); !errors.Is(err, agent.ErrNotPending) {
			b.Errorf("%s: %v", name, err)
		}
	}
	b.decidePermission(s, yes)
	if err := s.Decide(b.Context(), yes); !errors.Is(err, agent.ErrNotPending) {
		b.Errorf("a second time: %v", err)
	}
	Next[agent.Turn](l)
	if err := s.Decide(b.Context(), yes); !errors.Is(err, agent.ErrNotPending) {
		b.Errorf("after the turn: %v", err)
	}
}

func testWithdrawn(b *bench) {
	s, l := b.startSession(b.options)
	p, file := b.askForFile(l)
	b.interruptSession(s)
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
	b.checkWorks(l)
	if fileExists(file) {
		b.Error("the file was made")
	}
}

// testAskedAgain makes the model repeat a call that was never answered. The model
// sees whether the agent has told it about that.
func testAskedAgain(b *bench) {
	s, l := b.startSession(b.options)
	first, file := b.askForFile(l)
	o := b.resumeOptions(s)
	b.stopSession(s)
	s, l = b.startSession(o)
	l.Send("go on")
	p := b.nextPermission(l)
	if p.Tool != first.Tool || p.CallID == first.CallID {
		b.Errorf("asked %+v, then %+v", first, p)
	}
	b.decidePermission(s, agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow})
	if turn := Next[agent.Turn](l); turn.Status != agent.Completed || turn.Text != "that was it" || !fileExists(file) {
		b.Errorf("the turn was %s with %q, the file made: %v:%s", turn.Status, turn.Text, fileExists(file), l)
	}
}
