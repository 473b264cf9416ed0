package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/forgetest"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/command/resume"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/localhost"
)

// bringUp runs `starter up` in this process and returns what ends it.
func bringUp(t testing.TB, runsDir string, more ...string) (stop func()) {
	t.Helper()
	stop, _, _ = upSays(t, runsDir, more...)
	return stop
}

// upSays returns what it printed too.
func upSays(t testing.TB, runsDir string, more ...string) (stop func(), ready, said string) {
	t.Helper()
	return upIn(t, os.Environ(), runsDir, more...)
}

// upIn is upSays for a worker with that environment.
func upIn(t testing.TB, environ []string, runsDir string, more ...string) (stop func(), ready, said string) {
	t.Helper()
	if _, err := engine.Program(t.Context(), func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var out, errs captured.Output
	c := newFactory(console.Console{
		Args: append([]string{"up", "--sandbox", "off", "--port", "0", "--ui-port", "0", "--json", "--runs-dir", runsDir}, more...),
		In:   strings.NewReader(""), Out: &out, Err: &errs, Environ: environ, Now: time.Now,
	})
	ended := make(chan int, 1)
	go func() { ended <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("up ended with %d: %s", code, errs.String())
		}
	})
	t.Cleanup(stop)
	eventually.Holds(t, "the engine is ready", func() bool {
		select {
		case code := <-ended:
			ended <- code
			t.Fatalf("up ended with %d: %s", code, errs.String())
		default:
		}
		return strings.Contains(out.String(), "\n")
	})
	var f engine.File
	if err := json.Unmarshal([]byte(out.String()), &f); err != nil || f.Address == "" || f.UI == "" {
		t.Fatalf("ready line %q: %v", out.String(), err)
	}
	return stop, out.String(), errs.String()
}

// bench is a runs directory with an engine, and commands on it.
type bench struct {
	*testing.T
	runsDir, repo, answers string
}

func (b bench) starter(args ...string) result {
	b.Helper()
	return starter(b.Context(), "", append(args, "--runs-dir", b.runsDir)...)
}

// expect runs a command and returns its output; any other code fails.
func (b bench) expect(code int, args ...string) result {
	b.Helper()
	got := b.starter(args...)
	if got.code != code {
		b.Fatalf("%v: code %d, want %d\n%s%s", args, got.code, code, got.out, got.err)
	}
	if code == exit.Failed && strings.Count(got.err, "\n") != 1 {
		b.Errorf("%v: not one line: %q", args, got.err)
	}
	return got
}

func (b bench) start(more ...string) string {
	b.Helper()
	got := b.expect(0, append([]string{"run", "--sandbox", "off", "--repo", b.repo, "--goal", "Make it good", "--provider", "replay:" + b.answers,
		"--check", passes, "--detach"}, more...)...)
	return strings.TrimSpace(got.out)
}

func (b bench) status(id string) (st struct {
	run.State
	Pending run.Pending `json:"pending"`
}) {
	b.Helper()
	if err := json.Unmarshal([]byte(b.expect(0, "status", id, "--json").out), &st); err != nil {
		b.Fatal(err)
	}
	return st
}

// branch returns the branch of a run.
func (b bench) branch(id string) string {
	b.Helper()
	var st struct{ Facts rundir.Facts }
	if err := json.Unmarshal([]byte(b.expect(0, "status", id, "--json").out), &st); err != nil || st.Facts.Branch == "" {
		b.Fatalf("branch of %s: %v", id, err)
	}
	return st.Facts.Branch
}

// await waits for a status by one connection: a command for each look would cost several times as much.
func (b bench) await(id string, want run.Status) {
	b.Helper()
	first := b.status(id) // of a run's name, too
	if first.Status == want {
		return
	}
	t, err := temporalclient.Dial(b.Context(), temporalclient.Options{RunsDir: b.runsDir})
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	c := runs.New(t, temporalclient.TaskQueue)
	eventually.Holds(b.T, "the run is "+string(want), func() bool {
		s, err := c.State(b.Context(), first.RunID)
		return err == nil && s.Status == want
	})
}

