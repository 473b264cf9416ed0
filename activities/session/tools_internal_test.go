package session

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// newToolProcess returns a process in the turn of message m1, with the policy for tools. Its follower takes the calls of
// our own tools, and tells asked of each that a person must decide.
func newToolProcess(t *testing.T, tools run.Tools) (s *agentProcess, asked chan string) {
	t.Helper()
	s, asked = newProcess(t), make(chan string, 10)
	s.a = &Activities{Config: Config{Redact: redact.New(nil)}}
	s.in.Session.Tools = tools
	s.own, s.calls = map[string]chan agent.PermissionDecision{}, make(chan agent.Event)
	s.turn = &turn{Handover: Handover{ID: "m1"}, tools: map[string]bool{}}
	go func() {
		for {
			select {
			case e := <-s.calls:
				reports, _ := s.takeEvent(t.Context(), e)
				for _, r := range reports {
					if r.Asked != nil {
						asked <- r.Asked.CallID
					}
					if r.Withdrawn != nil {
						asked <- "withdrawn " + r.Withdrawn.CallID
					}
				}
			case <-t.Context().Done():
				return
			}
		}
	}()
	return s, asked
}

var ownCall = agent.Permission{CallID: "run-1", Tool: "ratchet_run_start", Input: []byte(`{"goal":"x"}`)}

// TestThePermissionOfAStartIsTheWorkers holds that a call of our own tools is decided as the session decides about any
// tool, whatever the client thinks of it.
func TestThePermissionOfAStartIsTheWorkers(t *testing.T) {
	answer := func(v agent.PermissionVerdict, reason string) func(*agentProcess) {
		return func(s *agentProcess) {
			_ = s.answerCall(context.Background(), agent.PermissionDecision{CallID: "run-1", Verdict: v, Reason: reason})
		}
	}
	for name, tt := range map[string]struct {
		tools  run.Tools
		before func(*agentProcess)
		then   func(*agentProcess) // once a person is asked; nil: none is
		want   string              // in the error; empty: it is permitted
	}{
		"tools unasked":                {tools: run.AllowTools},
		"no tools":                     {tools: run.DenyTools, want: "refused"},
		"a person permits it":          {tools: run.AskTools, then: answer(agent.Allow, "")},
		"a person refuses it":          {tools: run.AskTools, then: answer(agent.Deny, "not today"), want: "not today"},
		"the turn ends":                {tools: run.AskTools, then: func(s *agentProcess) { s.turn = nil; s.denyOwnCalls() }, want: "the turn has ended"},
		"no turn":                      {tools: run.AllowTools, before: func(s *agentProcess) { s.turn = nil }, want: "the turn has ended"},
		"the turn of another message":  {tools: run.AllowTools, before: func(s *agentProcess) { s.turn.ID = "m2" }, want: "the turn has ended"},
		"the turn of a delivery":       {tools: run.AllowTools, before: func(s *agentProcess) { s.turn.delivery = true }, want: "reads a result"},
		"a permit for the same call":   {tools: run.AskTools, before: func(s *agentProcess) { s.turn.Permits = []run.Permit{permitOf(ownCall, true)} }},
		"a refusal of the same call":   {tools: run.AskTools, before: func(s *agentProcess) { s.turn.Permits = []run.Permit{permitOf(ownCall, false)} }, want: "refused"},
		"a permit for another goal":    {tools: run.AskTools, before: func(s *agentProcess) { s.turn.Permits = []run.Permit{permitOf(otherCall, true)} }, then: answer(agent.Deny, "no"), want: "no"},
		"a permit that was used up":    {tools: run.AskTools, before: spendPermit, then: answer(agent.Deny, "no"), want: "no"},
		"an answer to the agent's own": {tools: run.AskTools, then: func(s *agentProcess) { s.turn.asks = nil; answer(agent.Allow, "")(s) }},
	} {
		t.Run(name, func(t *testing.T) {
			s, asked := newToolProcess(t, tt.tools)
			if tt.before != nil {
				tt.before(s)
			}
			decided := make(chan error, 1)
			go func() { decided <- s.permitCall(t.Context(), "m1", ownCall) }()
			if tt.then != nil {
				<-asked
				s.mu.Lock()
				tt.then(s)
				s.mu.Unlock()
			}
			err := <-decided
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if len(asked) > 0 {
				t.Error("a person is asked")
			}
		})
	}
}

