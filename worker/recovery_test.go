package main

import (
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/eventually"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// pendingState is that of the activity under way.
func (h *heldRun) pendingState() (state enums.PendingActivityState) {
	h.t.Helper()
	d, err := h.client.DescribeWorkflowExecution(h.t.Context(), h.in.RunID.WorkflowID(), "")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, a := range d.GetPendingActivities() {
		state = a.GetState()
	}
	return state
}

// The engine does not try again what is to be canceled: the report of a dead
// worker is then all that is known of its last attempt. The check does not hear
// SIGTERM, so that the worker dies while it ends it.
func TestCanceledThoughNobodyIsLeftToSaySo(t *testing.T) {
	s := newSite(t)
	h, w := s.hold(atCheck, "1")
	h.spawn()
	if err := s.client.CancelWorkflow(t.Context(), h.in.RunID.WorkflowID(), ""); err != nil {
		t.Fatal(err)
	}
	eventually.Within(t, "the request to cancel the check", 30*time.Second, func() bool {
		return h.pendingState() == enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED
	})
	w.kill()
	err := s.client.GetWorkflow(t.Context(), h.in.RunID.WorkflowID(), "").Get(t.Context(), nil)
	if got := s.state(h.scripted).Status; !temporal.IsCanceledError(err) || got != run.Canceled {
		t.Errorf("the run is %s and ended with %v", got, err)
	}
	s.verifySite(t)
}