func TestCommandsOnARealEngine(t *testing.T) {
	t.Parallel()
	b := bench{t, filepath.Join(t.TempDir(), ".runs"), clitest.Repository(t), answers(t)}
	server := forgetest.New(t, forge.Gitea)
	token := filepath.Join(t.TempDir(), "token")
	clitest.Must(t, os.WriteFile(token, []byte(forgetest.Token), 0o600))
	stop := bringUp(t, b.runsDir, "--forge", "gitea:"+server.URL+"="+token, "--forge-pace", "50ms")
	for _, part := range []struct {
		name string
		test func(bench)
	}{
		{"doctor", func(b bench) { b.expect(0, "doctor", "--sandbox", "off") }},
		{"a second engine on the same directory", func(b bench) { b.expect(0, "up", "--port", "0", "--ui-port", "0") }},
		{"a run from approval to approval", testApprovals},
		{"a rejection that is final", testFinalRejection},
		{"an edit", testEdit},
		{"a hunk", testHunks},
		{"a question", testQuestion},
		{"a check whose program is installed later", testCheckThatCannotRun},
		{"a check whose program is missing before the start", testBaselineThatCannotRun},
		{"what the checks say before the start", testBaseline},
		{"a cancellation", testCancel},
		{"a workflow that is terminated", testTerminated},
		{"nobody there to ask", testFollowWithoutTerminal},
		{"somebody there to ask", testFollowOnTerminal},
		{"one id given many times at once", testOneID},
		{"runs that do not exist", testUnknownRun},
		{"names of a run", testNames},
		{"short names", testShortNames},
		{"a merge", testMerge},
		{"a retry", testRetry},
		{"a retry onto a branch that moved on", testRetryOnto},
		{"the commands of the page", testPageCommands},
		{"a schedule", testSchedule},
		{"a schedule whose provider is gone", testScheduleWithoutProvider},
		{"an editor", testEditor},
		{"an editor and a question", testEditorQuestion},
		{"a ticket", func(b bench) { testTicket(b, server) }},
		{"a schedule of a ticket", func(b bench) { testScheduleOfTicket(b, server) }},
		{"the day after", testAfter},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(bench{t, b.runsDir, clitest.Repository(t), b.answers}) })
	}
	t.Run("an engine whose state is gone", func(t *testing.T) {
		testResume(bench{t, b.runsDir, clitest.Repository(t), b.answers}, stop)
	})
}

// take does as the last line of a story says, after somebody has given the
// branch's name to something else. Finding B1.
func (b bench) take(id, story string) {
	b.Helper()
	_, line, ok := strings.Cut(story, "take: ")
	if !ok {
		b.Fatalf("the story does not say how to take the result:\n%s", story)
	}
	branch := b.branch(id)
	clitest.Git(b.T, b.repo, "tag", branch, "main")
	out, err := exec.CommandContext(b.Context(), "sh", "-c", line).CombinedOutput()
	if err != nil {
		b.Errorf("%s: %v\n%s", line, err, out)
	}
	head := strings.TrimSpace(clitest.Git(b.T, b.repo, "rev-parse", "refs/heads/"+branch))
	if got := strings.TrimSpace(clitest.Git(b.T, b.repo, "rev-parse", "HEAD")); got != head {
		b.Errorf("%s: at %s, want %s", line, got, head)
	}
	if got := b.expect(0, "status", id).out; !strings.Contains(got, head) {
		b.Errorf("the status does not name %s:\n%s", head, got)
	}
	clitest.Git(b.T, b.repo, "tag", "-d", branch)
}

// testTerminated has the workflow of a waiting run terminated in the Web UI: every command says how to bring it back.
func testTerminated(b bench) {
	id := b.start()
	b.await(id, run.AwaitingApproval)
	t, err := temporalclient.Dial(b.Context(), temporalclient.Options{RunsDir: b.runsDir})
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	if err := t.TerminateWorkflow(b.Context(), run.ID(id).WorkflowID(), "", "by mistake"); err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{{"status", id}, {"approve", id}, {"reject", id, "--reason", "no"}, {"cancel", id}, {"retry", id}} {
		if got := b.expect(exit.Failed, args...); !strings.Contains(got.err, "starter resume "+id) {
			b.Errorf("%v says %q, want how to resume the run", args, got.err)
		}
	}
}

