package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
)

// ran is what a program printed, and how it ended.
type ran struct {
	out, err string
	code     int
}

// runs runs the command line with that on its standard input.
func (h agentHost) runs(in string, args ...string) ran {
	h.Helper()
	cmd := h.program(args...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &said
	clitest.Must(h.T, cmd.Start())
	_ = cmd.Wait() // its exit code says it
	return ran{out.String(), said.String(), cmd.ProcessState.ExitCode()}
}

func testDispatchCommands(h agentHost) {
	q := h.listens()
	var got []string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 3 {
			got = append(got, (<-q.got).Text)
		}
	}()
	send := func(to dispatch.GardenID, intent dispatch.Intent, more ...string) []string {
		return append([]string{"dispatch", string(to), "--intent", string(intent)}, more...)
	}
	for _, row := range []struct {
		name string
		in   string
		args []string
		code int
		says string
	}{
		{"to a live session", "", send(awake, dispatch.FireAndForget, "--message", "@one --two"), 0, "✓ sent by control-socket (direct)\n"},
		{"from standard input", "two\nlines\n", send(awake, dispatch.FireAndForget, "--message", "-"), 0, "✓ sent"},
		{"for a program", "", send(awake, dispatch.FireAndForget, "--message", "three", "--json"), 0, `"observedLiveness":"alive"},"outcome"`},
		{"to who reads mail", "", send(mailed, dispatch.FireAndForget, "--message", "by mail"), 0, "✓ enqueued by meta-mailbox\n"},
		{"to own who lives", "", send(awake, dispatch.OwnedOutcome, "--message", "x"), 1, "✗ rejected: owned-live-no-autosend (the target is alive)\n  the target runs"},
		{"to nobody", "", send("20260612T093000-ffffff", dispatch.FireAndForget, "--message", "x"), 1, "✗ rejected: bad-target\n"},
		{"to who does not run", "", send(sleeper, dispatch.FireAndForget, "--message", "x", "--json"), 1, `"diagnostic":"it has no control socket","hint":"the target does not run`},
	} {
		if r := h.runs(row.in, row.args...); r.code != row.code || !strings.Contains(r.out, row.says) || r.err != "" {
			h.Errorf("%s: exit %d, %s, and said %s", row.name, r.code, r.out, r.err)
		}
	}
	<-ended
	if want := "@one --two|two\nlines|three"; strings.Join(got, "|") != want {
		h.Errorf("it got %q", got)
	}
	if r := h.runs("", "inbox", "read", string(mailed)); r.code != 0 || !strings.Contains(r.out, "by mail") {
		h.Errorf("inbox: %+v", r)
	}
	if r := h.runs("", "inbox", "read", string(mailed)); r.code != 0 || r.out != "no unread mail\n" {
		h.Errorf("inbox again: %+v", r)
	}
	if r := h.runs("", "peers"); r.code != 0 || strings.Count(r.out, "\n  in   /w\n") != 2 || !strings.Contains(r.out, "1 more do not run") {
		h.Errorf("peers: %+v", r)
	}
	if r := h.runs("", "dispatches", string(mailed)); r.code != 0 || !strings.Contains(r.out, "enqueued") || strings.Contains(r.out, string(awake)) {
		h.Errorf("dispatches to one: %+v", r)
	}
	var past []dispatches.Past
	if r := h.runs("", "dispatches", "--json", "--max", "100"); r.code != 0 || json.Unmarshal([]byte(r.out), &past) != nil || len(past) < 7 {
		h.Errorf("dispatches: %+v", r)
	}
	for i, p := range past {
		if p.Result == nil || p.Target == "" || p.ID == "" || i > 0 && p.Target == past[i-1].Target && p.At.After(past[i-1].At) {
			h.Errorf("%d: %+v", i, p)
		}
	}
}

