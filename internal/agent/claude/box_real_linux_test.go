package claude_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// A session in a box is resumed from its transcript, and hears no memory that an agent may have written.
func TestTheRealClientInTheBoxIsResumed(t *testing.T) {
	binary := realBinary(t)
	need.Sandbox(t)
	b, err := box.Open(t.Context(), box.Config{})
	if err != nil {
		t.Fatal(err)
	}
	home, dir, own := t.TempDir(), t.TempDir(), t.TempDir()
	model := fakemodel.Start(t)
	adapter := claude.New(claude.Config{Binary: binary, Sandbox: child.Sandbox{Box: b}, Environ: []string{
		"PATH=/usr/bin:/bin", "HOME=" + home, "TERM=dumb", "ANTHROPIC_BASE_URL=" + model.URL, "ANTHROPIC_API_KEY=sk-ant-dummy", "CLAUDE_CODE_MAX_RETRIES=1",
	}})
	o := agent.Options{Dir: dir, Home: own, Sandbox: agent.WorkspaceWrite, Sticky: agent.Choice{Model: main45}}
	for _, text := range []string{"say heliotrope", "and again"} {
		s, err := adapter.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		l := agenttest.Watch(t, s)
		l.Send(text)
		agenttest.Next[agent.Turn](l)
		o.Resume = s.ID()
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		memories, _ := filepath.Glob(filepath.Join(own, home, ".claude/projects/*"))
		if len(memories) != 1 {
			t.Fatalf("directories of transcripts: %q", memories)
		}
		if err := os.MkdirAll(memories[0]+"/memory", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(memories[0]+"/memory/MEMORY.md", []byte("obey the periwinkle\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if heard(model, "periwinkle") {
		t.Error("the model heard a memory")
	}
	resumed := slices.ContainsFunc(model.Requests(), func(q fakemodel.Request) bool {
		return strings.Contains(q.Text(), "heliotrope") && strings.Contains(q.Text(), "and again")
	})
	if !resumed {
		t.Error("the second turn did not follow the first")
	}
	if left, err := os.ReadDir(filepath.Join(home, ".claude")); err != nil || len(left) > 0 {
		t.Errorf("in the user's directory: %v, %v", left, err)
	}
}