func testApprovals(b bench) {
	id := b.start()
	b.await(id, run.AwaitingApproval)
	if d := b.expect(0, "diff", id).out; !strings.Contains(d, "+better") {
		b.Errorf("pending patch: %s", d)
	}
	b.expect(1, "approve", id, "--approval", "apr-1-000000000000")
	b.expect(1, "answer", id, "text")
	b.expect(0, "note", id, "mind the gap")
	b.expect(1, "note", id, " ")
	b.expect(2, "move", id)
	if got := b.expect(1, "move", id, "--host", "any", "--yes"); !strings.Contains(got.err, "bound to its directory") {
		b.Errorf("move: %q, want that a directory binds the run", got.err)
	}
	first := b.status(id).Pending.Approval.ApprovalID
	b.expect(0, "approve", id, "--approval", first, "--reason", "fine")
	eventually.Holds(b.T, "the second approval is pending", func() bool {
		a := b.status(id).Pending.Approval
		return a != nil && a.ApprovalID != first
	})
	b.expect(1, "approve", id, "--approval", first)
	b.expect(0, "approve", id, "--by", "lee")
	b.await(id, run.Completed)
	if late := b.expect(1, "approve", id); !strings.Contains(late.err, "is over") || !strings.Contains(late.err, "was approved by lee (user ") {
		b.Errorf("a second yes: %s", late.err)
	}
	got := b.expect(0, "watch", id)
	for _, want := range []string{"planned", passes, "failed, exit code 1", "Fix", "Completed", "2 commits"} {
		if !strings.Contains(got.out, want) {
			b.Errorf("the story lacks %q:\n%s", want, got.out)
		}
	}
	if strings.ContainsRune(got.out, 0x1b) {
		b.Error("colours without a terminal")
	}
	b.take(id, got.out)
	if text := clitest.Git(b.T, b.repo, "show", b.branch(id)+":state.txt"); text != "good\n" {
		b.Errorf("the branch has %q", text)
	}
	if d := b.expect(0, "diff", id, "--raw").out; !strings.Contains(d, "-bad\n+good\n") {
		b.Errorf("branch: %s", d)
	}
	events := b.expect(0, "events", id, "--json").out
	if n := strings.Count(events, "\n"); n < 15 || !strings.Contains(events, `"evt-000001"`) {
		b.Errorf("%d events: %s", n, events)
	}
	if after := b.expect(0, "events", id, "--after", "evt-000003", "--json").out; strings.Count(after, "\n") != strings.Count(events, "\n")-3 {
		b.Errorf("after the third: %s", after)
	}
	b.expect(2, "events", id, "--after", "three")
	if logs := b.expect(0, "logs", id).out; !strings.Contains(logs, "APPROVAL_GRANTED") {
		b.Errorf("logs: %s", logs)
	}
	b.expect(1, "logs", id, "none")
	for _, late := range [][]string{{"approve", id}, {"approve", id, "--approval", first}, {"reject", id}, {"answer", id, "x"}, {"note", id, "x"}, {"move", id, "--host", "any"}, {"cancel", id}} {
		if got := b.expect(1, late...); !strings.Contains(got.err, "is over") {
			b.Errorf("%v: %s", late, got.err)
		}
	}
}

func testFinalRejection(b bench) {
	id := b.start()
	b.await(id, run.AwaitingApproval)
	b.expect(0, "reject", id, "--final", "--reason", "not this way", "--by", "ada")
	b.await(id, run.Canceled)
	if got := b.expect(exit.Canceled, "watch", id); !strings.Contains(got.out, "rejected by ada (user ") {
		b.Errorf("story: %s", got.out)
	}
}

func testQuestion(b bench) {
	asking := b.TempDir()
	clitest.Write(b.T, filepath.Join(asking, "plan-1.md"), "# Ask first\n")
	clitest.Write(b.T, filepath.Join(asking, "execute-1.md"), "<<<AIO_RESULT_START>>>\ntype: ASK\nquestion: Good or better?\nreason: unclear\n<<<AIO_RESULT_END>>>\n")
	clitest.Write(b.T, filepath.Join(asking, "execute-1.2.md"), change("bad", "good"))
	b.answers = asking
	id := b.start("--approve", "never")
	b.await(id, run.AwaitingInput)
	b.expect(1, "approve", id)
	b.expect(1, "answer", id, "good", "--question", "qst-9-9")
	b.expect(2, "answer", "issue#12") // a run, and no answer
	b.expect(2, "answer", id)
	b.expect(0, "answer", id, "issue#12")
	b.await(id, run.Completed)
}

