package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/workflows"
)

const atOnce = 100

// TestStartedManyTimesAtOnce starts the same run again and again: there is one.
func TestStartedManyTimesAtOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawn()
	r := s.follow(variants[0](), 0)
	var began, refused atomic.Int32
	parallel(atOnce/2, func(int) {
		err := s.patiently(t.Context(), func() error {
			_, err := s.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
				ID: r.in.RunID.WorkflowID(), TaskQueue: s.queue, WorkflowExecutionErrorWhenAlreadyStarted: true,
				WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
				WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			}, workflows.Run, workflows.RunInput{Input: &r.in})
			return err
		})
		if _, there := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); there {
			refused.Add(1)
		} else if err == nil {
			began.Add(1)
		} else {
			t.Error(err)
		}
	})
	if began.Load() > 1 || began.Load()+refused.Load() != atOnce/2 { // a busy server may have lost the answer to the one that began
		t.Errorf("%d began, %d were refused", began.Load(), refused.Load())
	}
	s.verify(t, r, 0)
}

// TestDecidedManyTimesAtOnce sends one decision a hundred times, as a signal
// without and with the decision's id as the id of the request.
func TestDecidedManyTimesAtOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawn()
	r := s.follow(variants[1](), 0)
	wr := s.start(r.in)
	first := s.awaitApproval(t, r, "")
	parallel(atOnce, func(int) {
		if err := s.signal(t.Context(), r.in.RunID, workflows.ApprovalMessage, approve(first)); err != nil {
			t.Error(err)
		}
	})
	second := s.awaitApproval(t, r, first)
	payload, err := converter.GetDefaultDataConverter().ToPayloads(approve(second))
	if err != nil {
		t.Fatal(err)
	}
	parallel(atOnce, func(int) {
		_, err := s.client.WorkflowService().SignalWorkflowExecution(t.Context(), &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: r.in.RunID.WorkflowID()},
			SignalName: workflows.ApprovalMessage, Input: payload, RequestId: second,
		})
		if gone := new(serviceerror.NotFound); err != nil && !errors.As(err, &gone) { // the run is over by now
			t.Error(err)
		}
	})
	s.verify(t, r, 0)
	signals := 0
	for _, ex := range s.executions(r.in.RunID, wr.GetRunID()) {
		signals += ex.count(enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
	}
	if signals != atOnce+1 {
		t.Errorf("%d signals in history, want %d and one", signals, atOnce)
	}
}

func approve(id string) run.Decision {
	return run.Decision{ApprovalID: id, Decision: run.Approve, By: "test"}
}

// awaitApproval returns the id of the approval that a run waits for, once it
// is another than the last.
func (s *fixture) awaitApproval(t *testing.T, r *scripted, last string) (id string) {
	t.Helper()
	eventually.Holds(t, "an approval", func() bool {
		id = s.state(r).PendingApprovalID
		return id != "" && id != last
	})
	return id
}

// TestResetToBeforeAnApproval has the server deliver old signals again while
// the provider answers otherwise: nothing is applied until that patch is
// approved.
func TestResetToBeforeAnApproval(t *testing.T) {
	t.Parallel()
	times := 2
	if need.Has(need.Nightly) {
		times = 20
	}
	s := newFixture(t)
	s.spawn()
	r := s.follow(newScript(run.Always, "true").patch("execute-1", edit{file: "log.txt", line: "one"}), 0)
	wr := s.start(r.in)
	asked := s.awaitApproval(t, r, "")
	if err := s.signal(t.Context(), r.in.RunID, workflows.ApprovalMessage, approve(asked)); err != nil {
		t.Fatal(err)
	}
	s.verify(t, r, 0)
	head := s.git("-C", s.repo, "rev-parse", r.in.RunID.Branch())
	runID := wr.GetRunID()
	for i := range times {
		s.forget(t, r, i)
		runID = s.reset(t, r.in.RunID, runID)
		asked = s.awaitApproval(t, r, asked)
		for _, e := range s.verifyRecord(t, r.in.RunID) {
			if e.Type == run.ApprovalGrantedEvent || e.Type == run.PatchAppliedEvent {
				t.Errorf("reset %d: %s by an old approval", i, e.Type)
			}
		}
		if got := s.git("-C", s.repo, "rev-parse", r.in.RunID.Branch()); got != head {
			t.Errorf("reset %d: the branch has moved to %s", i, got)
		}
	}
	if err := s.client.TerminateWorkflow(t.Context(), r.in.RunID.WorkflowID(), "", "the test is over"); err != nil {
		t.Error(err)
	}
}

// forget has the developer answer anew, and otherwise.
func (s *fixture) forget(t *testing.T, r *scripted, i int) {
	t.Helper()
	sc := newScript(run.Always, "true").patch("execute-1", edit{file: "log.txt", line: "another " + string(rune('a'+i))})
	s.put(filepath.Join(r.answers, "execute-1.md"), sc.answers["execute-1"])
	if err := os.RemoveAll(filepath.Join(s.runs.Run(r.in.RunID).Path(), "artifacts", "execute")); err != nil {
		t.Fatal(err)
	}
}

// reset takes the run back to the task that called the developer.
func (s *fixture) reset(t *testing.T, id run.ID, runID string) (fresh string) {
	t.Helper()
	task := int64(0)
	for _, e := range s.executions(id, runID)[0].events {
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "Propose" {
			task = e.GetActivityTaskScheduledEventAttributes().WorkflowTaskCompletedEventId
			break
		}
	}
	resp, err := s.client.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id.WorkflowID(), RunId: runID},
		Reason: "test", WorkflowTaskFinishEventId: task, RequestId: runID,
	})
	if err != nil {
		t.Fatal(err)
	}
	return resp.RunId
}
