package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

// script makes a program that stands in for the engine's.
func script(t *testing.T, body string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engine")
	if err := proctest.WriteProgram(path, "#!/bin/sh\n"+body+"\n"); err != nil {
		t.Fatal(err)
	}
	t.Setenv(engine.ProgramVariable, path)
}

func TestProgramThatCannotServe(t *testing.T) {
	for _, tt := range []struct {
		name string
		body string
		say  []string
	}{
		{"reports why", `echo '{"error": "port 1 is taken"}'; exit 1`, []string{"port 1 is taken"}},
		{"ends without a word", `exit 3`, []string{"exit status 3", ".log"}},
		{"prints something else", `echo hello; cat`, []string{"hello"}},
		{"prints without end", `exec yes | tr -d '\n'`, []string{"yyy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script(t, tt.body)
			_, err := engine.Start(t.Context(), engine.Options{DB: newDB(t)})
			refused(t, err, tt.say...)
		})
	}
}

func TestProgramGetsNoSecret(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "canary")
	t.Setenv("TEMPORAL_ADDRESS", "canary")
	script(t, `env >&2; echo '{"error": "enough"}'`)
	db := newDB(t)
	if _, err := engine.Start(t.Context(), engine.Options{DB: db}); err == nil {
		t.Fatal("no error")
	}
	log, err := os.ReadFile(db + ".log")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "HOME=") || strings.Contains(string(log), "canary") {
		t.Errorf("environment of the engine:\n%s", log)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	script(t, `exec cat`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := engine.Start(ctx, engine.Options{DB: newDB(t)})
	refused(t, err, "context")
}

func TestProgramVariable(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, path, say string }{
		{"names nothing", filepath.Join(dir, "none"), "no such file"},
		{"names a directory", dir, "not a program"},
		{"names a file that is no program", text, "not a program"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(engine.ProgramVariable, tt.path)
			_, err := engine.Program(t.Context(), nil)
			refused(t, err, engine.ProgramVariable, tt.say)
		})
	}
}