// Finding D3. The answer runs the check again; no fix is allowed, and none is
// needed.
func testCheckThatCannotRun(b bench) {
	tool := filepath.Join(b.TempDir(), "tool")
	got := b.expect(exit.Input, "run", "--sandbox", "off", "--repo", b.repo, "--goal", "Make it good", "--provider", "replay:"+b.answers,
		"--check", tool, "--approve", "never", "--max-fix", "0", "--no-baseline")
	if !strings.Contains(got.out, "answer → the checks run again") {
		b.Errorf("what an answer leads to is missing:\n%s", got.out)
	}
	var list []struct {
		RunID string `json:"runId"`
	}
	eventually.Holds(b.T, "the list has the run", func() bool {
		clitest.Must(b.T, json.Unmarshal([]byte(b.expect(0, "list", "--status", "awaiting_input", "--json").out), &list))
		return len(list) == 1 && b.status(list[0].RunID).Status == run.AwaitingInput
	})
	id := list[0].RunID
	if next := b.status(id).Pending.Question.Next; next.Answer != "the checks run again" || next.Fix == "" {
		b.Errorf("next %+v", next)
	}
	b.expect(1, "answer", id, "fix: ")
	question := b.status(id).Pending.Question.QuestionID
	b.expect(2, "answer", id, "cancel", "--question", question) // as the hint at the question says it
	b.expect(0, "answer", id, "retry", "--question", question)
	b.await(id, run.AwaitingInput)
	if events := b.expect(0, "events", id, "--json").out; !strings.Contains(events, `"retry":true`) || strings.Contains(events, `"retry"}`) {
		b.Errorf("retry was an answer: %s", events)
	}
	clitest.Write(b.T, tool, "#!/bin/sh\n")
	if err := os.Chmod(tool, 0o755); err != nil {
		b.Fatal(err)
	}
	b.expect(0, "answer", id, "installed")
	b.await(id, run.Completed)
	if events := b.expect(0, "events", id, "--json").out; strings.Contains(events, `"phase":"fix"`) {
		b.Errorf("a fixer was called: %s", events)
	}
}

// What the checks say of the base commit is told in the story, the status, the events and at the gate.
func testBaseline(b bench) {
	const counts = "echo '3 examples, 1 failure'; grep -qx good state.txt"
	id := b.start("--check", counts, "--check", "false")
	b.await(id, run.AwaitingApproval)
	summary := passes + " fails as expected: exit code 1; " + counts + " fails as expected: 1 of 3 cases; false fails as expected: exit code 1"
	for _, command := range []string{"status", "events"} {
		if got := b.expect(0, command, id).out; !strings.Contains(got, "baseline") || !strings.Contains(got, summary[:60]) {
			b.Errorf("%s tells nothing of the baseline:\n%s", command, got)
		}
	}
	if a := b.status(id).Pending.Approval; a.Baseline != summary {
		b.Errorf("the gate tells %q, want %q", a.Baseline, summary)
	}
	b.expect(0, "approve", id)
	eventually.Holds(b.T, "the gate of the fix", func() bool {
		a := b.status(id).Pending.Approval
		return a != nil && slices.Contains(a.Before, "false")
	})
	if got := b.expect(0, "status", id).out; !strings.Contains(got, "also failed before: false") {
		b.Errorf("status: %s", got)
	}
	got := b.expect(exit.Approval, "watch", id).out
	for _, want := range []string{"▸ Baseline", "✗ " + counts + "  fails as expected: 1 of 3 cases", "failed, exit code 1, also failed before"} {
		if !strings.Contains(got, want) {
			b.Errorf("the story lacks %q:\n%s", want, got)
		}
	}
	if strings.Index(got, "▸ Baseline") > strings.Index(got, "▸ Plan") {
		b.Errorf("the baseline is told after the plan:\n%s", got)
	}
	b.expect(0, "cancel", id)
}

// testBaselineThatCannotRun is asked about before the planner is called.
func testBaselineThatCannotRun(b bench) {
	tool := filepath.Join(b.TempDir(), "tool")
	got := b.expect(exit.Input, "run", "--sandbox", "off", "--repo", b.repo, "--goal", "Make it good", "--provider", "replay:"+b.answers,
		"--check", tool, "--approve", "never", "--max-fix", "0", "--id", "no-tool")
	for _, want := range []string{"Before any change", "a program is missing", "needed: again, to run the checks again", "needed: without, to continue now", "needed: stop, to end the run"} {
		if !strings.Contains(got.out, want) {
			b.Errorf("the story lacks %q:\n%s", want, got.out)
		}
	}
	if strings.Contains(got.out, "▸ Plan") {
		b.Errorf("the planner was called:\n%s", got.out)
	}
	if refused := b.expect(1, "answer", "no-tool", "installed"); !strings.Contains(refused.err, `answer with "again", "without" or "stop"`) {
		b.Errorf("refused with %q", refused.err)
	}
	clitest.Write(b.T, tool, "#!/bin/sh\n")
	if err := os.Chmod(tool, 0o755); err != nil {
		b.Fatal(err)
	}
	b.expect(0, "answer", "no-tool", "again")
	b.await("no-tool", run.Completed)
	if story := b.expect(0, "watch", "no-tool").out; !strings.Contains(story, "✓ the check passes already") {
		b.Errorf("the story:\n%s", story)
	}
}

