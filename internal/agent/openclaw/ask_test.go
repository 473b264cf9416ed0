package openclaw_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/coder/websocket"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

func TestDecisions(t *testing.T) {
	for verdict, test := range map[agent.PermissionVerdict]struct {
		words  []string // that the gateway hears
		status agent.TurnStatus
	}{
		agent.Allow:        {[]string{"allow-once"}, agent.Completed},
		agent.AllowSession: {[]string{"allow-once"}, agent.Completed},
		agent.Deny:         {[]string{"deny"}, agent.Completed},
		agent.Abort:        {nil, agent.Interrupted},
	} {
		t.Run(string(verdict), func(t *testing.T) {
			g := startGateway(t, fakemodel.New())
			s, l := g.start(t, g.options(t))
			l.Send(touch(filepath.Join(g.workspace, "made")))
			p := agenttest.Next[agent.Permission](l)
			if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: verdict}); err != nil {
				t.Fatal(err)
			}
			if turn := agenttest.Next[agent.Turn](l); turn.Status != test.status {
				t.Errorf("the turn was %s", turn.Status)
			}
			resolved := g.got("exec.approval.resolve")
			if len(resolved) != len(test.words) || len(test.words) > 0 && g.last(t, "exec.approval.resolve")["decision"] != test.words[0] {
				t.Errorf("resolved %s", resolved)
			}
			if w := agenttest.All[agent.Withdrawn](l.Events()); len(w) > 0 {
				t.Errorf("withdrawn %v", w)
			}
		})
	}
}

func TestPermission(t *testing.T) {
	_, s, l := scripted(t, func(r *job) {
		r.request("a1", "", "touch \\\n  ok.txt")
		<-r.ctx.Done()
	})
	l.Send("go")
	use, p := agenttest.Next[agent.ToolUse](l), agenttest.Next[agent.Permission](l)
	dir := p.Dir
	if want := `{"command":"touch \\\n  ok.txt","cwd":"` + dir + `","host":"gateway"}`; string(p.Input) != want || string(use.Input) != want {
		t.Errorf("input %s", p.Input)
	}
	if p.CallID != "a1" || use.CallID != "a1" || p.Tool != "exec" || p.Title != `touch \ ok.txt` || dir == "" {
		t.Errorf("%+v, %+v", use, p)
	}
	e, ok := errors.AsType[*failure.Error](s.Decide(t.Context(), agent.PermissionDecision{CallID: "a1", Verdict: "perhaps"}))
	if !ok || e.Code != failure.BadRequest {
		t.Errorf("a verdict that is none: %v", e)
	}
}

func TestAskThatNamesNoRun(t *testing.T) {
	_, _, l := scripted(t, func(r *job) {
		r.broadcast("exec.approval.requested", object{"id": "a1", "request": object{"command": "ls", "sessionKey": r.key, "runId": nil}})
		<-r.ctx.Done()
	})
	l.Send("go")
	if p := agenttest.Next[agent.Permission](l); p.CallID != "a1" {
		t.Errorf("%+v", p)
	}
}

func TestTwoAsksOfOneCall(t *testing.T) {
	g, s, l := scripted(t, func(r *job) {
		first, second := make(chan string, 1), make(chan string, 1)
		r.with(func() { r.asks["a1"], r.asks["a2"] = &asked{r, first}, &asked{r, second} })
		r.request("a1", "c1", "one")
		r.request("a2", "c1", "two")
		r.chatEvent("final", object{"message": text(<-first + " " + <-second)})
	})
	l.Send("go")
	one, two := agenttest.Next[agent.Permission](l), agenttest.Next[agent.Permission](l)
	if one.CallID == two.CallID {
		t.Fatalf("both under %s", one.CallID)
	}
	for call, verdict := range map[string]agent.PermissionVerdict{two.CallID: agent.Allow, one.CallID: agent.Deny} {
		if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: call, Verdict: verdict}); err != nil {
			t.Fatal(err)
		}
	}
	if turn := agenttest.Next[agent.Turn](l); turn.Text != "deny allow-once" {
		t.Errorf("answered %q, requests %s", turn.Text, g.got("exec.approval.resolve"))
	}
}

