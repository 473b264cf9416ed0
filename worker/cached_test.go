package main

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/workflows"
)

// A worker holds as many waiting runs as it has room for, and the others go on from their histories.
func TestRunsThatAreNotHeldGoOn(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	const size = 6
	s := newOwnFixture(t)
	for _, room := range []int{0, 2} { // 0: the default has room for all
		least, most := size, size
		if room > 0 {
			least, most = 1, room
		}
		stop := s.serveHere(t, room)
		var waiting []run.Input
		for range size {
			in := s.simple()
			in.Policy = run.Always
			s.start(in)
			waiting = append(waiting, in)
		}
		for _, in := range waiting {
			eventually.Holds(t, "the wait for an approval", func() bool { return s.approvalOf(in.RunID) != "" })
		}
		eventually.Holds(t, "the number of runs that are held", func() bool {
			n := waitingHere()
			return least <= n && n <= most
		})
		for _, in := range waiting {
			if err := s.signal(t.Context(), in.RunID, workflows.ApprovalMessage, approve(s.approvalOf(in.RunID))); err != nil {
				t.Fatal(err)
			}
			if err := s.client.GetWorkflow(t.Context(), in.RunID.WorkflowID(), "").Get(t.Context(), nil); err != nil {
				t.Errorf("room for %d: %v", room, err)
			}
		}
		stop()
	}
}

// serveHere makes this process a worker until stop.
func (s *fixture) serveHere(t *testing.T, room int) (stop func()) {
	t.Helper()
	h, err := host.Open(t.Context(), host.Config{RunsDir: s.runsDir, TaskQueue: s.queue, Environ: os.Environ(), Sandbox: run.SandboxOff, CachedRuns: room})
	if err != nil {
		t.Fatal(err)
	}
	w, err := h.Serve(t.Context(), temporalclient.Options{RunsDir: s.runsDir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w.Stop
}

// approvalOf is the id of what a run waits for, as its record has it.
func (s *fixture) approvalOf(id run.ID) string {
	state, err := s.runs.Run(id).State()
	if err != nil {
		return ""
	}
	return state.PendingApprovalID
}

// waitingHere counts the workflows of this process that wait for a decision.
func waitingHere() int {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "workflows.(*runner).awaitDecision(")
}
