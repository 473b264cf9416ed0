package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

func TestVersionNamesTheEngine(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ratchet-engine")
	if err := proctest.WriteProgram(program, "#!/bin/sh\necho '{\"version\": \"1.2.0\", \"server\": \"1.32.1\"}'\n"); err != nil {
		t.Fatal(err)
	}
	t.Setenv(engine.ProgramVariable, program)
	got := starter(t.Context(), "", "--version")
	if got.code != 0 || !strings.HasPrefix(got.out, "starter ") || !strings.Contains(got.out, "engine: ratchet-engine 1.2.0, Temporal server 1.32.1, "+program) {
		t.Errorf("code %d: %s%s", got.code, got.out, got.err)
	}
	got = starter(t.Context(), "", "--version", "--json")
	var shown struct {
		Version string
		Engine  engine.Choice
	}
	if err := json.Unmarshal([]byte(got.out), &shown); err != nil || shown.Version == "" || shown.Engine.Server != "1.32.1" || shown.Engine.Program != program {
		t.Errorf("%v: %s", err, got.out)
	}
	t.Setenv(engine.ProgramVariable, filepath.Join(t.TempDir(), "none"))
	got = starter(t.Context(), "", "--version")
	if got.code != 0 || !strings.Contains(got.out, "engine: none: "+engine.ProgramVariable) {
		t.Errorf("code %d: %s%s", got.code, got.out, got.err)
	}
}
