package main

import (
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/starter/internal/agentlist"
)

// A machine without agents is told so in short lines; the JSON has each place that was looked at.
func TestAgentsThatAreMissingTakeALineEach(t *testing.T) {
	list := host.Config{Environ: []string{"PATH=/nowhere/a:/nowhere/b:/nowhere/c"}}.CollectManifests(t.Context(), t.TempDir())
	i := slices.IndexFunc(list, func(m agent.Manifest) bool { return m.Kind == setup.Claude })
	if i < 0 {
		t.Fatalf("no Claude Code among %+v", list)
	}
	if got := agentlist.Gist(list[i]); got != "no program claude in the 3 directories of PATH" {
		t.Errorf("got %q", got)
	}
	if got := list[i].Unavailable; got != "no program claude in /nowhere/a, /nowhere/b, /nowhere/c" {
		t.Errorf("the manifest says %q", got)
	}
}
