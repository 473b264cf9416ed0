package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/outcome"
	"github.com/ratchet-dev/ratchet/starter/internal/runtest"
)

// buildStarter returns the program itself, built once from these sources. The engine is there when it returns.
func buildStarter(t *testing.T) string {
	t.Helper()
	if _, err := engine.Program(t.Context(), func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
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

func TestDemoWithoutATerminal(t *testing.T) {
	t.Parallel()
	program, dir := buildStarter(t), t.TempDir()
	demo := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), program, append([]string{"demo", "--dir", dir}, args...)...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil || errs.Len() > 0 {
			t.Fatalf("%v: %v\n%s%s", args, err, out.String(), errs.String())
		}
		return out.String()
	}
	told := demo("--no-kill")
	for _, want := range []string{"demo without a terminal", "Nothing has been applied yet", "+     shares[0] += total % people", "TestSharesAreFair", "Completed", "Try next"} {
		if !strings.Contains(told, want) {
			t.Errorf("the demo lacks %q:\n%s", want, told)
		}
	}
	if strings.Contains(told, "kill -9") || strings.Contains(told, "answer paid") {
		t.Errorf("it has killed:\n%s", told)
	}
	lines := strings.Split(strings.TrimSpace(demo("--json")), "\n") // finds the sample and the engine's database of the first
	var end struct {
		Status run.Status  `json:"status"`
		Kill   *killReport `json:"kill"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || end.Status != run.Completed || end.Kill == nil {
		t.Fatalf("last line %s: %v", lines[len(lines)-1], err)
	}
	k := *end.Kill
	if !k.costNothing() || k.Killed.Engine == 0 || k.Killed.Worker == 0 || k.Killed.Engine == k.Restarted.Engine || k.Killed.Worker == k.Restarted.Worker {
		t.Errorf("%+v", k)
	}
	patches := patchesOn(t, filepath.Join(dir, "ratchet-demo-2", "bill"))
	if len(patches) != 2 || patches[0] == patches[1] || !slices.Contains(patches, string(k.Patch)) {
		t.Errorf("patches on the branch: %v, killed after %s", patches, k.Patch)
	}
}

func TestTheDemoNamesItsRepositoryForAShell(t *testing.T) {
	t.Chdir(t.TempDir())
	wd, err := os.Getwd()
	clitest.Must(t, err)
	var out outcome.Outcome
	out.Base, out.Head = "0123456789abcdef", "fedcba9876543210"
	for _, repo := range []string{"demo/bill", "d d/bill", "$(id)/bill", "it's/bill"} {
		d := &demo{repo: filepath.Join(wd, repo)}
		line := d.diffCommand(out)
		words, err := shellquote.Split(line)
		if want := []string{"git", "-C", repo, "diff", "0123456789ab..fedcba987654"}; err != nil || !slices.Equal(words, want) {
			t.Errorf("%s: %q, %v, want %q", line, words, err, want)
		}
	}
}

// A question that the script does not plan ends the demo. Nobody is prompted.
func TestAQuestionEndsTheDemo(t *testing.T) {
	var shown captured.Output
	c := newFactory(console.Console{In: strings.NewReader("an answer\n"), Out: &shown, Err: &shown, Environ: os.Environ(), Now: time.Now})
	d := &demo{Factory: c, screen: c.ScreenOn(c.Out)}
	f := &follow.Follower{
		Watched: runtest.Play(
			runtest.Is(run.PhaseStarted{Role: run.Planner}), runtest.Is(run.PhaseFailed{Question: &run.Question{Question: "What shall be done?", Reason: "no end after 3m0s"}}),
			runtest.Is(run.PhaseStarted{}), func(s *run.Snapshot) run.Payload { return s.NewQuestion() },
		),
		ID: "r1", Now: time.Now, Poll: time.Millisecond, Screen: d.screen, Tell: func(run.Event) error { return nil },
		Decider: visitor{follow.NewPerson(d.Factory, d.screen, "r1"), d, "bill#1"},
	}
	_, err := f.Follow(t.Context())
	if code := exit.Code(err); code != exit.Failed || shown.String() != "" {
		t.Errorf("exit code %d, shown %q, want %d and no prompt", code, shown.String(), exit.Failed)
	}
	said := exit.Complaint(err)
	for _, want := range []string{"What shall be done?", "no end after 3m0s", "starter up", "starter watch bill#1"} {
		if !strings.Contains(said, want) {
			t.Errorf("the demo ends with %q, want %q in it", said, want)
		}
	}
}

func TestTheDemoSaysOnceThatItWaitsForACheck(t *testing.T) {
	var shown captured.Output
	c := newFactory(console.Console{Out: &shown, Now: time.Now})
	d := &demo{Factory: c, screen: c.ScreenOn(c.Out)}
	at := func(since time.Duration) runs.Execution {
		return runs.Execution{Activities: []runs.Activity{{Running: true, Beat: report.Progress{Doing: "check 1 of 1: " + demoCheck}, Since: time.Now().Add(-since)}}}
	}
	for _, look := range []struct {
		since time.Duration
		told  int
	}{{time.Second, 0}, {time.Minute, 1}, {2 * time.Minute, 1}} {
		d.tellSlow(at(look.since))
		if n := strings.Count(shown.String(), "The demo waits"); n != look.told {
			t.Errorf("after a check of %v the demo has said %d times that it waits, want %d", look.since, n, look.told)
		}
	}
}
