package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// buildStarter returns the program itself, built once from these sources. The engine is there when it returns. In the quick
// tier the program is this test binary: a build links for seconds.
func buildStarter(t *testing.T) string {
	t.Helper()
	if _, err := engine.Program(t.Context(), func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	if !need.Has(need.CI) {
		return standIn(t, t.TempDir(), "starter", asProgram)
	}
	program, err := builtStarter()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

var builtStarter = sync.OnceValues(func() (string, error) {
	program := filepath.Join(ownDir, "starter")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

// patchesOn returns the patches of the commits of all branches of the sample, the newest first.
func patchesOn(t *testing.T, repo string) []string {
	t.Helper()
	return strings.Fields(clitest.Git(t, repo, "log", "--all", "--format=%(trailers:key=Ratchet-Patch,valueonly)"))
}

// watchDemo runs the demo in the directory and returns what it says.
func watchDemo(t *testing.T, dir string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), buildStarter(t), append([]string{"demo", "--dir", dir}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Fatalf("%v: %v\n%s%s", args, err, out.String(), errs.String())
	}
	return out.String()
}

func TestDemoWithoutATerminal(t *testing.T) {
	t.Parallel()
	told := watchDemo(t, t.TempDir(), "--no-kill")
	for _, want := range []string{"demo without a terminal", "Nothing has been applied yet", "+     shares[0] += total % people", "TestSharesAreFair", "Completed", "Try next"} {
		if !strings.Contains(told, want) {
			t.Errorf("the demo lacks %q:\n%s", want, told)
		}
	}
	if strings.Contains(told, "kill -9") || strings.Contains(told, "answer paid") {
		t.Errorf("it has killed:\n%s", told)
	}
}

// The demo kills its engine and worker, beside the sample and the engine's database of a first one.
func TestDemoAgainWithAKill(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	dir := t.TempDir()
	watchDemo(t, dir, "--no-kill")
	lines := strings.Split(strings.TrimSpace(watchDemo(t, dir, "--json")), "\n")
	var end struct {
		Status run.Status `json:"status"`
		Kill   *struct {
			Killed, Restarted struct{ Engine, Worker int }
			Patch             run.Digest
			Commits, Answers  int
		} `json:"kill"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || end.Status != run.Completed || end.Kill == nil {
		t.Fatalf("last line %s: %v", lines[len(lines)-1], err)
	}
	k := *end.Kill
	if k.Commits != 1 || k.Answers != 1 || k.Killed.Engine == 0 || k.Killed.Worker == 0 || k.Killed.Engine == k.Restarted.Engine || k.Killed.Worker == k.Restarted.Worker {
		t.Errorf("%+v", k)
	}
	patches := patchesOn(t, filepath.Join(dir, "ratchet-demo-2", "bill"))
	if len(patches) != 2 || patches[0] == patches[1] || !slices.Contains(patches, string(k.Patch)) {
		t.Errorf("patches on the branch: %v, killed after %s", patches, k.Patch)
	}
}
