package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"a text":                  {"hello", "hello"},
		"several lines":           {"a\nb\r\nc\u2028d", "a\nb\r\nc\u2028d"},
		"quotes and brackets":     {`say "x" <&>`, `say "x" <&>`},
		"what is not UTF-8":       {"a\xffb", "a\ufffdb"},
		"a command":               {"/clear", " /clear"},
		"a path":                  {"/etc/passwd is broken", " /etc/passwd is broken"},
		"a slash further on":      {"run /clear", "run /clear"},
		"a frame":                 {`{"type":"control_request"}`, `{"type":"control_request"}`},
		"nothing":                 {"", ""},
		"more than a pipe holds":  {strings.Repeat("long ", 1<<16), strings.Repeat("long ", 1<<16)},
		"a slash behind a blank":  {" /clear", " /clear"},
		"a command on other line": {"\n/clear", "\n/clear"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, script{Turns: [][]string{plain}})
			agenttest.Turn(t, f.start(t, agent.Options{}), tt.text)
			given := f.Given(t)
			var frame struct {
				Type, UUID string
				Message    struct{ Role, Content string }
			}
			if err := json.Unmarshal([]byte(given[len(given)-1]), &frame); err != nil || len(given) != 2 {
				t.Fatalf("%d lines, %v", len(given), err)
			}
			if frame.Type != "user" || frame.Message.Role != "user" || uuid.Validate(frame.UUID) != nil || frame.Message.Content != tt.want {
				t.Errorf("got %.200s", given[1])
			}
		})
	}
}

const (
	abortedLine   = `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","errors":["[ede_diagnostic] x"]}`
	interruptLine = `"subtype":"interrupt"`
)

func TestAnInterruptThatComesBeforeTheTurn(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{{"await", initLine, helloLine, "await", abortedLine}}})
	s := f.start(t, agent.Options{})
	if err := s.Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := agenttest.Until[agent.Turn](t, s); got.Status != agent.Interrupted || got.Text != "hello" || got.Err != nil {
		t.Errorf("got %+v", got)
	}
	given := f.Given(t)
	if len(given) != 4 || !strings.Contains(given[2], interruptLine) || !strings.Contains(given[3], interruptLine) {
		t.Errorf("given %q", given)
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
	if given := f.Given(t); slices.ContainsFunc(given, func(l string) bool { return strings.Contains(l, interruptLine) }) {
		t.Errorf("given %q", given)
	}
}

func TestAStopInATurn(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{{initLine, helloLine, "await", abortedLine}}})
	s, err := adapter(f).Start(t.Context(), f.Options(agent.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	agenttest.Until[agent.Text](t, s)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := agenttest.Until[agent.Turn](t, s); got.Status != agent.Interrupted {
		t.Errorf("got %+v", got)
	}
	if e, ok := <-s.Events(); ok {
		t.Errorf("after the end: %+v", e)
	}
	if given := f.Given(t); !strings.Contains(given[len(given)-1], interruptLine) {
		t.Errorf("given %q", given)
	}
	if err := s.Send(t.Context(), "more"); !errors.Is(err, agent.ErrGone) || s.Alive() {
		t.Errorf("send after the end: %v, alive is %v", err, s.Alive())
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAStopByForce has a client that neither ends its turn nor itself.
func TestAStopByForce(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{{initLine, ask(1, writeAsk), "until never"}}})
	s, err := adapter(f).Start(t.Context(), f.Options(agent.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	agenttest.Until[agent.Permission](t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if _, events := agenttest.Until[agent.Withdrawn](t, s); len(agenttest.All[agent.Exit](events)) > 0 {
		t.Errorf("a stop is told as %+v", events)
	}
	if e, ok := <-s.Events(); ok {
		t.Errorf("after the end: %+v", e)
	}
}

func TestAClientThatEnds(t *testing.T) {
	tests := map[string]struct {
		how  string
		want agent.Exit
	}{
		"by itself":   {"exit 7 out of luck", agent.Exit{Code: 7, Stderr: "out of luck"}},
		"by a signal": {"die", agent.Exit{Code: -1, Signal: "SIGKILL"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, script{Turns: [][]string{{initLine, ask(1, writeAsk), helloLine, tt.how}}})
			s := f.start(t, agent.Options{})
			if err := s.Send(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
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

func TestWhatComesOutsideOfATurn(t *testing.T) {
	stray := []string{
		initLine, helloLine, `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"x","content":"y"}]}}`,
		strings.Replace(resultLine, "0.011", "0.03", 1),
		`{"type":"system","subtype":"over"}`,
	}
	next := []string{initLine, helloLine, strings.Replace(resultLine, "0.011", "0.04", 1)}
	f := newFake(t, script{Turns: [][]string{slices.Concat(plain, stray), next}})
	s := f.start(t, agent.Options{})
	agenttest.Turn(t, s, "go")
	_, events := agenttest.Until[agent.Notice](t, s)
	if len(agenttest.All[agent.Raw](events)) != 3 || len(events) != 3 {
		t.Errorf("events %+v", events)
	}
	if got, _ := agenttest.Turn(t, s, "again"); got.Status != agent.Completed || got.Text != "hello" || *got.Cost != 29_000 {
		t.Errorf("got %+v, which cost %v", got, got.Cost)
	}
}

// TestTheClientsWords go to the log as they come.
func TestTheClientsWords(t *testing.T) {
	var log strings.Builder
	f := newFake(t, script{Turns: [][]string{{"exit 1 bad news"}}})
	s := f.start(t, agent.Options{Log: &log})
	if err := s.Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	agenttest.Until[agent.Exit](t, s)
	if log.String() != "bad news\n" {
		t.Errorf("logged %q", log.String())
	}
}

func (f fake) runs() bool { return exists(filepath.Join(f.Dir, "given")) }
