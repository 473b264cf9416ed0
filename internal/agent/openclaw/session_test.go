package openclaw_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/openclaw"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestTermsOfASession(t *testing.T) {
	for name, test := range map[string]struct {
		sandbox     agent.Sandbox
		choice      agent.Choice
		mode, model any
		refusal     string
	}{
		"read only":                     {agent.ReadOnly, agent.Choice{}, "read-only", nil, ""},
		"read only, whatever is chosen": {agent.ReadOnly, agent.Choice{Mode: "workspace"}, "read-only", nil, ""},
		"changes within the directory":  {agent.WorkspaceWrite, agent.Choice{}, "guarded", nil, ""},
		"reviewed by a model":           {agent.WorkspaceWrite, agent.Choice{Mode: "workspace"}, "workspace", nil, ""},
		"as the gateway is configured":  {agent.FullAccess, agent.Choice{Model: "fake/other"}, nil, "fake/other", ""},
		"less than the sandbox allows":  {agent.FullAccess, agent.Choice{Mode: "read-only"}, "read-only", nil, ""},
		"a mode for administrators":     {agent.FullAccess, agent.Choice{Mode: "full"}, nil, nil, "manifest"},
		"no sandbox":                    {"", agent.Choice{}, nil, nil, "sandbox"},
		"a sandbox that there is not":   {"house", agent.Choice{Mode: "guarded"}, nil, nil, "sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			g := startGateway(t, nil)
			g.play = func(r *job) { r.chatEvent("final", object{}) }
			o := g.options(t)
			o.Sandbox, o.Sticky = test.sandbox, test.choice
			s, err := openclaw.New(g.config()).Start(t.Context(), o)
			if test.refusal != "" {
				e, ok := errors.AsType[*failure.Error](err)
				if !ok || e.Code != failure.BadRequest || !strings.Contains(e.Message, test.refusal) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop(t.Context())
			agenttest.Watch(t, s).Turn("go")
			if p := g.last(t, "sessions.patch"); p["permissionMode"] != test.mode || p["model"] != test.model || p["key"] != s.ID() {
				t.Errorf("terms %v", p)
			}
			if p := g.last(t, "chat.send"); p["expectedPermissionMode"] != test.mode || p["queueMode"] != "interrupt" || p["deliver"] != false {
				t.Errorf("message %v", p)
			}
			if p := g.last(t, "sessions.create"); p["cwd"] != o.Dir || !strings.HasPrefix(s.ID(), "agent:main:ratchet-") || s.PID() != 0 {
				t.Errorf("session %v, id %s", p, s.ID())
			}
		})
	}
}

func TestDirectoryOutsideOfEveryWorkspace(t *testing.T) {
	g := startGateway(t, nil)
	o := g.options(t)
	o.Dir = t.TempDir()
	_, err := openclaw.New(g.config()).Start(t.Context(), o)
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.BadRequest || !strings.Contains(e.Message, o.Dir) {
		t.Errorf("error %v", err)
	}
}

func TestResume(t *testing.T) {
	g := startGateway(t, nil)
	g.play = func(r *job) { <-r.ctx.Done() }
	o := g.options(t)
	s, l := g.start(t, o)
	l.Send("at length")
	g.drop(websocket.StatusServiceRestart, "")
	l.Rest()

	o.Resume, o.Dir, o.Sandbox, o.Override.Model = s.ID(), g.options(t).Dir, agent.ReadOnly, "fake/other"
	s, l = g.start(t, o)
	if e := agenttest.Next[agent.Started](l); e.SessionID != o.Resume || !e.Resumed || s.ID() != o.Resume {
		t.Errorf("%+v", e)
	}
	chat := g.sessions[o.Resume]
	if chat.run != nil {
		t.Error("what ran is not aborted")
	}
	if chat.dir != o.Dir || chat.mode != "read-only" || chat.model != "fake/other" {
		t.Errorf("terms %+v", chat)
	}
	g.play = func(r *job) { r.chatEvent("final", object{"message": text("here")}) }
	if turn, _ := l.Turn("there?"); turn.Text != "here" {
		t.Errorf("turn %+v", turn)
	}
}

func TestNoSession(t *testing.T) {
	g := startGateway(t, nil)
	g.with(func() { g.sessions["agent:main:main"] = &chat{key: "agent:main:main"} })
	for name, key := range map[string]string{
		"that the gateway knows": "agent:main:ratchet-0", "of ours": "agent:main:main", "of any agent": "ratchet-0", "of a key": "0",
	} {
		o := g.options(t)
		o.Resume = key
		if _, err := openclaw.New(g.config()).Start(t.Context(), o); !errors.Is(err, agent.ErrNoSession) {
			t.Errorf("no session %s: %v", name, err)
		}
	}
	if len(g.got("sessions.create")) > 0 {
		t.Error("a session was changed")
	}
}

