package acp_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestWhatKeepsASessionFromStarting(t *testing.T) {
	t.Parallel()
	none := `{"code":-32603,"message":"Internal error: OpenCode service failure","data":{"service":"session"}}`
	tests := map[string]struct {
		agent, resume string
		method, fails string
		is            error
		code          failure.Code
		retriable     bool
		says          string
	}{
		"not logged in":                            {"gemini", "", "session/new", `{"code":-32000,"message":"Authentication required"}`, nil, failure.Auth, false, "Authentication"},
		"an internal error":                        {"plain", "", "session/new", `{"code":-32603,"message":"disk full"}`, nil, failure.Unknown, true, "disk full"},
		"another version of the protocol":          {"future", "", "", "", nil, failure.BadRequest, false, "version 2"},
		"a session that is not found":              {"claude", "s9", "session/load", `{"code":-32002,"message":"Resource not found"}`, agent.ErrNoSession, "", false, ""},
		"a session that is not on the list":        {"opencode", "s9", "session/load", none, agent.ErrNoSession, "", false, ""},
		"a session on the list that does not load": {"opencode", "s1", "session/load", none, nil, failure.Unknown, true, "service failure"},
		"an agent that forgets":                    {"gemini", "s1", "", "", agent.ErrNoSession, "", false, "gemini-cli cannot continue"},
		"an agent that does not say that it can":   {"plain", "s1", "", "", agent.ErrNoSession, "", false, "plain cannot continue"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.agent)
			b.options.Resume = tt.resume
			if tt.method != "" {
				b.fails(tt.method, tt.fails)
			}
			s, err := b.adapter.Start(t.Context(), b.options)
			if err == nil {
				s.Stop(t.Context())
				t.Fatal("started")
			}
			e, _ := errors.AsType[*failure.Error](err)
			if tt.is != nil && !errors.Is(err, tt.is) || tt.is == nil && (e == nil || e.Code != tt.code || e.Retriable != tt.retriable) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAProgramThatCannotBeStarted(t *testing.T) {
	b := newBench(t, "plain")
	for _, argv := range [][]string{{"ratchet-no-such-agent"}, {"./nothing"}, nil} {
		if _, err := acp.New(acp.Config{Argv: argv}).Start(t.Context(), b.options); !errors.Is(err, agent.ErrUnavailable) {
			t.Errorf("%q: %v", argv, err)
		}
	}
	_, err := acp.New(acp.Config{Argv: []string{"/bin/sh", "-c", "echo no such module >&2; exit 3"}}).Start(t.Context(), b.options)
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.Unknown || e.Message != "the agent ended with exit code 3: no such module" {
		t.Errorf("got %v", err)
	}
}

func TestAStartDoesNotOutlastItsContext(t *testing.T) {
	b := newBench(t, "plain")
	ctx, cancel := context.WithCancel(t.Context())
	adapter := acp.New(acp.Config{Argv: []string{"/bin/sh", "-c", "echo >&2 here; exec sleep 600"}})
	b.options.Log = writer(func([]byte) { cancel() })
	if _, err := adapter.Start(ctx, b.options); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func TestTheRaceForADatabaseIsRunTwice(t *testing.T) {
	b := newBench(t, "opencode")
	b.set(stateVariable, filepath.Join(t.TempDir(), "database"))
	b.start()
	if heard := b.heard("session/new"); len(heard) != 1 {
		t.Errorf("heard %q", heard)
	}
}

func TestTheHistoryIsNotToldAgain(t *testing.T) {
	for name, method := range map[string]string{"opencode": "session/load", "claude": "session/load", "resumer": "session/resume"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, name)
			b.options.Resume = "s1"
			b.set(storyVariable, script(chunk("m1", "old"), update(`{"sessionUpdate":"tool_call","toolCallId":"c1","status":"completed"}`), update(`{"sessionUpdate":"available_commands_update"}`)))
			s, l := b.start()
			turn, events := l.Turn(script(chunk("m2", "new"), ends("end_turn")))
			want := []agent.Event{agent.Started{SessionID: "s1", Resumed: true}, agent.Text{Text: "new"}, turn}
			if !reflect.DeepEqual(l.Events(), want) || s.ID() != "s1" || turn.Text != "new" {
				t.Errorf("told %v in %s:%s", events, s.ID(), l)
			}
			if heard := b.heard(method); len(heard) != 1 || !strings.Contains(heard[0], `"sessionId":"s1"`) {
				t.Errorf("%s: heard %q", method, heard)
			}
		})
	}
}

