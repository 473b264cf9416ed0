package acp_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// A session in a box is resumed from a database of its own, and the one of the user's own sessions is not there.
func TestOpencodeInTheBoxIsResumed(t *testing.T) {
	need.Suite(t, need.Nightly)
	binary := need.Env(t, "OPENCODE_BIN")
	need.Sandbox(t)
	b, err := box.Open(t.Context(), box.Config{})
	if err != nil {
		t.Fatal(err)
	}
	home, model := t.TempDir(), fakemodel.Start(t)
	write(t, filepath.Join(home, "opencode.json"), opencodeConfig(model.URL))
	if err := fakemodel.SettleOpencode(home); err != nil {
		t.Fatal(err)
	}
	adapter := acp.New(acp.Config{
		Argv: []string{binary, "acp"}, Sandbox: child.Sandbox{Box: b},
		Environ: []string{
			"PATH=/usr/bin:/bin", "HOME=" + home, "OPENCODE_CONFIG=" + filepath.Join(home, "opencode.json"),
			"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
			"OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_SHARE=1",
		}})
	o := agent.Options{Dir: t.TempDir(), Home: t.TempDir(), Sandbox: agent.WorkspaceWrite, Log: t.Output()}
	for _, text := range []string{"[[say:heliotrope]]", "[[say:and again]]"} {
		s, err := adapter.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		agenttest.Watch(t, s).Turn(text)
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
	if _, err := os.Stat(filepath.Join(home, ".local/share/opencode/opencode.db")); err == nil {
		t.Error("the database of the user's own sessions was made")
	}
}
