package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/localhost"
)

// starts starts an engine with a worker of this host.
func (h agentHost) starts(box run.Sandbox) (stop func()) {
	h.Helper()
	c := newFactory(console.Console{Out: io.Discard, Err: io.Discard, Environ: h.environ(), Now: time.Now})
	c.RunsDir, c.Queue = h.runsDir, temporalclient.TaskQueue
	clitest.Must(h.T, os.MkdirAll(h.runsDir, 0o755))
	up, err := localhost.Start(h.Context(), c, engine.Options{DB: filepath.Join(h.runsDir, localhost.Database)}, host.Config{Environ: c.Environ, Sandbox: box})
	clitest.Must(h.T, err)
	return up.Stop
}

func TestToolsOnARealEngine(t *testing.T) {
	h := newAgentHost(t)
	stop := h.starts(run.SandboxOff)
	t.Cleanup(func() { stop() })
	t.Run("dispatches", func(t *testing.T) { testDispatches(h.on(t)) })
	t.Run("the commands", func(t *testing.T) { testDispatchCommands(h.on(t)) })
	t.Run("an interrupted command", func(t *testing.T) { testInterrupted(h.on(t)) })
	t.Run("a dispatch whose call is cancelled", func(t *testing.T) { testCutOff(h.on(t)) })
	t.Run("a run that an agent looks at and decides", func(t *testing.T) { testRunTools(h.on(t)) })
	t.Run("a run whose own agent would decide", func(t *testing.T) { testDecisionsInsideARun(h.on(t)) })
	t.Run("an engine that ends and begins again", func(t *testing.T) {
		h := h.on(t)
		s := h.connect()
		var list any
		s.get("ratchet_runs", nil, &list)
		stop()
		s.refused("ratchet_runs", nil)
		stop = h.starts(run.SandboxOff)
		s.get("ratchet_runs", nil, &list)
	})
}

func (h agentHost) on(t *testing.T) agentHost { h.T = t; return h }

func testDispatches(h agentHost) {
	q, s := h.listens(), h.connect()
	to := func(target dispatch.GardenID, intent dispatch.Intent) map[string]any {
		return map[string]any{"target": target, "intent": intent, "message": "--the build\nis green", "wants_reply": true}
	}
	var sent, mail struct{ dispatch.Result }
	got := make(chan controlsocket.Message, 1)
	go func() { got <- <-q.got }()
	s.get("entwurf_v2", to(awake, dispatch.FireAndForget), &sent)
	if !sent.Succeeded() || sent.Outcome.Kind != dispatch.Sent {
		h.Errorf("sent: %+v", sent)
	}
	if m := <-got; m.Text != "--the build\nis green" || m.Sender.SessionID != string(mailed) || !m.WantsReply {
		h.Errorf("got %+v", m)
	}
	s.get("entwurf_v2", to(mailed, dispatch.FireAndForget), &mail)
	var read mailbox.Drained
	s.get("entwurf_inbox_read", map[string]any{"gardenId": mailed}, &read)
	if mail.Outcome.Kind != dispatch.Enqueued || len(read.Messages) != 1 || read.Messages[0].File != mail.Outcome.Mail || !strings.Contains(read.Messages[0].Body, "--the build\nis green") {
		h.Errorf("mail %+v, read %+v", mail, read)
	}
	for _, row := range []struct {
		target dispatch.GardenID
		intent dispatch.Intent
		want   dispatch.Reason
	}{
		{"20260612T093000-ffffff", dispatch.FireAndForget, dispatch.BadTarget},
		{awake, dispatch.OwnedOutcome, dispatch.OwnedLiveNoAutosend},
		{sleeper, dispatch.FireAndForget, dispatch.DormantFireForgetUnsupported},
		{mailed, dispatch.OwnedOutcome, dispatch.BackendLivenessUnsupported},
	} {
		var got struct {
			dispatch.Result
			Hint string
		}
		clitest.Must(h.T, json.Unmarshal([]byte(s.refused("entwurf_v2", to(row.target, row.intent))), &got))
		if got.Receipt.Reason() != row.want || got.Hint != row.want.Hint() || got.Outcome != nil {
			h.Errorf("%s, %s: %+v", row.target, row.intent, got)
		}
	}
	broken := filepath.Join(h.dirs.Sessions, "20260612T093000-0000bd.meta.json")
	clitest.Must(h.T, os.WriteFile(broken, []byte("{"), 0o600))
	if line := s.refused("entwurf_v2", to("20260612T093000-0000bd", dispatch.FireAndForget)); strings.Contains(line, "receipt") || !strings.Contains(line, "not a JSON object") {
		h.Errorf("a broken record: %s", line)
	}
	clitest.Must(h.T, os.Remove(broken))
}

