package workflows_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/activities/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/workflows"
	notice "github.com/ratchet-dev/ratchet/workflows/notify"
)

// testEngine is a real engine.
type testEngine struct{ *temporaltest.Engine }

func newTestEngine(t testing.TB) *testEngine {
	t.Helper()
	return &testEngine{temporaltest.StartEngine(t, nil)}
}

// activitiesByName returns the fake activities by name.
func activitiesByName(w *fakeActivities) map[string]any {
	return map[string]any{
		"Record": w.Record, "Prepare": w.Prepare, "CleanUp": w.CleanUp, "Plan": w.Plan,
		"Propose": w.Propose, "Apply": w.Apply, "Check": w.Check, "Judge": w.Judge, "Try": w.Try,
		"CheckBranch": w.CheckBranch, "TakePart": w.TakePart, "KeepEdit": w.KeepEdit, "SendToSession": w.SendToSession,
	}
}

// register gives a worker the workflow and the activities.
func register(w worker.Registry, acts map[string]any) {
	w.RegisterWorkflow(workflows.Run)
	w.RegisterWorkflow(notice.Notice)
	w.RegisterActivityWithOptions(func(context.Context, notify.SendInput) error { return nil }, activity.RegisterOptions{Name: "SendNotice"})
	for name, f := range acts {
		w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
}

// untilCanceled stands in for a planner that takes for ever.
func untilCanceled(ctx context.Context, _ activities.Call) (activities.PlanResult, error) {
	return activities.PlanResult{}, temporaltest.HeartbeatUntilDone(ctx)
}

// testRun is one run on a testEngine, with a task queue of its own.
type testRun struct {
	*testEngine
	t     testing.TB
	queue string
	id    string // of the workflow
	runID string // of the execution that the test is about
	seen  string // the approval or question met last
	stop  func() // stops the worker
	again func() // starts another one
}

// perform starts the run.
func (s *testEngine) perform(t testing.TB, in run.Input) *testRun {
	t.Helper()
	p := &testRun{testEngine: s, t: t, queue: "ratchet-" + string(in.RunID), id: in.RunID.WorkflowID()}
	wr, err := s.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: p.id, TaskQueue: p.queue, StaticSummary: in.Goal,
	}, workflows.Run, workflows.RunInput{Input: &in})
	if err != nil {
		t.Fatal(err)
	}
	p.runID = wr.GetRunID()
	return p
}

// serve starts a worker.
func (p *testRun) serve(register func(worker.Registry)) {
	p.t.Helper()
	p.stop = p.Serve(p.t, p.queue, register)
	p.again = func() { p.serve(register) }
}

// serveAndDie starts a worker process and kills it while it plans.
func (p *testRun) serveAndDie() {
	p.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), doomedVariable+"="+p.queue, addressVariable+"="+p.Address, keyVariable+"="+filepath.Dir(p.Key.Path))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	p.until("the planner works", func() bool { return p.works("Plan") })
}

// works says whether an attempt at the activity is under way.
func (p *testRun) works(name string) bool {
	d, err := temporalclient.Describe(p.t.Context(), p.Client, p.id, "")
	if err != nil {
		return false
	}
	for _, a := range d.GetPendingActivities() {
		if a.GetActivityType().GetName() == name && a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED {
			return true
		}
	}
	return false
}

// until waits for the condition, which is asked again and again.
func (p *testRun) until(what string, holds func() bool) {
	p.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	patience := time.After(5 * time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-patience:
			p.t.Fatalf("%s: not within five minutes", what)
		}
	}
}

// approval waits until one is pending that has not been met yet.
func (p *testRun) approval() *run.PendingApproval {
	p.t.Helper()
	var found *run.PendingApproval
	p.until("an approval is pending", func() bool {
		found = p.pending().Approval
		return found != nil && found.ApprovalID != p.seen
	})
	p.seen = found.ApprovalID
	return found
}

// question waits until one is open that has not been met yet.
func (p *testRun) question() *run.PendingQuestion {
	p.t.Helper()
	var found *run.PendingQuestion
	p.until("a question is open", func() bool {
		found = p.pending().Question
		return found != nil && found.QuestionID != p.seen
	})
	p.seen = found.QuestionID
	return found
}

func (p *testRun) pending() (out run.Pending) {
	v, err := p.Client.QueryWorkflow(p.t.Context(), p.id, "", workflows.PendingQuery)
	if err == nil {
		_ = v.Get(&out)
	}
	return out // empty when the run does not answer yet
}

func (p *testRun) signal(name string, payload any) {
	p.t.Helper()
	if err := p.Client.SignalWorkflow(p.t.Context(), p.id, "", name, payload); err != nil {
		p.t.Fatal(err)
	}
}

func (p *testRun) update(name string, payload any) {
	p.t.Helper()
	h, err := p.Client.UpdateWorkflow(p.t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: p.id, UpdateName: name, Args: []any{payload}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = h.Get(p.t.Context(), nil)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *testRun) cancel() {
	p.t.Helper()
	if err := p.Client.CancelWorkflow(p.t.Context(), p.id, ""); err != nil {
		p.t.Fatal(err)
	}
}

// decide waits for an approval and settles it.
func (p *testRun) decide(v run.Verdict, final bool) {
	p.t.Helper()
	p.approval()
	p.settle(v, final)
}

// accept waits for an approval and accepts the files alone.
func (p *testRun) accept(reason string, files ...string) {
	p.t.Helper()
	p.signal(workflows.ApprovalMessage, run.Decision{ApprovalID: p.approval().ApprovalID, Decision: run.Approve, By: "kim", Reason: reason, Files: files})
}

// edit waits for an approval and puts another patch in its place. A patch that is refused leaves the approval as it is.
func (p *testRun) edit(patch string) {
	p.t.Helper()
	d := run.Decision{ApprovalID: p.approval().ApprovalID, Decision: run.Edit, By: "kim", Patch: patch}
	p.signal(workflows.ApprovalMessage, d)
	if patch == badEdit {
		p.seen = ""
		p.until("the edit is refused", func() bool { return len(p.pending().RefusedSignals) == 1 })
	}
}

func (p *testRun) settle(v run.Verdict, final bool) {
	p.t.Helper()
	p.signal(workflows.ApprovalMessage, run.Decision{ApprovalID: p.seen, Decision: v, By: "kim", Reason: "because", Final: final})
}

// answer waits for a question and answers it.
func (p *testRun) answer(text string) {
	p.t.Helper()
	p.question()
	p.reply(text)
}

func (p *testRun) reply(text string) {
	p.t.Helper()
	p.signal(workflows.AnswerMessage, run.Reply{QuestionID: p.seen, Text: text, By: "kim"})
}

// status is that of the run once its workflow has closed.
func (p *testRun) status() run.Status {
	p.t.Helper()
	_ = p.Client.GetWorkflow(p.t.Context(), p.id, "").Get(p.t.Context(), nil) // its error is the status too
	v, err := p.Client.QueryWorkflow(p.t.Context(), p.id, "", workflows.StateQuery)
	var s run.State
	if err == nil {
		err = v.Get(&s)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return s.Status
}

// histories are those of the executions from runID on.
func (p *testRun) histories() []*history.History {
	p.t.Helper()
	var all []*history.History
	for runID := p.runID; runID != ""; {
		h := p.History(p.t, p.id, runID)
		all = append(all, h)
		runID = h.Events[len(h.Events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return all
}
