package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/workflows"
)

// pending is the activity under way.
func (h *heldRun) pending() (last *workflow.PendingActivityInfo) {
	h.t.Helper()
	d, err := temporalclient.Describe(h.t.Context(), h.client, h.in.RunID.WorkflowID(), "")
	for late := new(serviceerror.DeadlineExceeded); errors.As(err, &late) && h.t.Context().Err() == nil; { // an engine on a busy machine
		d, err = temporalclient.Describe(h.t.Context(), h.client, h.in.RunID.WorkflowID(), "")
	}
	if err != nil {
		h.t.Fatal(err)
	}
	for _, a := range d.GetPendingActivities() {
		last = a
	}
	return last
}

// The engine does not try again what is to be canceled: the report of a dead
// worker is then all that is known of its last attempt. The check does not hear
// SIGTERM, so that the worker dies while it ends it.
func TestCanceledThoughNobodyIsLeftToSaySo(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	s := newFixture(t)
	var h *heldRun
	requested := false
	for n := 0; !requested && n < 10; n++ { // a busy machine may see it too late
		var w *workerProcess
		h, w = s.at(strconv.Itoa(n)).hold(atCheck, "1")
		h.spawn()
		if err := s.client.CancelWorkflow(t.Context(), h.in.RunID.WorkflowID(), ""); err != nil {
			t.Fatal(err)
		}
		eventually.Holds(t, "the request to cancel the check, or its end", func() bool {
			a := h.pending()
			requested = a.GetState() == enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED
			return requested || a == nil
		})
		w.kill()
	}
	if !requested {
		t.Fatal("no request to cancel a check was seen")
	}
	err := s.client.GetWorkflow(t.Context(), h.in.RunID.WorkflowID(), "").Get(t.Context(), nil)
	if got := s.state(h.scripted).Status; !temporal.IsCanceledError(err) || got != run.Canceled {
		t.Errorf("the run is %s and ended with %v", got, err)
	}
	s.verifyFixture(t)
}

// TestACallIsPaidFiveTimesAtMost kills the worker each time that the provider has
// been started. After the fifth time a person is asked, whose answer makes another
// call. Finding H1.
func TestACallIsPaidFiveTimesAtMost(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	s := newFixture(t)
	h, w := s.hold(atCall, "1")
	for n := 1; n < 5; n++ {
		w.kill()
		w = h.spawn()
		eventually.Holds(t, "the next attempt", func() bool { return h.begun() == n+1 })
	}
	w.kill()
	h.spawn()
	eventually.Holds(t, "the question", func() bool { return s.state(h.scripted).PendingQuestionID != "" })
	if n := h.begun(); n != 5 {
		t.Errorf("the provider was started %d times", n)
	}
	p, err := answer[run.Pending](h.fixture, h.in.RunID, workflows.PendingQuery)
	if err != nil || p.Question == nil || !strings.Contains(p.Question.Question.Question, "started 5 times and never answered") {
		t.Errorf("%+v, %v", p.Question, err)
	}
	h.put(h.file("execute-1.2.md"), h.script.answers["execute-1"])
	delete(h.script.answers, "execute-1")
	defer s.decided(t, []*scripted{h.scripted})()
	h.finished(t, 0)
}

// TestWhoWaitsSaysForWhom stops a worker in a call for longer than it is missed.
// Another waits for it, and says so; the call is made once. Finding B12.
func TestWhoWaitsSaysForWhom(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	s := newFixture(t)
	h, w := s.hold(atCall, hasty)
	h.spawn(asWorker + "=" + hasty)
	stopped := w.cmd.Process.Pid
	if err := syscall.Kill(stopped, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("waits: process %d holds the answer", stopped)
	eventually.Holds(t, "word of who is waited for", func() bool {
		return strings.Contains(h.pending().GetHeartbeatDetails().String(), want)
	})
	if err := syscall.Kill(stopped, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	h.let()
	h.finished(t, 0)
}

// A call that goes on after the engine has given its attempt up ends with its run.
func TestACallThatWasGivenUpEndsWithItsRun(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	s := newFixture(t)
	h, w := s.hold(atCall, hasty)
	s.pause(4*time.Second, w.cmd.Process.Pid)
	eventually.Holds(t, "the next attempt, which waits", func() bool {
		return strings.Contains(h.pending().GetHeartbeatDetails().String(), "waits: ")
	})
	if n := h.begun(); n != 1 {
		t.Errorf("the provider was started %d times", n)
	}
	t.Logf("over after %v", s.cancel(t, h.scripted).Round(time.Millisecond))
}
