package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/workflows"
)

// asApprover is the first argument of this binary when it approves what a run waits for, by a client
// like any other: the runs directory and the run follow.
const asApprover = "approve-whatever-waits"

// playApprover exits with 0 when the approval was sent.
func playApprover(runsDir string, id run.ID) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: runsDir})
	if err == nil {
		var p run.Pending
		if v, err2 := c.QueryWorkflow(ctx, id.WorkflowID(), "", workflows.PendingQuery); err2 == nil && v.Get(&p) == nil && p.Approval != nil {
			err = c.SignalWorkflow(ctx, id.WorkflowID(), "", workflows.ApprovalMessage, p.Approval.Signal)
		} else {
			err = fmt.Errorf("nothing waits: %v", err2)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// attacks returns a check that tries every way to what judges the run with the id, and tells those that
// it got through. The check itself passes. The repository holds this test's binary.
func (s *fixture) attacks(id run.ID) string {
	ui, err := url.Parse(s.engine.API)
	if err != nil {
		s.t.Fatal(err)
	}
	record := s.runs.Run(id).Path()
	lines := []string{"exec 2>/dev/null"}
	for _, attack := range [][2]string{
		{"engine.pem", "grep -q KEY " + filepath.Join(s.runsDir, engine.KeyFile)},
		{"the port of the engine", "bash -c '</dev/tcp/" + strings.ReplaceAll(s.engine.Address, ":", "/") + "'"},
		{"the port of the Web UI and of HTTP", "bash -c '</dev/tcp/" + ui.Hostname() + "/" + ui.Port() + "'"},
		{"the database", "grep -aq '^SQLite format' " + s.db + " && dd if=/dev/zero of=" + s.db + " bs=1 count=0 conv=notrunc"},
		{"events.ndjson", "echo '{}' >> " + filepath.Join(record, "events.ndjson")},
		{"a work tree of another run", "echo planted > " + filepath.Join(s.runs.Workspace(id), "planted")},
		{"the repository of the user", "git -C " + s.repo + " update-ref refs/heads/planted " + string(s.base)},
		{"the approval by gRPC", "./approver " + asApprover + " " + s.runsDir + " " + string(id)},
	} {
		lines = append(lines, "{ "+attack[1]+"; } >/dev/null && echo 'reached: "+attack[0]+"'")
	}
	return strings.Join(append(lines, "true"), "\n")
}

// giveApprover commits this test's binary to the repository.
func (s *fixture) giveApprover() {
	s.t.Helper()
	from, err := os.Open(os.Args[0])
	if err != nil {
		s.t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(s.repo, "approver"), os.O_WRONLY|os.O_CREATE, 0o755)
	if err == nil {
		_, err = io.Copy(to, from)
	}
	if err == nil {
		err = to.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.git("-C", s.repo, "add", ".")
	s.git("-C", s.repo, "commit", "-q", "-m", "second")
	s.base = run.Commit(s.git("-C", s.repo, "rev-parse", "HEAD"))
}

// attacked has a run attack another that waits for an approval. It returns what got through, and the
// victim's status and record afterwards.
func attacked(t *testing.T, policy run.Sandbox) (reached []string, status run.Status, kept bool) {
	s := newOwnFixture(t)
	s.sandbox = policy
	s.giveApprover()
	s.spawn()
	answers := s.replay(map[string]string{"plan-1": planText, "execute-1": appending("", "one")})
	victim := s.input(answers)
	victim.Policy = run.Always
	s.start(victim)
	eventually.Holds(t, "the victim waits", func() bool {
		state, err := query[run.State](s, victim.RunID, workflows.StateQuery)
		return err == nil && state.Status == run.AwaitingApproval && s.isPrepared(victim.RunID)
	})
	log := filepath.Join(s.runs.Run(victim.RunID).Path(), "events.ndjson")
	before, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	attacker := s.input(answers)
	attacker.Checks, attacker.NoBaseline = []string{s.attacks(victim.RunID)}, true
	s.start(attacker)
	var at run.State
	eventually.Holds(t, "the attacker has ended, or asks", func() bool {
		at, err = query[run.State](s, attacker.RunID, workflows.StateQuery)
		return err == nil && (at.Status.Terminal() || at.Status.Waiting())
	})
	if at.Status != run.Completed {
		p, _ := query[run.Pending](s, attacker.RunID, workflows.PendingQuery)
		t.Fatalf("the attacker's run is %s: %+v, its check: %+v", at.Status, p.Question, s.checked(attacker.RunID))
	}
	c := s.checked(attacker.RunID)
	if (c.Sandbox != "") == policy.Off() {
		t.Errorf("the check ran in %q", c.Sandbox)
	}
	for line := range strings.Lines(c.Head) {
		if what, ok := strings.CutPrefix(strings.TrimSpace(line), "reached: "); ok {
			reached = append(reached, what)
		}
	}
	after, _ := os.ReadFile(log)
	_, planted := os.Stat(filepath.Join(s.runs.Workspace(victim.RunID), "planted"))
	branch := s.git("-C", s.repo, "branch", "--list", "planted")
	kept = bytes.HasPrefix(after, before) && !bytes.Contains(after, []byte("\n{}\n")) && planted != nil && branch == ""
	if policy.Off() {
		eventually.Holds(t, "the victim is approved by the attacker", func() bool {
			state, err := query[run.State](s, victim.RunID, workflows.StateQuery)
			return err == nil && state.Status != run.AwaitingApproval
		})
	}
	state, err := answer[run.State](s, victim.RunID, workflows.StateQuery)
	if err != nil {
		t.Fatal(err)
	}
	return reached, state.Status, kept
}

func (s *fixture) isPrepared(id run.ID) bool {
	_, err := os.Stat(s.runs.Workspace(id))
	return err == nil
}

// TestARunCannotReachWhatJudgesIt judges on the host. The control is the same without the box.
func TestARunCannotReachWhatJudgesIt(t *testing.T) {
	t.Parallel()
	need.Sandbox(t)
	if _, err := box.Open(t.Context(), box.Config{}); err != nil {
		t.Fatal(err)
	}
	reached, status, kept := attacked(t, run.SandboxRequired)
	if len(reached) > 0 || status != run.AwaitingApproval || !kept {
		t.Errorf("in the box it reached %q, the victim is %s, untouched: %v", reached, status, kept)
	}
	reached, status, kept = attacked(t, run.SandboxOff)
	want := 8
	slices.Sort(reached)
	if len(reached) != want || status == run.AwaitingApproval || kept {
		t.Errorf("without the box it reached %d of %d: %q, the victim is %s, untouched: %v", len(reached), want, reached, status, kept)
	}
}