func TestLostConnection(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tickMs int
		play   func(*job)
		says   string
	}{
		"the gateway goes": {30_000, func(r *job) {
			r.broadcast("shutdown", object{"reason": "gateway stopping"})
			r.drop(websocket.StatusServiceRestart, "service restart for "+r.token)
		}, "1012 service restart for [token]\nthe gateway is shutting down: gateway stopping"},
		"the connection breaks": {30_000, func(r *job) {
			r.with(func() {
				for c := range r.clients {
					c.ws.CloseNow()
				}
			})
		}, "broke"},
		"the gateway falls silent": {700, func(r *job) { <-r.ctx.Done() }, "the gateway was silent for 2.1s"},
		"what comes is no protocol": {30_000, func(r *job) {
			r.with(func() {
				for c := range r.clients {
					c.ws.Write(r.ctx, websocket.MessageText, []byte("hello"))
				}
			})
		}, "not a frame"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGateway(t, nil)
			g.tickMs, g.play = test.tickMs, test.play
			s, l := g.start(t, g.options(t))
			if err := s.Send(t.Context(), "go"); err != nil && !errors.Is(err, agent.ErrGone) {
				t.Fatal(err)
			}
			l.Rest()
			exit, ok := l.Events()[len(l.Events())-1].(agent.Exit)
			if !ok || exit.Code != -1 || !strings.Contains(exit.Stderr, test.says) || len(agenttest.All[agent.Turn](l.Events())) > 0 {
				t.Errorf("events:%s", l)
			}
			if err := s.Send(t.Context(), "more"); s.Alive() || !errors.Is(err, agent.ErrGone) {
				t.Errorf("alive %v, sent with %v", s.Alive(), err)
			}
			if err := errors.Join(s.Interrupt(t.Context()), s.Stop(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTicksKeepAConnection(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	g.tickMs = 700
	g.play = func(r *job) {
		for range 25 { // more than the three intervals of silence
			r.broadcast("tick", object{"ts": 1})
			r.pause(100 * time.Millisecond)
		}
		r.chatEvent("final", object{"message": text("still here")})
	}
	_, l := g.start(t, g.options(t))
	if turn, _ := l.Turn("go"); turn.Text != "still here" {
		t.Errorf("turn %+v", turn)
	}
}

func TestLostBetweenTheEndOfARunAndItsFigures(t *testing.T) {
	_, _, l := scripted(t, func(r *job) {
		r.with(func() { r.deaf = []string{"chat.history"} })
		r.chatEvent("final", object{"message": text("done")})
		for len(r.got("chat.history")) == 0 {
			r.pause(time.Millisecond)
		}
		r.drop(websocket.StatusGoingAway, "")
	})
	if turn, _ := l.Turn("go"); turn.Status != agent.Completed || turn.Text != "done" {
		t.Errorf("turn %+v", turn)
	}
	agenttest.Next[agent.Exit](l)
}

func TestStopOfAGatewayThatDoesNotAnswer(t *testing.T) {
	abort := []string{"chat.abort"}
	for name, change := range map[string]func(*gateway){
		"nor ends the run": func(g *gateway) { g.deaf = abort }, "nor reads": func(g *gateway) { g.frozen = abort },
	} {
		t.Run(name, func(t *testing.T) {
			g, s, l := scripted(t, func(r *job) { <-r.ctx.Done() })
			l.Send("go")
			g.with(func() { change(g) })
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := s.Stop(ctx); err != nil {
				t.Error(err)
			}
			l.Rest()
			l.Poll("abort", func() bool { return len(g.got("chat.abort")) == 1 })
			if len(agenttest.All[agent.Exit](l.Events())) > 0 {
				t.Errorf("events:%s", l)
			}
		})
	}
}

func TestStopThatTheGatewayRefuses(t *testing.T) {
	g, s, l := scripted(t, func(r *job) { <-r.ctx.Done() })
	l.Send("go")
	g.with(func() { g.refuse["chat.abort"] = object{"code": "FORBIDDEN", "message": "not yours"} })
	if err := s.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "may continue") {
		t.Errorf("error %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

func TestStartThatFailsLeavesNoConnection(t *testing.T) {
	g := startGateway(t, nil)
	g.refuse["sessions.patch"] = invalid("no such model", "")
	if _, err := openclaw.New(g.config()).Start(t.Context(), g.options(t)); err == nil {
		t.Fatal("started")
	}
	for left := true; left; {
		g.with(func() { left = len(g.clients) > 0 })
	}
}
