package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/need"
)

func TestVersionNamesTheEngine(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ratchet-engine")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho '{\"version\": \"1.2.0\", \"server\": \"1.32.1\"}'\n"), 0o700); err != nil {
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
	if got = starter(t.Context(), "", "up", "--engine", "another"); got.code != exitUsage || !strings.Contains(got.err, "want auto, own or temporal") {
		t.Errorf("code %d: %s", got.code, got.err)
	}
}

// TestTheRealCommandServesTheDemo needs Temporal's own command, which TEMPORAL_CLI names.
func TestTheRealCommandServesTheDemo(t *testing.T) {
	need.Suite(t, need.Nightly)
	command := os.Getenv("TEMPORAL_CLI")
	if command == "" {
		t.Skip("TEMPORAL_CLI does not name the temporal command")
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(command, filepath.Join(dir, "temporal")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
	t.Setenv(asProgram, "1")                // the demo starts itself again
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // without an engine of ours
	t.Setenv(engine.ProgramVariable, "")
	home := t.TempDir()
	got := starter(t.Context(), "", "demo", "--dir", home)
	if got.code != 0 || !strings.Contains(got.out, "of your PATH serves as the engine") || !strings.Contains(got.out, "✓ Completed") {
		t.Fatalf("code %d: %s%s", got.code, got.out, got.err)
	}
	f, err := engine.ReadFile(filepath.Join(home, localRunsDir))
	if err != nil || !strings.HasPrefix(f.Command, "temporal ") || f.UI != "" {
		t.Errorf("%+v, %v", f, err)
	}
	if err := engine.CheckOwner(f.Address, f.PID); err == nil {
		t.Error("the command has outlived the demo")
	}
}
