package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// noConfig hides a configuration of the user's from a worker.
func (s *fixture) noConfig() string { return "TEMPORAL_CONFIG_FILE=" + filepath.Join(s.dir, "none") }

// refused starts a worker that must not serve.
func (s *fixture) refused(say string) {
	s.t.Helper()
	w := s.launch(s.noConfig())
	select {
	case <-w.done:
	case <-w.ready:
		s.t.Errorf("it serves, and should say %q", say)
		w.kill()
		return
	}
	if code := w.cmd.ProcessState.ExitCode(); code != 6 {
		s.t.Errorf("exit code %d", code)
	}
	// The line before is about the sandbox.
	if said := w.out.String(); strings.Count(said, "\n") != 2 || !strings.Contains(said, say) || !strings.Contains(said, "starter up") {
		s.t.Errorf("it said %s", said)
	}
}

func (s *fixture) writeEngineFile(key engine.Key) {
	s.t.Helper()
	b, err := os.ReadFile(key.Path)
	if err == nil {
		err = file.Replace(filepath.Join(s.runsDir, engine.KeyFile), b)
	}
	if err == nil {
		err = engine.WriteFile(s.runsDir, engine.File{Address: s.engine.Address, API: s.engine.API})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestAWorkerServesItsOwnEngineOnly: who it serves has its hands. Findings B2 and B10.
func TestAWorkerServesItsOwnEngineOnly(t *testing.T) {
	t.Parallel()
	s := newOwnFixture(t)
	if err := os.Remove(filepath.Join(s.runsDir, engine.FileName)); err != nil {
		t.Fatal(err)
	}
	s.refused("no engine is known")
	another, err := engine.MakeKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.writeEngineFile(another)
	s.refused("another program listens there")
	s.writeEngineFile(s.engine.Key)
	if err := os.Chmod(filepath.Join(s.runsDir, engine.FileName), 0o640); err != nil {
		t.Fatal(err)
	}
	s.refused("other users")
}