var otherCall = agent.Permission{CallID: "run-1", Tool: "ratchet_run_start", Input: []byte(`{"goal":"y"}`)}

func permitOf(asked agent.Permission, allow bool) run.Permit {
	return run.Permit{CallID: "earlier", Digest: run.DigestOf(append([]byte(asked.Tool+"\n"), asked.Input...)), Allow: allow}
}

func spendPermit(s *agentProcess) {
	p := permitOf(ownCall, true)
	s.turn.Permits, s.note.Spent = []run.Permit{p}, []run.Digest{p.Digest}
}

func TestACallThatIsGivenUpWaitsForNoPerson(t *testing.T) {
	s, asked := newToolProcess(t, run.AskTools)
	ctx, cancel := context.WithCancel(t.Context())
	decided := make(chan error, 1)
	go func() { decided <- s.permitCall(ctx, "m1", ownCall) }()
	<-asked
	cancel()
	if err := <-decided; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := <-asked; got != "withdrawn run-1" {
		t.Errorf("then %s", got)
	}
}

// TestACallOfAnEarlierTurnAsksNoPerson has the turn end while the follower is busy with that end: if it took the call
// afterwards, in the next turn, a person would be asked about a call that was refused.
func TestACallOfAnEarlierTurnAsksNoPerson(t *testing.T) {
	s := newProcess(t)
	s.own, s.calls = map[string]chan agent.PermissionDecision{}, make(chan agent.Event)
	s.turn = &turn{Handover: Handover{ID: "m1"}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	decided := make(chan error, 1)
	go func() { decided <- s.permitCall(ctx, "m1", ownCall) }()
	eventually.Holds(t, "the call waits", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.own) == 1
	})
	s.mu.Lock()
	s.turn = nil
	s.denyOwnCalls()
	s.mu.Unlock()
	if err := <-decided; err == nil || !strings.Contains(err.Error(), "the turn has ended") {
		t.Error(err)
	}
}

func TestWhenAnAgentMayBeginSomething(t *testing.T) {
	s, _ := newToolProcess(t, run.AllowTools)
	if id, err := s.messageUnderWay(); id != "m1" || err != nil {
		t.Errorf("%s, %v", id, err)
	}
	s.turn.delivery = true
	if _, err := s.messageUnderWay(); !errors.Is(err, errDelivery) {
		t.Error(err)
	}
	s.turn = nil
	if _, err := s.messageUnderWay(); !errors.Is(err, errNoMessage) {
		t.Error(err)
	}
}

// A turn into which a delivery is steered reads that delivery, whoever began it.
func TestASteeredTurnBeginsNothing(t *testing.T) {
	s, _ := newToolProcess(t, run.AllowTools)
	d := &delivering{taking{}, s}
	if _, err := d.Deliver(t.Context(), agent.Delivery{Expected: "turn-1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.messageUnderWay(); !errors.Is(err, errDelivery) {
		t.Errorf("got %v, want that a run is refused after a steer", err)
	}
}

// taking is a session that takes every delivery.
type taking struct{ agent.Watched }

func (taking) Deliver(context.Context, agent.Delivery) (string, error) { return "turn-1", nil }

func TestWhichProcessesAreTheAgents(t *testing.T) {
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	s := newProcess(t)
	if s.ownsProcess(child.Process.Pid) || s.ownsProcess(0) {
		t.Error("an agent without a process has one")
	}
	s.pid.Store(int64(os.Getpid()))
	for pid, want := range map[int]bool{child.Process.Pid: true, os.Getpid(): true, os.Getppid(): false, 1: false, 0: false, -1: false} {
		if got := s.ownsProcess(pid); got != want {
			t.Errorf("process %d: %v", pid, got)
		}
	}
}