func TestModelAndModeAreChosen(t *testing.T) {
	t.Parallel()
	choose := func(model, mode string) agent.Choice { return agent.Choice{Model: model, Mode: mode} }
	tests := map[string]struct {
		agent   string
		sandbox agent.Sandbox
		choice  agent.Choice
		want    map[string]string // the params of what is heard
	}{
		"by options":                            {"opencode", agent.WorkspaceWrite, choose("fake/b", ""), map[string]string{"session/set_config_option": `{"configId":"model","sessionId":"s1","value":"fake/b"}`}},
		"a mode by an option":                   {"opencode", agent.WorkspaceWrite, choose("", "plan"), map[string]string{"session/set_config_option": `{"configId":"mode","sessionId":"s1","value":"plan"}`}},
		"what is current already":               {"opencode", agent.WorkspaceWrite, choose("fake/a", "build"), nil},
		"by requests of their own":              {"gemini", agent.FullAccess, choose("pro", "yolo"), map[string]string{"session/set_model": `{"modelId":"pro","sessionId":"s1"}`, "session/set_mode": `{"modeId":"yolo","sessionId":"s1"}`}},
		"a session that only reads: an option":  {"opencode", agent.ReadOnly, choose("", ""), map[string]string{"session/set_config_option": `{"configId":"mode","sessionId":"s1","value":"plan"}`}},
		"a session that only reads: a mode":     {"codex", agent.ReadOnly, choose("", ""), map[string]string{"session/set_mode": `{"modeId":"read-only","sessionId":"s1"}`}},
		"a sandbox that is a mode":              {"codex", agent.WorkspaceWrite, choose("", ""), map[string]string{"session/set_mode": `{"modeId":"workspace-write","sessionId":"s1"}`}},
		"a model that would decide":             {"claude", agent.WorkspaceWrite, choose("", ""), map[string]string{"session/set_mode": `{"modeId":"default","sessionId":"s1"}`}},
		"a model that would decide, reading":    {"claude", agent.ReadOnly, choose("", "plan"), map[string]string{"session/set_mode": `{"modeId":"default","sessionId":"s1"}`}},
		"full access leaves it to the agent":    {"claude", agent.FullAccess, choose("", ""), nil},
		"a choice before that mode":             {"codex", agent.WorkspaceWrite, choose("", "read-only"), map[string]string{"session/set_mode": `{"modeId":"read-only","sessionId":"s1"}`}},
		"no mode loosens a session that reads":  {"gemini", agent.ReadOnly, choose("", "yolo"), map[string]string{"session/set_mode": `{"modeId":"plan","sessionId":"s1"}`}},
		"an agent without a mode that is right": {"plain", agent.ReadOnly, choose("", ""), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.agent)
			b.options.Sandbox, b.options.Sticky = tt.sandbox, tt.choice
			b.start()
			for _, method := range []string{"session/set_config_option", "session/set_mode", "session/set_model"} {
				heard := strings.Join(b.heard(method), "; ")
				if heard != tt.want[method] {
					t.Errorf("%s: heard %s, want %s", method, heard, tt.want[method])
				}
			}
		})
	}
	b := newBench(t, "plain")
	b.options.Override.Model = "any"
	if _, err := b.adapter.Start(t.Context(), b.options); err == nil || !strings.Contains(err.Error(), "does not let you choose a model") {
		t.Errorf("got %v", err)
	}
}

