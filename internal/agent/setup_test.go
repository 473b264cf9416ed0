package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

func TestSetupThatAnAgentCannotTakeIsRefused(t *testing.T) {
	warm := 0.5
	for _, tt := range []struct {
		name  string
		kind  agent.Kind
		setup agent.Setup
		say   string // of the error; empty: none
	}{
		{"nothing chosen", agent.OpenClaw, agent.Setup{}, ""},
		{"everything that Claude Code takes", agent.Claude, agent.Setup{
			Mode: "plan", System: "Be brief.", Dirs: []string{"/d"}, Tools: []string{"Read"}, NoTools: []string{"Bash"},
			Servers: map[string]agent.Server{"s": {Command: "serve"}}, MaxOutputTokens: 100, Env: []string{"A", "B=1"},
		}, ""},
		{"an option that one kind lacks", agent.Codex, agent.Setup{Tools: []string{"shell"}}, "or use claude, acp, pi"},
		{"an option that no agent has", agent.Claude, agent.Setup{Temperature: &warm}, "claude takes no choice of a temperature: leave it out"},
		{"servers that pi has no place for", agent.Pi, agent.Setup{Servers: map[string]agent.Server{"s": {Command: "c"}}}, "or use claude, codex"},
		{"a relative directory", agent.Claude, agent.Setup{Dirs: []string{"d"}}, "not absolute"},
		{"a variable without a name", agent.Claude, agent.Setup{Env: []string{"=x"}}, "want NAME"},
		{"a tool on two lines", agent.Claude, agent.Setup{Tools: []string{"a\nb"}}, "one line"},
		{"an empty tool", agent.Claude, agent.Setup{NoTools: []string{""}}, "one line"},
		{"a server with a dot in its name", agent.Codex, agent.Setup{Servers: map[string]agent.Server{"a.b": {Command: "c"}}}, "want a name"},
		{"a server without a program", agent.Codex, agent.Setup{Servers: map[string]agent.Server{"a": {}}}, "names no program"},
		{"a prompt without a bound", agent.Claude, agent.Setup{System: strings.Repeat("x", 20_000)}, "at most"},
		{"a negative bound", agent.Claude, agent.Setup{MaxOutputTokens: -1}, "positive"},
		{"too many directories", agent.Claude, agent.Setup{Dirs: slices.Repeat([]string{"/d"}, 65)}, "at most"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.setup.Validate(tt.kind)
			if tt.say == "" && err != nil || tt.say != "" && (err == nil || !strings.Contains(err.Error(), tt.say)) {
				t.Errorf("error %v; want one with %q", err, tt.say)
			}
		})
	}
}

func TestSetupReachesTheOptions(t *testing.T) {
	s := agent.Setup{Mode: "plan", System: "s", Dirs: []string{"/d"}, Tools: []string{"a"}, NoTools: []string{"b"}, MaxOutputTokens: 7, Env: []string{"A", "B=1"}}
	o := agent.Options{MaxOutputTokens: agent.AnswerTokens(0)}
	lookup := func(name string) (string, bool) { return "of the worker", name == "A" }
	if err := s.AddTo(&o, "/servers", lookup); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Env, []string{"A=of the worker", "B=1"}) || o.MaxOutputTokens != 7 || o.MCPConfig != "/servers" ||
		o.Choice().Mode != "plan" || o.System != "s" || o.Dirs[0] != "/d" || o.Tools[0] != "a" || o.NoTools[0] != "b" {
		t.Errorf("%+v", o)
	}
	if err := (agent.Setup{Env: []string{"C"}}).AddTo(&o, "", lookup); err == nil {
		t.Error("a variable that the worker lacks is not told")
	}
	bounded := agent.Options{MaxOutputTokens: 5}
	if (agent.Setup{MaxOutputTokens: 7}).AddTo(&bounded, "", lookup); bounded.MaxOutputTokens != 5 {
		t.Errorf("the rung of the ladder gave way to a larger bound: %d", bounded.MaxOutputTokens)
	}
}
