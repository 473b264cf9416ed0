package acp_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

func TestContract(t *testing.T) {
	t.Parallel()
	runSuite(t, agenttest.Subject{
		New: func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
			adapter := acp.New(acp.Config{
				Greeting: acp.Greeting{Unboxed: true},
				Argv:     self("code"), Allow: []string{modelVariable, "GORACE"},
				Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), modelVariable + "=" + model.URL, "GORACE=atexit_sleep_ms=0"},
			})
			return adapter, agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
		},
		Touch: func(path string) string { return fakemodel.Tool("write", map[string]string{"path": path}) },
	})
}

// runSuite runs the contract, and what holds of ACP agents besides: nothing is
// changed in a session that only reads, and nobody is asked.
func runSuite(t *testing.T, subject agenttest.Subject) {
	agenttest.Run(t, subject)
	t.Run("a session that only reads", func(t *testing.T) {
		t.Parallel()
		adapter, o := subject.New(t, fakemodel.Start(t))
		o.Sandbox, o.Log = agent.ReadOnly, t.Output()
		s, err := adapter.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop(t.Context())
		l, file := agenttest.Watch(t, s), filepath.Join(o.Dir, "made")
		turn, events := l.Turn("make it " + subject.Touch(file))
		if asked := agenttest.All[agent.Permission](events); turn.Status != agent.Completed || len(asked) > 0 {
			t.Errorf("the turn was %s, error %v:%s", turn.Status, turn.Err, l)
		}
		if _, err := os.Lstat(file); err == nil {
			t.Error("the file was made")
		}
	})
}
