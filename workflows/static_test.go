package workflows_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestWorkflowcheckRefusesUnsoundWorkflows is the control of the static check.
func TestWorkflowcheckRefusesUnsoundWorkflows(t *testing.T) {
	t.Parallel()
	need.Suite(t, need.CI)
	tool := filepath.Join(t.TempDir(), "workflowcheck")
	build := exec.CommandContext(t.Context(), "go", "-C", "../.ci/tools", "build", "-o", tool, "go.temporal.io/sdk/contrib/tools/workflowcheck")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build workflowcheck: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), tool, "./testdata/unsound").CombinedOutput()
	if err == nil {
		t.Error("it finds nothing")
	}
	for _, want := range []string{"Ranges is non-deterministic", "iterates over map", "Reads is non-deterministic"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