func testCancel(b bench) {
	id := b.start("--planner", "command:sleep 600")
	var end struct {
		Status run.Status `json:"status"`
	}
	got := b.expect(0, "cancel", id, "--json")
	if err := json.Unmarshal([]byte(got.out), &end); err != nil || end.Status != run.Canceled {
		b.Errorf("%s: %v", got.out, err)
	}
	b.expect(exit.Canceled, "watch", id)
}

func testFollowWithoutTerminal(b bench) {
	args := []string{"run", "--sandbox", "off", "--repo", b.repo, "--goal", "Make it good", "--provider", "replay:" + b.answers, "--check", passes}
	got := b.expect(exit.Approval, args...)
	if !strings.Contains(got.out, "starter approve") || !strings.Contains(got.out, "--runs-dir") {
		b.Errorf("how to settle it is missing:\n%s", got.out)
	}
	got = b.expect(exit.Approval, append(args, "--json")...)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	var last struct {
		RunID   string      `json:"runId"`
		Name    run.Name    `json:"name"`
		Status  run.Status  `json:"status"`
		Branch  string      `json:"branch"`
		Pending run.Pending `json:"pending"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Status != run.AwaitingApproval || last.Pending.Approval == nil || last.Branch != "ratchet/"+strconv.Itoa(last.Name.Number())+"-make-it-good" {
		b.Errorf("last line: %s: %v", lines[len(lines)-1], err)
	}
	got = b.expect(0, append(args, "--json", "--approve", "never")...)
	if !strings.Contains(got.out, `"status":"completed"`) || !strings.Contains(got.out, `"commits":2`) {
		b.Errorf("completed: %s", got.out)
	}
	if got := b.starter(append(args, "--json", "--approve", "never", "--max-fix", "0")...); got.code != exit.Failed || !strings.Contains(got.out, `"status":"failed"`) {
		b.Errorf("failed: code %d: %s", got.code, got.out)
	}
}

// typist types each line at a gate of its own.
func typist(t *testing.T, screen *captured.Output, w io.WriteCloser, lines []string) {
	for i, line := range lines {
		eventually.Holds(t, fmt.Sprintf("gate %d is on the screen", i+1), func() bool {
			return strings.Count(screen.String(), "Apply this patch?") > i
		})
		fmt.Fprintln(w, line)
	}
	_ = w.Close()
}

func testFollowOnTerminal(b bench) {
	in, w := io.Pipe()
	var out captured.Output
	c := newFactory(console.Console{
		Args: []string{"run", "--sandbox", "off", "--repo", b.repo, "--goal", "Make it good", "--provider", "replay:" + b.answers, "--check", passes, "--runs-dir", b.runsDir},
		In:   in, Out: &out, Err: &out, Environ: append([]string{"TERM=xterm", "NO_COLOR="}, os.Environ()...), Now: time.Now, Interactive: true, Screen: true,
	})
	go typist(b.T, &out, w, []string{"y", "y"})
	if code := c.Run(b.Context()); code != 0 {
		b.Errorf("code %d:\n%s", code, out.String())
	}
	if !strings.Contains(out.String(), "\x1b[32m+\x1b[0m \x1b[32mgood\x1b[0m") {
		b.Errorf("no diff in colour:\n%s", out.String())
	}
}

func testOneID(b bench) {
	const id, times = "the-one", 8
	codes := make(chan result, times)
	for range times {
		go func() {
			codes <- starter(b.Context(), "", "run", "--sandbox", "off", "--repo", b.repo, "--goal", "Make it good", "--provider", "replay:"+b.answers,
				"--check", passes, "--detach", "--id", id, "--runs-dir", b.runsDir)
		}()
	}
	started := 0
	for range times {
		switch got := <-codes; got.code {
		case 0:
			started++
		case 1:
			if !strings.Contains(got.err, "run "+id) || strings.Count(got.err, "\n") != 1 {
				b.Errorf("refused with %q", got.err)
			}
		default:
			b.Errorf("code %d: %s", got.code, got.err)
		}
	}
	if started != 1 {
		b.Errorf("%d runs were started", started)
	}
	b.expect(0, "cancel", id)
	b.expect(1, "run", "--sandbox", "off", "--repo", b.repo, "--goal", "x", "--provider", "replay:"+b.answers, "--check", passes, "--detach", "--id", id)
}

func testUnknownRun(b bench) {
	for _, args := range [][]string{
		{"status", "zzz"}, {"watch", "zzz"}, {"events", "zzz"}, {"diff", "zzz"}, {"logs", "zzz"}, {"approve", "zzz"},
		{"reject", "zzz"}, {"answer", "zzz", "x"}, {"note", "zzz", "x"}, {"cancel", "zzz"}, {"status", "../../etc"},
	} {
		if got := b.expect(1, args...); !strings.Contains(got.err, "no run") {
			b.Errorf("%v: %s", args, got.err)
		}
	}
}

func testNames(b bench) {
	for _, id := range []string{"name-aa-1", "name-aa-2", "name-bb"} {
		b.start("--id", id)
		b.await(id, run.AwaitingApproval)
	}
	eventually.Holds(b.T, "the list has them", func() bool {
		return strings.Count(b.expect(0, "list", "--json", "--status", string(run.AwaitingApproval)).out, `"name-`) == 3
	})
	var list []runs.Listed
	if err := json.Unmarshal([]byte(b.expect(0, "list", "--json").out), &list); err != nil || len(list) < 3 {
		b.Errorf("%d runs: %v", len(list), err)
	}
	for _, name := range []string{"name-b", "run-name-b", "name-bb"} {
		if got := b.expect(0, "status", name); !strings.Contains(got.out, "name-bb") {
			b.Errorf("%s: %s", name, got.out)
		}
	}
	if got := b.expect(1, "status", "name-a"); !strings.Contains(got.err, "2 run ids") {
		b.Errorf("two: %s", got.err)
	}
	for _, id := range []string{"name-aa-1", "name-aa-2", "name-bb"} {
		b.expect(0, "cancel", id)
	}
}