func TestAsksThatAreWithdrawn(t *testing.T) {
	for name, test := range map[string]struct {
		life int
		then func(*job)
	}{
		"its time is over": {30, func(*job) {}},
		"another client answers it": {60_000, func(r *job) {
			r.broadcast("exec.approval.resolved", object{"id": "a1", "decision": "deny"})
		}},
		"the turn ends":          {60_000, func(r *job) { r.chatEvent("final", object{}) }},
		"the connection is lost": {60_000, func(r *job) { r.drop(websocket.StatusServiceRestart, "") }},
	} {
		t.Run(name, func(t *testing.T) {
			g := startGateway(t, nil)
			g.life = test.life
			g.play = func(r *job) {
				r.request("a1", "c1", "touch ok.txt")
				<-r.ctx.Done()
			}
			s, l := g.start(t, g.options(t))
			l.Send("go")
			p := agenttest.Next[agent.Permission](l)
			test.then(g.sessions[s.ID()].run)
			if w := agenttest.Next[agent.Withdrawn](l); p.CallID != "c1" || w.CallID != "c1" {
				t.Errorf("%+v, %+v", p, w)
			}
			if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: "c1", Verdict: agent.Allow}); !errors.Is(err, agent.ErrNotPending) {
				t.Errorf("a late decision: %v", err)
			}
		})
	}
}

func TestDecisionsThatDoNotArrive(t *testing.T) {
	g, s, l := scripted(t, func(r *job) {
		answer := make(chan string, 1)
		r.with(func() { r.asks["a1"] = &asked{r, answer} })
		r.request("a1", "c1", "touch ok.txt")
		r.chatEvent("final", object{"message": text(<-answer)})
	})
	l.Send("go")
	yes := agent.PermissionDecision{CallID: agenttest.Next[agent.Permission](l).CallID, Verdict: agent.Allow}
	g.with(func() {
		g.refuse["exec.approval.resolve"] = object{"code": "UNAVAILABLE", "message": "later", "retryable": true}
	})
	if e, ok := errors.AsType[*failure.Error](s.Decide(t.Context(), yes)); !ok || !e.Retriable {
		t.Errorf("while the gateway is busy: %v", e)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Decide(ended, yes); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	g.with(func() { delete(g.refuse, "exec.approval.resolve") })
	if err := s.Decide(t.Context(), yes); err != nil {
		t.Errorf("it does not wait any more: %v", err)
	}
	if turn := agenttest.Next[agent.Turn](l); turn.Text != "allow-once" {
		t.Errorf("turn %+v", turn)
	}
}

func TestDecisionThatComesTooLate(t *testing.T) {
	g, s, l := scripted(t, func(r *job) {
		r.request("a1", "c1", "touch ok.txt")
		<-r.ctx.Done()
	})
	for _, reason := range []string{"APPROVAL_ALREADY_RESOLVED", "APPROVAL_NOT_FOUND"} {
		g.with(func() { g.refuse["exec.approval.resolve"] = invalid("too late", reason) })
		l.Send("go")
		late := agent.PermissionDecision{CallID: agenttest.Next[agent.Permission](l).CallID, Verdict: agent.Allow}
		for range 2 {
			if err := s.Decide(t.Context(), late); !errors.Is(err, agent.ErrNotPending) {
				t.Errorf("%s: %v", reason, err)
			}
		}
		if err := s.Interrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		agenttest.Next[agent.Turn](l)
	}
}

func TestReadOnlyDeniesWhateverIsAsked(t *testing.T) {
	g := startGateway(t, fakemodel.New())
	o := g.options(t)
	o.Sandbox = agent.ReadOnly
	_, l := g.start(t, o)
	turn, events := l.Turn(touch(filepath.Join(g.workspace, "made")) + "[[say:so be it]]")
	if turn.Text != "so be it" || g.last(t, "exec.approval.resolve")["decision"] != "deny" {
		t.Errorf("turn %+v", turn)
	}
	if p := agenttest.All[agent.Permission](events); len(p) > 0 {
		t.Errorf("asked %+v", p)
	}
}
