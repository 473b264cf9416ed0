package codex_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// A session in a box is resumed from what it has kept in its own home. The user's has none of it.
func TestTheRealClientInTheBoxIsResumed(t *testing.T) {
	realClient(t)
	need.Sandbox(t)
	b, err := box.Open(t.Context(), box.Config{})
	if err != nil {
		t.Fatal(err)
	}
	model := fakemodel.Start(t)
	c := realConfig(t, model)
	c.Sandbox = child.Sandbox{Box: b}
	o := agent.Options{Dir: t.TempDir(), Home: t.TempDir(), Sandbox: agent.WorkspaceWrite}
	for _, text := range []string{"heliotrope", "and again"} {
		s, err := codex.New(c).Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		agenttest.Watch(t, s).Turn(fakemodel.Say(text))
		o.Resume = s.ID()
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	resumed := slices.ContainsFunc(model.Requests(), func(q fakemodel.Request) bool {
		return strings.Contains(q.Text(), "heliotrope") && strings.Contains(q.Text(), "and again")
	})
	if !resumed {
		t.Error("the second turn did not follow the first")
	}
	if _, err := os.Stat(filepath.Join(valueOf(c.Environ, "CODEX_HOME"), "sessions")); err == nil {
		t.Error("the transcripts are in the user's directory")
	}
}
