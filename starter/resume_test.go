package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// The variables of `starter env` name an engine of another directory: its records are those that every command means.
func TestARecordIsFoundBesideTheNamedEngine(t *testing.T) {
	local, said := clitest.LocalFactory(t, engine.File{}, false)
	runsDir := local.RunsDir
	c := newFactory(*local.Console)
	c.Environ = []string{"HOME=" + t.TempDir()} // the default is another directory
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	t.Setenv("TEMPORAL_TLS_CLIENT_KEY_PATH", filepath.Join(runsDir, engine.KeyFile))
	clitest.Must(t, os.MkdirAll(filepath.Join(runsDir, "workflows", "0298-a"), 0o700))
	clitest.Must(t, rundir.KeepName(runsDir, "shop#4", "0298-a"))
	c.Args = []string{"resume", "shop#4"}
	if code := c.Run(t.Context()); code != exit.Failed || !strings.Contains(said.String(), "no events") {
		t.Errorf("code %d, said %q", code, said)
	}
}
