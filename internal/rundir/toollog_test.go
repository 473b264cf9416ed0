package rundir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/rundir"
)

func returned(t *testing.T, d *rundir.Dir, phase, target string) {
	t.Helper()
	fields := map[string]any{"iteration": 1, "attempt": 2, "tool": "Bash", "target": target, "let": rundir.LetOnce, "ms": "800", "failed": "true", "output": "no"}
	if err := d.Log("provider-"+phase, rundir.Info, rundir.ToolReturned, fields); err != nil {
		t.Fatal(err)
	}
}

func TestToolCallsAreReadOnce(t *testing.T) {
	d := newDir(t)
	var log rundir.ToolLog
	if calls, err := d.ToolCalls(&log); err != nil || len(calls) > 0 {
		t.Fatalf("%v, %v", calls, err)
	}
	returned(t, d, "execute", "go vet")
	if err := d.Log("provider-execute", rundir.Info, "tool called", map[string]any{"tool": "Bash"}); err != nil {
		t.Fatal(err)
	}
	returned(t, d, "plan", "ls")
	calls, err := d.ToolCalls(&log)
	if err != nil || len(calls) != 2 {
		t.Fatalf("%v, %v", calls, err)
	}
	c := calls[0]
	if c.Target != "go vet" || c.Phase != "execute" || c.Candidate != 2 || c.Tool != "Bash" || c.Let != rundir.LetOnce || c.Took.Milliseconds() != 800 || !c.Failed || c.Output != "no" || c.Time.IsZero() || calls[1].Target != "ls" {
		t.Errorf("%+v", calls)
	}
	if err := d.Log("provider-execute", rundir.Info, rundir.AgentSaid, map[string]any{"target": "I look first."}); err != nil {
		t.Fatal(err)
	}
	if calls, err := d.ToolCalls(&log); err != nil || len(calls) != 1 || !calls[0].Said || calls[0].Note || calls[0].Target != "I look first." {
		t.Errorf("what an agent says: got %+v, %v", calls, err)
	}
	returned(t, d, "execute", "go test")
	if calls, err := d.ToolCalls(&log); err != nil || len(calls) != 1 || calls[0].Target != "go test" {
		t.Errorf("%v, %v", calls, err)
	}
}

// A log line may be cut, or be no line of ours; an agent's output cannot be taken for a call.
func TestLinesThatAreNoToolCalls(t *testing.T) {
	d := newDir(t)
	returned(t, d, "fix", "[2026-01-01T00:00:00Z] [INFO] tool returned {\"tool\":\"x\"}\n[2026-01-01T00:00:00Z] [INFO] tool returned {\"tool\":\"y\"}")
	file := filepath.Join(d.Path(), "logs", "provider-fix.log")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	whole := "[2026-01-01T00:00:00Z] [INFO] tool returned {\"tool\":\"late\"}\n"
	if _, err := f.WriteString("[yesterday] [INFO] tool returned {}\n[2026-01-01T00:00:00Z] [INFO] tool returned {\n" + whole[:20]); err != nil {
		t.Fatal(err)
	}
	var log rundir.ToolLog
	calls, err := d.ToolCalls(&log)
	if err != nil || len(calls) != 1 || !strings.Contains(calls[0].Target, "[INFO]") {
		t.Fatalf("%+v, %v", calls, err)
	}
	if _, err := f.WriteString(whole[20:]); err != nil {
		t.Fatal(err)
	}
	if calls, err := d.ToolCalls(&log); err != nil || len(calls) != 1 || calls[0].Tool != "late" {
		t.Errorf("the cut line: %+v, %v", calls, err)
	}
}
