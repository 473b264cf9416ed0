package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// A run is retried with another agent: the words of the first are not meant for it.
func TestARetryWithAnotherProvider(t *testing.T) {
	here := t.TempDir()
	if err := os.WriteFile(filepath.Join(here, "agent.py"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		to        string
		evaluator string
		dir       string // in which programs are looked for
		kept      bool   // the words of the agent
		refused   bool
	}{
		"another agent":                          {to: "codex"},
		"the same agent with another model":      {to: "claude:opus", kept: true},
		"a program, beside an evaluator's":       {to: "command:./agent.py", evaluator: "command:./judge.py", refused: true},
		"a program by its whole path":            {to: "command:/bin/true", evaluator: "command:./judge.py", dir: "/before"},
		"a program, beside an agent that judges": {to: "command:./agent.py", evaluator: "claude", dir: here},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(here)
			in := run.Input{Providers: run.Providers{Planner: "claude", Developer: "claude", Fixer: "claude", Evaluator: tt.evaluator, Dir: "/before"}}
			in.Options.Mode, in.Options.Tools, in.Options.NoTools = "acceptEdits", []string{"Bash(go test *)"}, []string{"WebFetch"}
			in.Origins = map[string]run.Origin{"mode": run.FromFlag}
			f := retryFlags{provider: tt.to, given: func(name string) bool { return name == "provider" }}
			err := f.changeInput(&in)
			if (err != nil) != tt.refused {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if kept := in.Options.Mode != "" && in.Options.Tools != nil && in.Options.NoTools != nil && in.Origins["mode"] != ""; kept != tt.kept {
				t.Errorf("options %+v, origins %v", in.Options, in.Origins)
			}
			if tt.dir != "" && in.Providers.Dir != tt.dir {
				t.Errorf("programs are looked for in %s, want %s", in.Providers.Dir, tt.dir)
			}
		})
	}
}

func TestARetryWithoutANumber(t *testing.T) {
	f := retryFlags{maxCost: math.NaN(), given: func(name string) bool { return name == "max-cost" }}
	if err := f.changeInput(&run.Input{MaxCost: run.Dollars(1)}); err == nil {
		t.Error("a budget of nan is taken")
	}
}
