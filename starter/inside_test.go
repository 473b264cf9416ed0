package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/nobody"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
)

// attacked is a bench of a user without privileges, whose providers find the
// program as starter on their PATH.
func attacked(t *testing.T) bench {
	t.Helper()
	bin := t.TempDir()
	self, err := filepath.Abs(os.Args[0])
	clitest.Must(t, err)
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\"\n", asProgram, self)
	clitest.Must(t, proctest.WriteProgram(filepath.Join(bin, "starter"), script))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	b := bench{t, filepath.Join(t.TempDir(), ".runs"), clitest.Repository(t), answers(t)}
	bringUp(t, b.runsDir)
	return b
}

// provider is the spec of one that runs the script before it answers.
func (b bench) provider(script string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "provider")
	text := fmt.Sprintf("#!/bin/bash\n%s\nexec cat '%s'/$RATCHET_PHASE-$RATCHET_ITERATION.md\n", script, b.answers)
	clitest.Must(b.T, proctest.WriteProgram(path, text))
	return "command:" + path
}

func (b bench) events(id string) string { return b.expect(0, "events", id, "--json").out }

// Finding B3: a daemon that outlives the call of its provider approves.
func TestAProviderCannotApproveItselfByADaemon(t *testing.T) {
	need.Suite(t, need.CI)
	if !nobody.RunsWithEngine(t) {
		return
	}
	b := attacked(t)
	log := filepath.Join(t.TempDir(), "log")
	provider := b.provider(fmt.Sprintf(`RUN=$RATCHET_RUN_ID
if mkdir %s.once 2>/dev/null; then
  setsid bash -c 'until starter approve '$RUN' --runs-dir %s --reason "looks right, reviewed by kim"; do sleep .5; done' >>%[1]s 2>&1 &
  kill -9 $PPID; sleep 300
fi`, log, b.runsDir))
	id := b.start("--provider", provider)
	b.await(id, run.AwaitingApproval)
	if _, err := os.Stat(log + ".once"); err != nil {
		t.Fatal("the daemon was never started")
	}
	for pid, argv := range speaking("approve " + id) {
		t.Errorf("the daemon lives on: %s", argv)
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if strings.Contains(b.events(id), "APPROVAL_GRANTED") {
		t.Error("it has approved")
	}
	b.expect(0, "approve", id) // the control: a person can
}

// speaking are the processes with those words among their arguments.
func speaking(words string) map[int]string {
	found := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		argv, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && strings.Contains(string(argv), words) {
			found[pid] = strings.ReplaceAll(string(argv), "\x00", " ")
		}
	}
	return found
}

// Finding B3: a second run's provider decides for the first.
func TestARunCannotDecideForAnother(t *testing.T) {
	need.Suite(t, need.CI)
	if !nobody.RunsWithEngine(t) {
		return
	}
	b := attacked(t)
	id := b.start()
	b.await(id, run.AwaitingApproval)
	said := filepath.Join(t.TempDir(), "said")
	var script strings.Builder
	for _, way := range []string{"", "env -u RATCHET_RUN_ID ", "env -u RATCHET_RUN_ID setsid -w sh -c 'exec \"$@\"' sh "} {
		for _, decision := range []string{"approve", "reject --final", "answer --question qst-1-1 TEXT", "note TEXT", "move --host any --yes", "cancel"} {
			words := strings.Fields(decision)
			words = slices.Insert(words, 1, id)
			fmt.Fprintf(&script, "%sstarter %s --runs-dir %s >>%s 2>&1; echo code $? >>%[4]s\n", way, strings.Join(words, " "), b.runsDir, said)
		}
	}
	helper := b.provider("if test $RATCHET_PHASE = plan; then\n" + script.String() + "fi")
	other := b.start("--provider", helper)
	b.await(other, run.AwaitingApproval)
	text, err := os.ReadFile(said)
	if err != nil || strings.Count(string(text), "decide from a terminal of your own") != 18 || strings.Count(string(text), "code 1\n") != 18 {
		t.Errorf("%v: %s", err, text)
	}
	if st := b.status(id); st.Status != run.AwaitingApproval || strings.Contains(b.events(id), "kim") {
		t.Errorf("the run is %s", st.Status)
	}
	b.expect(0, "approve", id) // the control: a person can
	b.expect(0, "cancel", other)
}

func TestWhoMayDecide(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	for _, tt := range []struct {
		name       string
		environ    []string
		supervised func() bool
		may        bool
	}{
		{"a person", []string{"HOME=/h"}, no, true},
		{"a person whose shell has an empty variable", []string{proc.RunVariable + "="}, no, true},
		{"a program of a run", []string{proc.RunVariable + "=run-1"}, no, false},
		{"one that lost its environment", nil, yes, false},
	} {
		if err := (&console.Console{Environ: tt.environ, Supervised: tt.supervised}).MayDecide(); (err == nil) != tt.may {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// testDecisionsInsideARun has an agent of a run call the tools that decide.
func testDecisionsInsideARun(h agentHost) {
	b := bench{h.T, h.runsDir, clitest.Repository(h.T), answers(h.T)}
	id := b.start()
	b.await(id, run.AwaitingApproval)
	h.Setenv(proc.RunVariable, "some-run")
	inside := h.connect("--allow-decisions")
	for tool, input := range map[string]map[string]any{
		"ratchet_approve": {"run": id, "approvalId": b.status(id).Pending.Approval.ApprovalID},
		"ratchet_reject":  {"run": id, "approvalId": b.status(id).Pending.Approval.ApprovalID},
		"ratchet_answer":  {"run": id, "questionId": "qst-1-1", "text": "t"},
	} {
		if line := inside.refused(tool, input); !strings.Contains(line, "decide from a terminal of your own") {
			h.Errorf("%s: %s", tool, line)
		}
	}
	if st := b.status(id); st.Status != run.AwaitingApproval {
		h.Errorf("the run is %s", st.Status)
	}
}