// The session takes the message after its sender has stopped to wait.
func testCutOff(h agentHost) {
	q, s := h.listens(), h.connect()
	ctx, cancel := context.WithCancel(h.Context())
	ended := make(chan error)
	go func() {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "entwurf_v2", Arguments: map[string]any{
			"target": awake, "intent": dispatch.FireAndForget, "message": "late",
		}})
		ended <- err
	}()
	lock := filepath.Join(h.dirs.Locks, string(awake)+".lock")
	eventually.Holds(h.T, "the dispatch is under way", func() bool { _, err := os.Stat(lock); return err == nil })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		h.Error(err)
	}
	eventually.Holds(h.T, "it is said", func() bool { return strings.Contains(s.said.String(), "being sent") })
	if m := <-q.got; m.Text != "late" {
		h.Errorf("%+v", m)
	}
	eventually.Holds(h.T, "the dispatch is over", func() bool { _, err := os.Stat(lock); return err != nil })
	eventually.Holds(h.T, "what came of it is shown", func() bool {
		var past struct{ Dispatches []dispatches.Past }
		s.get("ratchet_dispatches", map[string]any{"gardenId": awake, "max": 1}, &past)
		return len(past.Dispatches) == 1 && past.Dispatches[0].Result != nil && past.Dispatches[0].Result.Succeeded()
	})
}

func testRunTools(h agentHost) {
	b := bench{h.T, h.runsDir, clitest.Repository(h.T), answers(h.T)}
	id := b.start()
	looks, decides := h.connect(), h.connect("--allow-decisions")
	type standing struct {
		Status  run.Status
		Pending run.Pending
	}
	at := func() (st standing) { looks.get("ratchet_run", map[string]any{"run": id[:12]}, &st); return st }
	eventually.Holds(h.T, "the list has the run", func() bool {
		found, _ := looks.call("ratchet_run", map[string]any{"run": id[:12]})
		return !found.IsError
	})
	eventually.Holds(h.T, "the run waits", func() bool { return at().Status == run.AwaitingApproval })
	if _, err := looks.CallTool(h.Context(), &mcp.CallToolParams{Name: "ratchet_approve"}); err == nil {
		h.Error("it can be approved by who may only look")
	}
	for want := 1; want <= 2; want++ {
		eventually.Holds(h.T, "an approval is pending", func() bool { return at().Pending.Approval != nil })
		approval := at().Pending.Approval.ApprovalID
		decision := map[string]any{"run": id, "approvalId": approval}
		if line := decides.refused("ratchet_approve", map[string]any{"run": id, "approvalId": "apr-1-000000000000"}); !strings.Contains(line, "nothing with that id is waiting") {
			h.Errorf("another approval: %s", line)
		}
		if line := decides.refused("ratchet_answer", map[string]any{"run": id, "questionId": "qst-1-1", "text": "t"}); !strings.Contains(line, "nothing with that id is waiting") {
			h.Errorf("an answer to nothing: %s", line)
		}
		var done map[string]string
		decides.get("ratchet_approve", decision, &done)
		if done["runId"] != id || done["id"] != approval {
			h.Errorf("%v", done)
		}
		decides.refused("ratchet_approve", decision)
	}
	eventually.Holds(h.T, "the run is over", func() bool { return at().Status == run.Completed })
	var list struct {
		Runs []struct{ RunID, Status string }
	}
	eventually.Holds(h.T, "the list shows it", func() bool {
		looks.get("ratchet_runs", map[string]any{"status": "completed"}, &list)
		return len(list.Runs) == 1 && list.Runs[0].RunID == id
	})
	events := b.expect(0, "events", id, "--json").out
	if by := `"by":"meta-session/claude-code ` + string(mailed); strings.Count(events, by) != 2 {
		h.Errorf("who decided is not in %s", events)
	}
	if line := looks.refused("ratchet_run", map[string]any{"run": "zzz"}); !strings.Contains(line, "no run") {
		h.Errorf("no run: %s", line)
	}
}

// TestAnAgentStartsNoLooserRun holds that no setting of the user lets a run that an agent starts do more than one that a
// person approves, and that a setting by which less happens stays.
func TestAnAgentStartsNoLooserRun(t *testing.T) {
	need.Sandbox(t)
	h := newAgentHost(t)
	t.Cleanup(h.starts(run.SandboxRequired))
	settings := filepath.Join(h.home, ".config", "ratchet", "config.toml")
	clitest.Must(t, os.MkdirAll(filepath.Dir(settings), 0o700))
	const loose = "approve = 'never'\nsandbox = 'off'\nnetwork = true\nallow-tool = ['Bash']\nmode = 'yolo'\nenv = ['NPM_TOKEN']\ncheck-network = ['registry:npm']\n"
	clitest.Write(t, settings, loose+"tools = 'deny'\ncheck = ['true']\nprovider = 'replay:"+answers(t)+"'\n")
	var started struct{ RunID string }
	h.connect("--allow-starts").get("ratchet_run_start", map[string]any{"goal": "Make it good", "repository": clitest.Repository(t)}, &started)
	b := bench{T: t, runsDir: h.runsDir}
	defer b.expect(0, "cancel", started.RunID)
	first, _, _ := strings.Cut(b.expect(0, "events", started.RunID, "--json").out, "\n")
	var e run.Event
	clitest.Must(t, json.Unmarshal([]byte(first), &e))
	created, ok := e.Payload.(run.RunCreated)
	if in := created.Input; !ok || in.Policy != run.Always || in.Tools != run.DenyTools || in.Sandbox != run.SandboxRequired || in.Network || in.Options.Tools != nil || in.Options.Mode != "" || in.CheckEnv != nil || in.CheckNetwork != nil {
		t.Errorf("it begins with %+v", e.Payload)
	}
}
