package claude_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// TestTheRealClientTakesOptions has a server that leaves a mark, a directory to read, and tools that are allowed
// and taken away.
func TestTheRealClientTakesOptions(t *testing.T) {
	dir, more := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(more, "far"), []byte("heliotrope"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, l, model := realSession(t, agent.Options{
		Dir: dir, Sandbox: agent.WorkspaceWrite, ReadDirs: []string{more}, Tools: []string{"Bash(touch *)"}, NoTools: []string{"Skill"}, MaxOutputTokens: 4000,
		Servers: map[string]setup.Server{"docs": {Command: "sh", Args: []string{"-c", "echo $MARK > '" + dir + "/served'; cat"}, Env: map[string]string{"MARK": "it's me"}}},
	}, nil)
	eventually.Holds(t, "the server is started", func() bool {
		b, _ := os.ReadFile(filepath.Join(dir, "served"))
		return string(b) == "it's me\n"
	})
	turn, events := l.Turn(fakemodel.Tool("Read", map[string]string{"file_path": filepath.Join(more, "far")}) +
		fakemodel.Tool("Bash", map[string]string{"command": "touch made", "description": "x"}) + "[[say:done]]")
	if turn.Status != agent.Completed || turn.Text != "done" {
		t.Errorf("%+v", turn)
	}
	for _, e := range events {
		if p, asked := e.(agent.Permission); asked {
			t.Errorf("asked about %s", p.Tool)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error("the tool that needs no permission did not run:", err)
	}
	requests := model.Requests()
	last := requests[len(requests)-1]
	if slices.Contains(last.Tools, "Skill") {
		t.Error("the tool that was taken away is offered")
	}
	if !strings.Contains(last.Text(), "heliotrope") {
		t.Error("the further directory was not read")
	}
}
