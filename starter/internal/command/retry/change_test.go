package retry

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
)

// A run is retried with another agent: the words of the first are not meant for it.
func TestARetryWithAnotherProvider(t *testing.T) {
	here := t.TempDir()
	if err := proctest.WriteProgram(filepath.Join(here, "agent.py"), "#!/bin/sh\n"); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		from, fixer string // claude unless told
		to          string
		evaluator   string
		dir         string // in which programs are looked for
		kept        bool   // the words of the agent
		refused     bool
	}{
		"another agent":                          {to: "codex"},
		"another agent behind ACP":               {from: "acp:opencode acp", to: "acp:gemini --acp"},
		"the same agent behind ACP":              {from: "acp:gemini --acp", to: "acp:gemini --acp", kept: true},
		"the same agent with another model":      {to: "claude:opus", kept: true},
		"the agent of the fixer":                 {from: "codex", fixer: "claude", to: "claude", kept: true},
		"a program, beside an evaluator's":       {to: "command:./agent.py", evaluator: "command:./judge.py", refused: true},
		"an ACP agent, beside an evaluator's":    {to: "acp:./agent.py", evaluator: "command:./judge.py", refused: true},
		"answers, beside an evaluator's":         {to: "replay:.", evaluator: "command:./judge.py", refused: true},
		"a program by its whole path":            {to: "command:/bin/true", evaluator: "command:./judge.py", dir: "/before"},
		"a program, beside an agent that judges": {to: "command:./agent.py", evaluator: "claude", dir: here},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(here)
			from := cmp.Or(tt.from, "claude")
			in := run.Input{Providers: run.Providers{Planner: from, Developer: from, Fixer: cmp.Or(tt.fixer, from), Evaluator: tt.evaluator, Dir: "/before"}}
			in.Options.Mode, in.Options.Tools = "acceptEdits", []string{"Bash(go test *)"}
			in.Origins = map[string]run.Origin{"mode": run.FromFlag}
			f := retryFlags{provider: tt.to, given: func(name string) bool { return name == "provider" }}
			left, err := f.changeInput(&in)
			if (err != nil) != tt.refused {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if kept := in.Options.Mode != "" && in.Options.Tools != nil && in.Origins["mode"] != ""; kept != tt.kept || slices.Contains(left, "mode") == kept {
				t.Errorf("options %+v, origins %v, left out %q", in.Options, in.Origins, left)
			}
			if tt.dir != "" && in.Providers.Dir != tt.dir {
				t.Errorf("programs are looked for in %s, want %s", in.Providers.Dir, tt.dir)
			}
		})
	}
}

// There is no flag by which a retry leaves out what its provider does not take.
func TestARetryLeavesOutWhatTheProviderDoesNotTake(t *testing.T) {
	warm := 0.5
	in := run.Input{Providers: run.Providers{Planner: "claude", Developer: "claude", Fixer: "claude"}, Origins: map[string]run.Origin{"max-output": run.FromFlag}}
	in.Options = setup.Options{
		MaxOutputTokens: 4000, Temperature: &warm, NoTools: []string{"Task"}, ReadDirs: []string{"/srv"}, Servers: map[string]setup.Server{"docs": {Command: "docs"}},
	}
	f := retryFlags{provider: "codex", given: func(name string) bool { return name == "provider" }}
	left, err := f.changeInput(&in)
	if o := in.Options; err != nil || o.MaxOutputTokens != 0 || o.Temperature != nil || o.NoTools != nil || o.ReadDirs == nil || o.Servers == nil || in.Origins["max-output"] != "" {
		t.Errorf("%+v, %v, %v", o, in.Origins, err)
	}
	if !slices.Equal(left, []string{"deny-tool", "max-output", "temperature"}) {
		t.Errorf("left out %q", left)
	}
	if err := in.Options.Validate(setup.Codex); err != nil {
		t.Error(err)
	}
}

func TestARetryKeepsTheLimitOfAnAgentsCalls(t *testing.T) {
	for from, want := range map[string]time.Duration{"claude": 10 * time.Minute, "codex": 10 * time.Minute, "anthropic:small": newrun.AgentLimit} {
		in := run.Input{Providers: run.Providers{Planner: from, Developer: from, Fixer: from}, Timeouts: run.Limit{Provider: 10 * time.Minute}}
		f := retryFlags{provider: "claude:opus", given: func(name string) bool { return name == "provider" }}
		if _, err := f.changeInput(&in); err != nil || in.Timeouts.Provider != want {
			t.Errorf("%s: %s, %v", from, in.Timeouts.Provider, err)
		}
	}
}

func TestARetryWithoutANumber(t *testing.T) {
	f := retryFlags{maxCost: math.NaN(), given: func(name string) bool { return name == "max-cost" }}
	if _, err := f.changeInput(&run.Input{MaxCost: run.Dollars(1)}); err == nil {
		t.Error("a budget of nan is taken")
	}
}
