package pi_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// steered is a turn in the middle of which pi reads these lines.
func steered(lines ...string) []string {
	return slices.Concat([]string{acceptLine, beginLine, "serve", delta("hel")}, lines, []string{settledLine})
}

// asked are the commands that pi was given, but for those of every turn.
func (f fake) asked(t *testing.T) (words []string) {
	t.Helper()
	for _, line := range f.Given(t) {
		var c struct{ Type, Message string }
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		switch c.Type {
		case "get_state", "get_session_stats", "get_available_models":
		case "abort", "clear_queue":
			words = append(words, c.Type)
		default:
			words = append(words, c.Type+" "+c.Message)
		}
	}
	return words
}

func TestSteer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		script  script
		want    string // of Steer's error
		asked   string
		says    string // the turn, in the end
		refused bool
	}{
		{"pi takes it up", script{Turns: [][]string{steered("serve", "absorb", ended("both", "stop", ""))}},
			"", "prompt go|steer and this|clear_queue", "both", false},
		{"it comes too late for the turn", script{Turns: [][]string{steered("serve", ended("one", "stop", "")), turnOf(ended("two", "stop", ""))}},
			"", "prompt go|steer and this|clear_queue|prompt and this", "two", false},
		{"pi knows no such command", script{Refuses: true, Turns: [][]string{steered("serve", ended("one", "stop", ""))}},
			"not now", "prompt go|steer and this", "one", true},
		{"pi settles before it answers", script{Turns: [][]string{slices.Concat(steered("await", ended("one", "stop", "")), []string{`{"id":"steer-1","type":"response","success":true}`})}},
			"", "prompt go|steer and this|clear_queue", "one", false},
		{"pi does not say what it has queued", script{Queue: "none", Turns: [][]string{steered("serve", ended("one", "stop", ""))}},
			"", "prompt go|steer and this|clear_queue", "one", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, row.script)
			s := f.start(t, agent.Options{})
			send(t, s, "go")
			agenttest.Until[agent.Text](t, s)
			err := s.(agent.Steerer).Steer(t.Context(), "and this")
			if _, refused := errors.AsType[*failure.Error](err); refused != row.refused || (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v", err)
			}
			turn, _ := agenttest.Until[agent.Turn](t, s)
			if turn.Status != agent.Completed || turn.Text != row.says {
				t.Errorf("%+v", turn)
			}
			if got := strings.Join(f.asked(t), "|"); got != row.asked {
				t.Errorf("asked for %s", got)
			}
		})
	}
}

func TestNothingToSteer(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{{acceptLine, "until go", beginLine, delta("hel"), settledLine}}})
	s := f.start(t, agent.Options{}).(agent.Steerer)
	if err := s.Steer(t.Context(), "x"); !errors.Is(err, agent.ErrNoTurn) {
		t.Errorf("before a turn: %v", err)
	}
	send(t, s, "go")
	if err := s.Steer(t.Context(), "x"); !errors.Is(err, agent.ErrNoTurn) {
		t.Errorf("before pi has begun: %v", err)
	}
	put(t, f.Dir+"/go", "")
	agenttest.Until[agent.Turn](t, s)
	if err := s.Steer(t.Context(), "x"); !errors.Is(err, agent.ErrNoTurn) {
		t.Errorf("after a turn: %v", err)
	}
}

// An abort alone would go on with what is queued.
func TestAnInterruptDropsWhatWasSteered(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{steered("serve", "serve", "serve", ended("", "aborted", ""))}})
	s := f.start(t, agent.Options{}).(agent.Steerer)
	send(t, s, "go")
	agenttest.Until[agent.Text](t, s)
	if err := s.Steer(t.Context(), "/and this"); err != nil {
		t.Fatal(err)
	}
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if turn, _ := agenttest.Until[agent.Turn](t, s); turn.Status != agent.Interrupted {
		t.Errorf("%+v", turn)
	}
	if got := strings.Join(f.asked(t)[:4], "|"); got != "prompt go|steer  /and this|clear_queue|abort" {
		t.Errorf("asked for %s", got)
	}
	if err := s.Steer(t.Context(), "x"); !errors.Is(err, agent.ErrNoTurn) {
		t.Errorf("afterwards: %v", err)
	}
}

func TestSteerWhomNobodyAnswers(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{steered("await", "until die", "die")}})
	s := f.start(t, agent.Options{}).(agent.Steerer)
	send(t, s, "go")
	agenttest.Until[agent.Text](t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Steer(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits: %v", err)
	}
	put(t, f.Dir+"/die", "")
	if err := s.Steer(t.Context(), "x"); !errors.Is(err, agent.ErrGone) && !errors.Is(err, agent.ErrNoTurn) {
		t.Errorf("pi dies: %v", err)
	}
}

// The real pi takes up what it is told in the middle of a turn.
func TestTheRealClientIsSteered(t *testing.T) {
	dir := t.TempDir()
	s, l, _ := realSession(t, pi.TrustNobody, agent.Options{Dir: dir, Sandbox: agent.FullAccess}, nil)
	l.Send(fakemodel.Tool("bash", map[string]string{"command": "while ! [ -e go ]; do sleep 0.05; done"}) + fakemodel.Say("one"))
	agenttest.Next[agent.ToolUse](l)
	if err := s.(agent.Steerer).Steer(t.Context(), fakemodel.Say("two")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "go"), "")
	if turn := agenttest.Next[agent.Turn](l); turn.Status != agent.Completed || turn.Text != "two" {
		t.Errorf("%+v", turn)
	}
	if err := s.(agent.Steerer).Steer(t.Context(), "x"); !errors.Is(err, agent.ErrNoTurn) {
		t.Errorf("afterwards: %v", err)
	}
}
