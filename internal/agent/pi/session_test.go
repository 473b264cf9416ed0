package pi_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

// begin starts a session that ends with the test.
func begin(t *testing.T, c pi.Config, o agent.Options) agent.Session {
	t.Helper()
	s, err := pi.New(c).Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	return s
}

func send(t *testing.T, s agent.Session, text string) {
	t.Helper()
	if err := s.Send(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// has says whether a line of the adapter has the text.
func (f fake) has(t *testing.T, text string) bool {
	t.Helper()
	return slices.ContainsFunc(f.Given(t), func(l string) bool { return strings.Contains(l, text) })
}

const abortText = `"type":"abort"`

func TestWhatIsSent(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"a text":                  {"hello", "hello"},
		"several lines":           {"a\nb\r\nc\u2028d", "a\nb\r\nc\u2028d"},
		"quotes and brackets":     {`say "x" <&>`, `say "x" <&>`},
		"what is not UTF-8":       {"a\xffb", "a\ufffdb"},
		"a command":               {"/llama", " /llama"},
		"a slash further on":      {"run /llama", "run /llama"},
		"a file":                  {"@README.md", "@README.md"},
		"a flag":                  {"--help", "--help"},
		"a shell's command":       {"!touch x", "!touch x"},
		"a frame":                 {`{"type":"abort"}`, `{"type":"abort"}`},
		"nothing":                 {"", ""},
		"more than a pipe holds":  {strings.Repeat("long ", 1<<16), strings.Repeat("long ", 1<<16)},
		"a command on other line": {"\n/llama", "\n/llama"},
	}
	f := newFake(t, script{Turns: slices.Repeat([][]string{plain}, len(tests))})
	s := f.start(t, agent.Options{})
	for name, tt := range tests {
		agenttest.Turn(t, s, tt.text)
		var frame struct {
			ID, Type string
			Message  *string
		}
		sent := f.Given(t)
		sent = slices.DeleteFunc(sent, func(line string) bool { return !strings.Contains(line, `"type":"prompt"`) })
		last := sent[len(sent)-1]
		if err := json.Unmarshal([]byte(last), &frame); err != nil || frame.ID == "" || frame.Type != "prompt" || frame.Message == nil || *frame.Message != tt.want {
			t.Errorf("%s: %v: got %.200s", name, err, last)
		}
	}
}

// TestAnInterruptThatComesBeforeTheTurn is lost on pi, so it is repeated.
func TestAnInterruptThatComesBeforeTheTurn(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{{"await", acceptLine, "await", beginLine, "await", delta("hel"), ended("hel", "aborted", ""), settledLine}}})
	s := f.start(t, agent.Options{})
	send(t, s, "go")
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := agenttest.Until[agent.Turn](t, s); got.Status != agent.Interrupted || got.Text != "hel" || got.Err != nil {
		t.Errorf("got %+v", got)
	}
	aborts := 0
	for _, line := range f.Given(t) {
		if strings.Contains(line, abortText) {
			aborts++
		}
	}
	if aborts != 2 {
		t.Errorf("given %q", f.Given(t))
	}
}

func TestAnInterruptWithoutATurnIsNotSent(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{plain, plain}})
	s := f.start(t, agent.Options{})
	for range 2 {
		if err := s.Interrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		agenttest.Turn(t, s, "go")
	}
	if f.has(t, abortText) {
		t.Errorf("given %q", f.Given(t))
	}
}

func TestAStopInATurn(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{{acceptLine, beginLine, delta("hel"), "await", "await", ended("hel", "aborted", ""), settledLine}}})
	s := f.start(t, agent.Options{})
	send(t, s, "go")
	agenttest.Until[agent.Text](t, s)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := agenttest.Until[agent.Turn](t, s); got.Status != agent.Interrupted || got.Text != "hel" {
		t.Errorf("got %+v", got)
	}
	if e, ok := <-s.Events(); ok {
		t.Errorf("after the end: %+v", e)
	}
	if !f.has(t, abortText) {
		t.Errorf("given %q", f.Given(t))
	}
	if err := s.Send(t.Context(), "more"); !errors.Is(err, agent.ErrGone) || s.Alive() {
		t.Errorf("send after the end: %v, alive is %v", err, s.Alive())
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAStopByForce has a pi that neither ends its turn nor itself.
func TestAStopByForce(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{{acceptLine, beginLine, question("write", "c1", `{"path":"a"}`), "until never"}}})
	s := f.start(t, agent.Options{})
	send(t, s, "go")
	agenttest.Until[agent.Permission](t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if w, _ := agenttest.Until[agent.Withdrawn](t, s); w.CallID != "c1" {
		t.Errorf("got %+v", w)
	}
	if e, ok := <-s.Events(); ok {
		t.Errorf("after the end: %+v", e)
	}
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: "c1", Verdict: agent.Allow}); !errors.Is(err, agent.ErrNotPending) {
		t.Errorf("a decision after the end: %v", err)
	}
}

func TestAPiThatEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		how  string
		want agent.Exit
	}{
		"by itself":   {"exit 7 out of luck", agent.Exit{Code: 7, Stderr: "out of luck"}},
		"by a signal": {"die", agent.Exit{Code: -1, Signal: "SIGKILL"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, script{Turns: [][]string{{acceptLine, beginLine, question("write", "c1", `{"path":"a"}`), "await", delta("hel"), tt.how}}})
			s := f.start(t, agent.Options{})
			send(t, s, "go")
			got, events := agenttest.Until[agent.Exit](t, s)
			if got != tt.want || len(agenttest.All[agent.Turn](events)) > 0 || len(agenttest.All[agent.Withdrawn](events)) != 1 {
				t.Errorf("got %+v after %+v", got, events)
			}
			if e, ok := <-s.Events(); ok {
				t.Errorf("after the end: %+v", e)
			}
			if err := s.Send(t.Context(), "more"); !errors.Is(err, agent.ErrGone) || s.Alive() {
				t.Errorf("send after the end: %v, alive is %v", err, s.Alive())
			}
			if err := s.Interrupt(t.Context()); err != nil {
				t.Errorf("interrupt after the end: %v", err)
			}
		})
	}
}

// TestAPiThatEndsWithItsTurn has told how the turn went.
func TestAPiThatEndsWithItsTurn(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{slices.Concat(plain, []string{"exit 1 x"})}})
	s := f.start(t, agent.Options{})
	if got, _ := agenttest.Turn(t, s, "go"); got.Status != agent.Completed || got.Text != "hello" {
		t.Errorf("got %+v", got)
	}
	agenttest.Until[agent.Exit](t, s)
}

func TestALineThatIsTooLong(t *testing.T) {
	t.Parallel()
	f := newFake(t, script{Turns: [][]string{{acceptLine, "flood"}}})
	s := f.start(t, agent.Options{})
	send(t, s, "go")
	if e, _ := agenttest.Until[agent.Exit](t, s); e.Code != -1 || !strings.Contains(e.Stderr, "a line of more than") || s.Alive() {
		t.Errorf("got %+v, alive is %v", e, s.Alive())
	}
}
