package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	hosting "github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/store"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// TestLookFromAnyMachine: with the bucket and an engine.json alone, the commands that look say what they say on the host
// of the run's worker, and an approval is given.
func TestLookFromAnyMachine(t *testing.T) {
	t.Chdir(t.TempDir())
	runsDir, other := filepath.Join(t.TempDir(), "runs"), filepath.Join(t.TempDir(), "runs")
	t.Setenv(store.Variable, "file://"+t.TempDir())
	t.Setenv("GIT_ALLOW_PROTOCOL", "file")
	o := gittest.NewOrigin(t)
	file := "100644 blob " + o.Blob("bad\n") + "\tstate.txt\n100644 blob " + o.Blob("check = [\"grep -q good state.txt\"]\n") + "\t.ratchet.toml\n"
	o.Git("update-ref", "refs/heads/main", o.Git("commit-tree", "-m", "first", o.Tree(file)))
	dir := answers(t)
	clitest.Write(t, filepath.Join(dir, "execute-1.md"), change("bad", "good"))
	defer bringUp(t, runsDir)()
	host, away := bench{T: t, runsDir: runsDir}, bench{T: t, runsDir: other}
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{engine.FileName, engine.KeyFile} {
		b, err := os.ReadFile(filepath.Join(runsDir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(other, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	id := strings.TrimSpace(host.expect(0, "run", "make it good", "--repo", o.FileURL(), "--provider", "replay:"+dir, "--approve", "always", "--sandbox", "off", "--detach").out)
	host.await(id, run.AwaitingApproval)
	if queue := host.queueOf(id); queue != temporalclient.PoolOf(run.SandboxOff) {
		t.Errorf("the run is in queue %s, want %s", queue, temporalclient.PoolOf(run.SandboxOff))
	}
	compareLooks(t, host, away, id)
	moveAbout(t, host, away, id)
	away.expect(0, "approve", id)
	host.await(id, run.Completed)
	eventually.Holds(t, "the end of the workflow", func() bool { return !strings.Contains(host.expect(0, "status", id).out, "removal") })
	compareLooks(t, host, away, id)
	if got := away.expect(0, "logs", id).out; !strings.Contains(got, "answered") {
		t.Errorf("logs: %q, want the provider's answers", got)
	}
	if entries, err := filepath.Glob(filepath.Join(other, "workspaces", "[^.]*")); err != nil || len(entries) > 0 {
		t.Errorf("looking has made %v, %v", entries, err)
	}
}

// moveAbout has a run that waits leave the pool of all hosts for the home machine, and leaves it there.
func moveAbout(t *testing.T, b, away bench, id string) {
	t.Helper()
	asked, home := b.status(id).Pending.Approval.ApprovalID, hosting.Name(b.runsDir)
	eventually.Holds(t, "the home machine serves", func() bool { return b.serving(home) })
	for _, tc := range []struct {
		code int
		says string
		args []string
	}{
		{exit.Usage, `no host "desk": want one of ` + home, []string{"--host", "desk", "--yes"}},
		{exit.Usage, "Lost: the warm sessions", []string{"--host", home}},
		{exit.Usage, "agree with --yes", []string{"--host", home}},
		{0, "on any host", []string{"--host", "any"}}, // where it is: nothing is lost
		{0, "on " + home, []string{"--host", home, "--yes"}},
		{0, "on any host", []string{"--host", "any", "--yes"}},
		{0, "on " + home, []string{"--host", home, "--yes"}},
	} {
		var got result
		eventually.Holds(t, "no step is in progress", func() bool { // one begins with each move; the command does not wait for it
			got = away.starter(append([]string{"move", id}, tc.args...)...)
			return !strings.Contains(got.out, "after the step in progress")
		})
		if got.code != tc.code || !strings.Contains(got.out+got.err, tc.says) {
			t.Errorf("move %v: got code %d, %q, %q; want %d, %q", tc.args, got.code, got.out, got.err, tc.code, tc.says)
		}
	}
	if got := b.queueOf(id); got != temporalclient.TaskQueue {
		t.Errorf("the run is in queue %s, want %s", got, temporalclient.TaskQueue)
	}
	if p := b.status(id).Pending; p.Approval == nil || p.Approval.ApprovalID != asked {
		t.Errorf("after the moves %+v waits, want %s", p, asked)
	}
}

// queueOf returns the task queue of a run.
func (b bench) queueOf(id string) string {
	b.Helper()
	t, err := temporalclient.Dial(b.Context(), temporalclient.Options{RunsDir: b.runsDir})
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	d, err := t.DescribeWorkflow(b.Context(), run.ID(id).WorkflowID(), "")
	if err != nil {
		b.Fatal(err)
	}
	return d.TaskQueueName
}

// ago matches what says how long something has lasted, and when the week before the look began.
var ago = regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m)\b|"since":"[^"]*"`)

func compareLooks(t *testing.T, host, away bench, id string) {
	t.Helper()
	for _, line := range []string{"status ID", "status ID --json", "list", "list --all", "events ID", "events ID --json", "diff ID", "diff ID --json", "logs ID", "logs ID --json", "report", "report --json", "show ID", "watch ID"} {
		if line == "watch ID" && host.status(id).State.Status != run.Completed {
			continue // it waits for a person
		}
		args := strings.Fields(strings.ReplaceAll(line, "ID", id))
		clean := func(text string) string {
			return ago.ReplaceAllString(strings.ReplaceAll(text, away.runsDir, host.runsDir), "TIME")
		}
		for tries := 20; ; tries-- { // a step may end between the two commands
			want, got := host.starter(args...), away.starter(args...)
			if want.code == got.code && clean(want.out) == clean(got.out) && clean(want.err) == clean(got.err) {
				break
			}
			if tries == 0 {
				t.Errorf("%s: away: code %d\n%s%s\non the host: code %d\n%s%s", line, got.code, got.out, got.err, want.code, want.out, want.err)
				break
			}
		}
	}
}
