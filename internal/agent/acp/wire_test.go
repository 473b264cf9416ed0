package acp_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestWhatEndsASession(t *testing.T) {
	t.Parallel()
	code := 3
	tests := map[string]struct {
		last step
		code int
		says string
	}{
		"the end of its process":  {step{Exit: &code}, 3, "that was all"},
		"a line that is too long": {step{Line: 10<<20 + 1}, -1, "10485760 bytes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l := newBench(t, "plain").start()
			l.Send(script(chunk("m1", "last words"), ask(asked["opencode"]), tt.last))
			p := agenttest.Next[agent.Permission](l)
			if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow}); err != nil {
				t.Fatal(err)
			}
			l.Rest()
			events := l.Events()
			exit, ok := events[len(events)-1].(agent.Exit)
			if !ok || exit.Code != tt.code || !strings.Contains(exit.Stderr, tt.says) {
				t.Errorf("the last is %+v", events[len(events)-1])
			}
			if said := agenttest.Said(events); said != "last wordsonce" || len(agenttest.All[agent.Turn](events)) > 0 {
				t.Errorf("told:%s", l)
			}
			if err := s.Send(t.Context(), "hm"); !errors.Is(err, agent.ErrGone) || s.Alive() {
				t.Errorf("send: %v, alive is %v", err, s.Alive())
			}
			if err := s.Interrupt(t.Context()); err != nil {
				t.Errorf("interrupt: %v", err)
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
}

func TestTheEndWithdrawsWhatWasAsked(t *testing.T) {
	code := 0
	s, l := newBench(t, "plain").start()
	l.Send(script(rawAsk, ask(asked["claude"]), step{Exit: &code}))
	agenttest.Next[agent.Permission](l)
	p := agenttest.Next[agent.Permission](l)
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Deny}); err != nil {
		t.Fatal(err)
	}
	l.Rest()
	if w := agenttest.All[agent.Withdrawn](l.Events()); len(w) != 1 || w[0].CallID != "c1" {
		t.Errorf("withdrawn %v", w)
	}
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: "c1", Verdict: agent.Allow}); !errors.Is(err, agent.ErrNotPending) {
		t.Errorf("a late decision: %v", err)
	}
}

func TestLinesThatMeanNothingArePassedOver(t *testing.T) {
	_, l := newBench(t, "plain").start()
	turn, _ := l.Turn(script(
		step{Raw: "starting up ..."}, step{Raw: "{}"}, step{Raw: `{"method":7}`}, step{Raw: "   "},
		step{Raw: `{"method":"session/request_permission","params":{}}`},
		step{Raw: `{"method":"session/update","error":5}`},
		step{Raw: `{"method":"_auth/status_update","params":{}}`},
		step{Raw: `{"id":999,"result":{}}`},
		chunk("m1", "a"), ends("end_turn")))
	if turn.Status != agent.Completed || turn.Text != "a" {
		t.Errorf("the turn was %s with %q", turn.Status, turn.Text)
	}
}

func TestALineAsLongAsItMayBe(t *testing.T) {
	t.Parallel()
	_, l := newBench(t, "plain").start()
	const size = 10 << 20
	turn, _ := l.Turn(script(step{Line: size}, ends("end_turn")))
	if n := len(turn.Text); n < size-len(frame) || strings.Trim(turn.Text, "x") != "" {
		t.Errorf("%d bytes arrived", n)
	}
}

// The bridge to Claude Code leaves its native child when it is killed (CLIENT.md, 4).
func TestAStopEndsWhatAWrapperLeft(t *testing.T) {
	b := newBench(t, "claude")
	file := t.TempDir() + "/pid"
	b.set(leaveVariable, file)
	s, _ := b.start()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(content))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("process %d: %v", pid, err)
	}
}
