package demo

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// The sentence about the kill is what was counted: it says two where there are two.
func TestTheKillIsToldAsItWas(t *testing.T) {
	for _, tt := range []struct {
		commits, answers int
		says             string
		costs            bool
	}{
		{1, 1, "one commit, one answer paid", false},
		{2, 1, "two commits, one answer paid", true},
		{1, 2, "one commit, two answers paid", true},
		{0, 1, "no commits, one answer paid", true},
		{4, 12, "4 commits, 12 answers paid", true},
	} {
		k := killing{report: &killReport{Commits: tt.commits, Answers: tt.answers}}
		if got := k.report.String(); got != tt.says || (k.err() != nil) != tt.costs {
			t.Errorf("%q, %v; want %q", got, k.err(), tt.says)
		}
	}
	if err := (killing{}).err(); err != nil {
		t.Errorf("nothing was killed: %v", err)
	}
}

// countedDemo has one patch that was committed and paid for as often as said, among others.
func countedDemo(t *testing.T, commits, answers int) (d demo, produced run.Event) {
	t.Helper()
	d = demo{Factory: factory.New(console.Console{Out: io.Discard}, nil), screen: factory.New(console.Console{}, nil).ScreenOn(io.Discard), repo: clitest.Repository(t)}
	d.RunsDir = t.TempDir()
	const id run.ID = "one"
	d.branch = id.Branch()
	patch := run.DigestOf([]byte("the patch"))
	clitest.Git(t, d.repo, "switch", "-q", "-c", id.Branch())
	commit := func(digest run.Digest) {
		clitest.Git(t, d.repo, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "Change\n\nRatchet-Run: one\nRatchet-Patch: "+string(digest))
	}
	commit(run.DigestOf([]byte("another patch")))
	log := "[2026-11-22T23:53:23Z] [INFO] answered {\"iteration\":2}\n[2026-11-22T23:53:23Z] [INFO] stderr {\"iteration\":1,\"text\":\"answered\"}\n"
	for range commits {
		commit(patch)
	}
	for range answers {
		log += "[2026-11-22T23:53:23Z] [INFO] answered {\"bytes\":356,\"call\":1,\"iteration\":1}\n"
	}
	dir := filepath.Join(d.RunsDir, "workflows", string(id))
	clitest.Write(t, filepath.Join(dir, "events.ndjson"), "")
	clitest.Write(t, filepath.Join(dir, "logs", "provider-execute.log"), log)
	d.kill.report = &killReport{Patch: patch}
	return d, run.Event{RunID: id, Type: run.PatchProducedEvent, Phase: run.Execute, Iteration: 1, Payload: run.PatchProduced{Proposal: run.Proposal{Patch: run.Ref{Digest: patch}}}}
}

func TestWhatAKillCostIsCounted(t *testing.T) {
	for _, tt := range []struct {
		commits, answers int
		want             string
	}{
		{1, 1, "✓ one commit, one answer paid"},
		{2, 1, "✗ two commits, one answer paid"},
		{1, 2, "✗ one commit, two answers paid"},
	} {
		d, produced := countedDemo(t, tt.commits, tt.answers)
		var out strings.Builder
		d.screen = d.ScreenOn(&out)
		for _, e := range []run.Event{produced, {RunID: produced.RunID, Type: run.EvaluationPassedEvent}} {
			if err := d.reportKill(t.Context(), nil, e); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(out.String(), tt.want) || d.kill.report.Commits != tt.commits || d.kill.report.Answers != tt.answers {
			t.Errorf("%d and %d: %+v\n%s", tt.commits, tt.answers, d.kill.report, out.String())
		}
	}
}