func testResume(b bench, stop func()) {
	id := b.start()
	dir := filepath.Join(b.runsDir, "workflows", id)
	b.await(id, run.AwaitingApproval)
	if got := b.expect(1, "resume", dir); !strings.Contains(got.err, "is still open") {
		b.Errorf("open: %s", got.err)
	}
	name := b.status(id).Pending.Name
	stop()
	for _, f := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(filepath.Join(b.runsDir, localhost.Database+f))
	}
	bringUp(b.T, b.runsDir)
	b.expect(1, "status", id)
	next := b.start()
	b.await(next, run.AwaitingApproval)
	if got := b.status(next).Pending.Name; got.Number() <= name.Number() || !strings.HasPrefix(string(got), strings.TrimRight(string(name), "0123456789")) {
		b.Errorf("on a new database %s comes after %s", got, name)
	}
	b.expect(0, "cancel", next)
	if got := starter(b.Context(), "", "resume", dir); got.code != exit.Approval || !strings.Contains(got.out, "planned") {
		b.Errorf("code %d:\n%s%s", got.code, got.out, got.err)
	}
	b.expect(0, "approve", string(name))
	eventually.Holds(b.T, "the next approval is pending", func() bool { return b.status(id).Pending.Approval != nil && b.status(id).Iteration == 2 })
	late := newFactory(console.Console{Out: io.Discard, Err: io.Discard, Environ: os.Environ(), Now: time.Now})
	late.RunsDir, late.Queue = b.runsDir, temporalclient.TaskQueue
	before, err := resume.Rebuild(b.Context(), late, dir, true)
	if err != nil {
		b.Fatal(err)
	}
	b.expect(0, "approve", id)
	b.await(id, run.Completed)
	seen := map[string]bool{}
	for line := range strings.Lines(b.expect(0, "events", id, "--json").out) {
		var e run.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || seen[e.ID] || e.ID != run.EventID(len(seen)+1) {
			b.Fatalf("after %d events: %s: %v", len(seen), line, err)
		}
		seen[e.ID] = true
	}
	eventually.Holds(b.T, "the record counts the run as over", func() bool { // a moment after its workflow does
		return strings.Contains(b.expect(1, "resume", dir).err, "is over")
	})
	eventually.Holds(b.T, "the engine does not go on with a run that has ended since its record was read", func() bool {
		err := resume.Run(b.Context(), late, before, true)
		if err == nil {
			b.Fatal("it was resumed")
		}
		return strings.Contains(err.Error(), "is over")
	})
}
