package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
)

// TestNoRunHasTheToolsOfASession says so to a person who tries.
func TestNoRunHasTheToolsOfASession(t *testing.T) {
	var said bytes.Buffer
	c := newFactory(console.Console{Err: &said, Out: &said, Environ: []string{"HOME=" + t.TempDir()}, Args: []string{"run", "x", "--provider", "claude", "--repo", clitest.Repository(t), "--check", "true", "--mcp", "ratchet"}})
	if code := c.Run(t.Context()); code == 0 || !strings.Contains(said.String(), "a run's agents may not") {
		t.Errorf("%d: %s", code, said.String())
	}
}