// testInterrupted stops to wait for a dispatch that its session does not take yet.
func testInterrupted(h agentHost) {
	q := h.listens()
	cmd := h.program("dispatch", string(awake), "--intent", "fire-and-forget", "--message", "late")
	var said bytes.Buffer
	cmd.Stderr = &said
	clitest.Must(h.T, cmd.Start())
	lock := filepath.Join(h.dirs.Locks, string(awake)+".lock")
	eventually.Holds(h.T, "the dispatch is under way", func() bool { _, err := os.Stat(lock); return err == nil })
	clitest.Must(h.T, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		h.Errorf("exit %d", code)
	}
	// The command may not have heard yet that the message was accepted.
	for _, want := range []string{"being sent", "in the workflow dispatch-" + string(awake), "starter dispatches " + string(awake) + " --runs-dir " + h.runsDir} {
		if strings.Count(said.String(), want) != 1 {
			h.Errorf("%q is not once in %s", want, said.String())
		}
	}
	eventually.Holds(h.T, "it is in progress", func() bool {
		return strings.Contains(h.runs("", "dispatches", string(awake), "--max", "1").out, "in progress")
	})
	if m := <-q.got; m.Text != "late" {
		h.Errorf("it got %q", m.Text)
	}
	eventually.Holds(h.T, "it is sent", func() bool {
		return strings.Contains(h.runs("", "dispatches", string(awake), "--max", "1").out, "sent")
	})
}

// What is no dispatch is refused before anything is looked at, with no receipt.
func TestDispatchUsage(t *testing.T) {
	h := newAgentHost(t)
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	to := []string{"dispatch", string(awake), "--intent", "fire-and-forget", "--message", "x"}
	for _, row := range []struct {
		name string
		in   string
		args []string
		says string
	}{
		{"no garden id", "", []string{"dispatch", "--intent", "fire-and-forget", "--message", "x"}, "one garden id"},
		{"a malformed one", "", []string{"dispatch", "../x", "--intent", "fire-and-forget", "--message", "x"}, "garden id"},
		{"no intent", "", []string{"dispatch", string(awake), "--message", "x"}, "intent"},
		{"an unknown intent", "", []string{"dispatch", string(awake), "--intent", "maybe", "--message", "x"}, "intent"},
		{"no message", "", to[:4], "message"},
		{"an empty message", "\n", append(to[:5:5], "-"), "message"},
		{"a message that is too long", strings.Repeat("x", dispatch.MaxMessage+1), append(to[:5:5], "-"), "16000"},
		{"one of which a part would be valid", strings.Repeat("🌱", dispatch.MaxMessage) + "\nmore", append(to[:5:5], "-"), "16000"},
		{"one with an empty line too many", strings.Repeat("🌱", dispatch.MaxMessage) + "\n\n", append(to[:5:5], "-"), "16000"},
		{"an unknown mode", "", append(to[:6:6], "--mode", "now"), "mode"},
		{"an unknown flag", "", append(to[:6:6], "--wait"), "--wait"},
		{"dispatches to no garden id", "", []string{"dispatches", "x"}, "garden id"},
		{"dispatches to two", "", []string{"dispatches", string(awake), string(awake)}, "at most one"},
		{"none at most", "", []string{"dispatches", "--max", "0"}, "--max 0"},
		{"an inbox command that is none", "", []string{"inbox", "raed", "x"}, "read"},
		{"the inbox of no garden id", "", []string{"inbox", "read", "x"}, "garden id"},
	} {
		if r := h.runs(row.in, row.args...); r.code != 2 || r.out != "" || !strings.Contains(r.err, row.says) {
			t.Errorf("%s: %+v", row.name, r)
		}
	}
	if r := h.runs("", to...); r.code != 6 || !strings.Contains(r.err, "TEMPORAL_ADDRESS") {
		t.Errorf("without an engine: %+v", r)
	}
	if r := h.runs(strings.Repeat("🌱", dispatch.MaxMessage)+"\n", append(to[:5:5], "-")...); r.code != 6 {
		t.Errorf("the longest message: %+v", r)
	}
	if _, err := os.Stat(h.dirs.Locks); err == nil {
		t.Error("a lock was looked for")
	}
}
