package workflows_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// A signal that the run does not take is told by its queries and on its page; the next, right one is taken.
func TestARefusedSignalIsTold(t *testing.T) {
	e := env(t, &fakeActivities{})
	pending := func() run.Pending { return query[run.Pending](t, e, workflows.PendingQuery) }
	var told []run.RefusedSignal
	e.RegisterDelayedCallback(func() {
		id := pending().Approval.ApprovalID
		for _, wrong := range []any{
			map[string]any{"approvalId": id, "decision": "approved"}, "not a decision", run.Decision{ApprovalID: "apr-1-000000000000", Decision: run.Approve},
			map[string]any{"approvalId": id, "decision": strings.Repeat("x", 4000)}, map[string]any{"approvalId": id}, map[string]any{"approvalId": id, "decision": "approve", "final": true},
		} {
			e.SignalWorkflow(workflows.ApprovalMessage, wrong)
		}
		e.SignalWorkflow(workflows.NoteMessage, run.Note{})
	}, time.Minute)
	e.RegisterDelayedCallback(func() {
		told = pending().RefusedSignals
		e.SignalWorkflow(workflows.ApprovalMessage, "approve "+pending().Approval.ApprovalID)
	}, 2*time.Minute)
	start(e, input(run.Always, 3))
	wants := []string{"apr-1-000000000000", "approve, reject or edit", "decision is missing", "an approval cannot be final", "text is empty"}
	if len(told) != len(wants) {
		t.Fatalf("%d signals are told: %v", len(told), told)
	}
	for i, want := range wants {
		if !strings.Contains(told[i].Reason, want) || told[i].At.IsZero() || len(told[i].Reason) > 400 {
			t.Errorf("signal %d: %+v, want %q", i, told[i], want)
		}
	}
	if told[4].Signal != workflows.NoteMessage {
		t.Errorf("the last is %+v", told[4])
	}
	if s := query[run.State](t, e, workflows.StateQuery); s.Status != run.Completed {
		t.Errorf("the run is %s", s.Status)
	}
}

// What a run has refused is told by the execution that continues it, too, beside what that one refuses.
func TestRefusedSignalsAreCarried(t *testing.T) {
	w := &fakeActivities{}
	e := env(t, w)
	e.RegisterDelayedCallback(func() { e.SignalWorkflow(workflows.ApprovalMessage, "not a decision") }, time.Minute)
	e.RegisterDelayedCallback(func() { e.SetContinueAsNewSuggested(true) }, 2*time.Minute)
	start(e, input(run.Always, 3))
	var next *workflow.ContinueAsNewError
	in := workflows.RunInput{}
	if !errors.As(e.GetWorkflowError(), &next) {
		t.Fatalf("it did not continue as new: %v", e.GetWorkflowError())
	}
	if err := payload(next, &in); err != nil {
		t.Fatal(err)
	}
	e = env(t, w)
	pending := func() run.Pending { return query[run.Pending](t, e, workflows.PendingQuery) }
	var told []run.RefusedSignal
	e.RegisterDelayedCallback(func() { e.SignalWorkflow(workflows.NoteMessage, run.Note{}) }, time.Minute)
	e.RegisterDelayedCallback(func() {
		told = pending().RefusedSignals
		e.SignalWorkflow(workflows.ApprovalMessage, "approve "+pending().Approval.ApprovalID)
	}, 2*time.Minute)
	e.ExecuteWorkflow(workflows.Run, in)
	if len(told) != 2 || told[0].Signal != workflows.ApprovalMessage || told[1].Signal != workflows.NoteMessage {
		t.Errorf("it tells %v", told)
	}
	if s := query[run.State](t, e, workflows.StateQuery); s.Status != run.Completed {
		t.Errorf("the run is %s", s.Status)
	}
}
