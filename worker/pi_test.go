package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	dispatchflow "github.com/ratchet-dev/ratchet/workflows/dispatch"
)

const piModels = `{"providers":{"fake":{"baseUrl":"%s/v1","api":"openai-completions","apiKey":"dummy","models":[
{"id":"fake-model","contextWindow":200000,"maxTokens":8000,"cost":{"input":3,"output":15,"cacheRead":0,"cacheWrite":0}}]}}}`

const piSettings = `{"defaultProvider":"fake","defaultModel":"fake-model"}`

// TestRealPiIsResumedAndReached has a saved session of the real pi take a turn
// that a dispatch owns. While it works it is a live citizen that takes a send;
// when its worker is killed, the outcome is unknown, nothing of it is left, and
// the next dispatch finds it dormant and resumes it.
func TestRealPiIsResumedAndReached(t *testing.T) {
	need.Suite(t, need.Nightly)
	pi := need.Env(t, "NODE_BIN") + " " + need.Env(t, "PI_JS")
	s, model := newOwnFixture(t), fakemodel.Start(t)
	home, err := os.MkdirTemp("", "pi") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	env := []string{"HOME=" + home, "RATCHET_PI" + "=" + pi, "PI_OFFLINE=1", "PI_TELEMETRY=0", "PI_SKIP_VERSION_CHECK=1"}
	dirs, err := citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	if err == nil {
		err = os.MkdirAll(dirs.Agent, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dirs.Agent, "models.json"), fmt.Sprintf(piModels, model.URL))
	writeFile(t, filepath.Join(dirs.Agent, "settings.json"), piSettings)
	record, err := (&citizen.Store{Dir: dirs.Sessions}).Register(t.Context(), citizen.Birth{Backend: dispatch.Pi, CWD: s.repo})
	if err != nil {
		t.Fatal(err)
	}
	id := record.GardenID
	s.saveSession(pi, id, env)

	give := func(r dispatch.Request) (dispatch.Result, error) {
		r.Target = id
		return s.post(t.Context(), dispatch.Message{ID: uuid.NewString(), Request: r, Sender: dispatch.Sender{
			SessionID: "test", AgentID: "test", CWD: s.repo, Timestamp: "2026-01-02T03:04:05Z",
		}})
	}
	send := func(intent dispatch.Intent, message string) (dispatch.Result, error) {
		return give(dispatch.Request{Intent: intent, Message: message})
	}
	w := s.spawn(env...)

	res, err := send(dispatch.OwnedOutcome, "[[say:at your service]]")
	if err != nil || res.Outcome == nil || res.Outcome.Kind != dispatch.Completed || res.Outcome.Answer != "at your service" {
		t.Fatalf("owned: %+v %+v, %v", res.Receipt, res.Outcome, err)
	}

	owned := make(chan dispatch.Result, 1)
	go func() {
		res, err := send(dispatch.OwnedOutcome, "[[hang:1]][[say:never]]")
		if err != nil {
			t.Error(err)
		}
		owned <- res
	}()
	socket := dirs.Socket(id)
	eventually.Holds(t, "the session", func() bool {
		return controlsocket.Look(t.Context(), socket).Liveness == dispatch.Alive && heardOf(model, "never")
	})
	if res, err := send(dispatch.FireAndForget, "by the way"); err != nil || res.Outcome == nil || res.Outcome.Kind != dispatch.Sent || res.Outcome.DeliveredAs != dispatch.Followed {
		t.Errorf("to the live session: %+v %+v, %v", res.Receipt, res.Outcome, err)
	}
	if res, err := give(dispatch.Request{Intent: dispatch.FireAndForget, Mode: dispatch.Steer, Message: "now"}); err != nil || res.Outcome == nil || res.Outcome.DeliveredAs != dispatch.Steered {
		t.Errorf("into its turn: %+v %+v, %v", res.Receipt, res.Outcome, err)
	}
	w.kill()
	eventually.Holds(t, "the end of the session", func() bool { return len(s.processes(home)) == 0 })
	s.spawn(env...)
	if res := <-owned; res.Outcome == nil || res.Outcome.Kind != dispatch.Unknown || res.Outcome.RetrySafe() {
		t.Errorf("after the kill: %+v %+v", res.Receipt, res.Outcome)
	}
	res, err = send(dispatch.OwnedOutcome, "[[say:here again]]")
	if err != nil || res.Outcome == nil || res.Outcome.Kind != dispatch.Completed || res.Outcome.Answer != "here again" {
		t.Errorf("after the crash: %+v %+v %s, %v", res.Receipt, res.Outcome, res.Diagnostic, err)
	}
}

// post gives a message to the workflow of its target, as starter does. One that
// was just ending is followed by another, and one whose worker died is asked
// again.
func (s *fixture) post(ctx context.Context, l dispatch.Message) (res dispatch.Result, err error) {
	for {
		start := s.client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
			ID: dispatchflow.WorkflowID(l.Request.Target), TaskQueue: s.queue,
			WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		}, dispatchflow.Dispatch, dispatchflow.Input{Target: l.Request.Target})
		var h client.WorkflowUpdateHandle
		h, err = s.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: start,
			UpdateOptions: client.UpdateWorkflowOptions{
				UpdateID: l.ID, UpdateName: dispatchflow.Update, Args: []any{l}, WaitForStage: client.WorkflowUpdateStageAccepted,
			},
		})
		if err == nil {
			err = h.Get(ctx, &res)
		}
		_, gone := errors.AsType[*serviceerror.NotFound](err)
		_, busy := errors.AsType[*serviceerror.WorkflowNotReady](err)
		_, slow := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err) // the engine, under load
		if !gone && !busy && !slow || ctx.Err() != nil {
			return res, err
		}
		time.Sleep(100 * time.Millisecond) // the pace of trying again
	}
}

// saveSession has pi itself make a session with the garden id.
func (s *fixture) saveSession(pi string, id dispatch.GardenID, env []string) {
	s.t.Helper()
	argv := append(strings.Fields(pi), "--mode", "json", "-p", "--offline", "--session-id", string(id), "[[say:hello]]")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = s.repo, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
}

func heardOf(model *fakemodel.Server, text string) bool {
	for _, q := range model.Requests() {
		if strings.Contains(q.Text(), text) {
			return true
		}
	}
	return false
}