func TestWhatAnAgentHasWithoutAChoiceIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		sandbox agent.Sandbox
		want    agent.Choice
	}{
		"opencode": {agent.WorkspaceWrite, agent.Choice{Model: "fake/a", Mode: "build"}},
		"gemini":   {agent.FullAccess, agent.Choice{Model: "auto", Mode: "default"}},
		"codex":    {agent.WorkspaceWrite, agent.Choice{Mode: "workspace-write"}}, // the agent's own asks for nothing
		"plain":    {agent.WorkspaceWrite, agent.Choice{}},
	} {
		b := newBench(t, name)
		b.options.Sandbox = tt.sandbox
		if name == "opencode" {
			b.options.Override = agent.Choice{Model: "fake/b", Mode: "plan"}
		}
		s, _ := b.start()
		if got := s.(agent.Defaulted).Default(); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestTheSystemPromptAndTheDirectories(t *testing.T) {
	for name, want := range map[string][2]string{
		"claude":   {`{"cwd":"DIR","additionalDirectories":["/more"],"systemPrompt":{"mode":"append","content":[{"text":"be kind","type":"text"}]},"mcpServers":[{"name":"docs","command":"/bin/sh","args":["-c","true"],"env":[{"name":"K","value":"v"}]},{"name":"none","command":"/bin/sh","args":[],"env":[]}],"_meta":{"claudeCode":{"options":{"settingSources":["user"]}}}}`, `[{"text":"TEXT","type":"text"}]`},
		"opencode": {`{"cwd":"DIR","mcpServers":[]}`, `[{"text":"be kind","type":"text"},{"text":"TEXT","type":"text"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, name)
			b.options.System = "be kind"
			if name == "claude" {
				b.options.ReadDirs = []string{"/more"}
				b.options.Servers = map[string]setup.Server{
					"docs": {Command: "/bin/sh", Args: []string{"-c", "true"}, Env: map[string]string{"K": "v"}}, "none": {Command: "/bin/sh"},
				}
			}
			_, l := b.start()
			l.Turn(script(ends("end_turn")))
			l.Turn(script(ends("end_turn")))
			opened := strings.Replace(b.heard("session/new")[0], b.options.Dir, "DIR", 1)
			if opened != want[0] {
				t.Errorf("opened with\n     %s\nwant %s", opened, want[0])
			}
			escaped := strings.ReplaceAll(script(ends("end_turn")), `"`, `\"`)
			for i, want := range []string{want[1], `[{"text":"TEXT","type":"text"}]`} {
				said := strings.Replace(b.heard("session/prompt")[i], escaped, "TEXT", 1)
				if !strings.Contains(said, want) {
					t.Errorf("prompt %d was %s", i+1, said)
				}
			}
		})
	}
}

// A process may end between the start of its session and the first message.
func TestTheSystemPromptGoesWithTheFirstMessageOfAResumedSession(t *testing.T) {
	for name, tt := range map[string]struct {
		agent string
		story []step
		want  bool
	}{
		"without a message":          {"opencode", []step{update(`{"sessionUpdate":"available_commands_update"}`)}, true},
		"with a message":             {"opencode", []step{update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"old"}}`)}, false},
		"that repeats no message":    {"resumer", nil, false},
		"where it joins the agent's": {"claude", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tt.agent)
			b.options.Resume, b.options.System = "s1", "be kind"
			b.set(storyVariable, script(tt.story...))
			_, l := b.start()
			l.Turn(script(ends("end_turn")))
			l.Turn(script(ends("end_turn")))
			for i, want := range []bool{tt.want, false} {
				if said := b.heard("session/prompt")[i]; strings.Contains(said, "be kind") != want {
					t.Errorf("prompt %d was %s", i+1, said)
				}
			}
		})
	}
}

func TestOptionsThatAnAgentDoesNotTake(t *testing.T) {
	for name, tt := range map[string]struct {
		agent  string
		change func(*agent.Options)
		says   string
	}{
		"directories":                {"opencode", func(o *agent.Options) { o.Dirs = []string{"/more"} }, "does not support further directories"},
		"a server that is not there": {"claude", func(o *agent.Options) { o.Servers = map[string]setup.Server{"x": {Command: "ratchet-no-such"}} }, "MCP server x"},
		"a server of the repository": {"claude", func(o *agent.Options) { o.Servers = map[string]setup.Server{"x": {Command: "./x"}} }, "relative"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tt.agent)
			tt.change(&b.options)
			for what, err := range map[string]error{
				"before": b.adapter.(agent.OptionChecker).CheckOptions(t.Context(), b.options),
				"start": func() error {
					s, err := b.adapter.Start(t.Context(), b.options)
					if err == nil {
						s.Stop(t.Context())
					}
					return err
				}(),
			} {
				if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.BadRequest || !strings.Contains(e.Message, tt.says) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if opened := b.heard("session/new"); len(opened) > 0 {
				t.Errorf("opened with %s", opened)
			}
		})
	}
}

func TestNoFilesAndNoTerminalsAreLent(t *testing.T) {
	b := newBench(t, "plain")
	_, l := b.start()
	const hello = `"clientCapabilities":{"auth":{},"fs":{}}`
	if heard := b.heard("initialize"); len(heard) != 1 || !strings.Contains(heard[0], hello) {
		t.Errorf("greeted with %s", heard)
	}
	for _, method := range []string{"fs/read_text_file", "fs/write_text_file", "terminal/create", "_other"} {
		if turn, _ := l.Turn(script(step{Call: method}, ends("end_turn"))); turn.Text != "-32601" {
			t.Errorf("%s: answered with %s", method, turn.Text)
		}
	}
}

func TestStopWithoutATurnSaysNothing(t *testing.T) {
	s, l := newBench(t, "plain").start()
	for range 2 {
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.Rest()
	if events := l.Events(); len(events) != 1 || len(agenttest.All[agent.Started](events)) != 1 {
		t.Errorf("told:%s", l)
	}
}
