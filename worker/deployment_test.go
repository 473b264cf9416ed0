package main

import (
	"testing"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/workflows"
)

// TestARollingUpgradeUnderAWaitingRun replaces a worker by one of the next version while a run waits for an approval. The
// run ends on the new version.
func TestARollingUpgradeUnderAWaitingRun(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	name := "ratchet-" + uuid.NewString()
	serve := func(build string) *workerProcess {
		s.flags = []string{"-deployment", name, "-build-id", build}
		w := s.spawn()
		eventually.Holds(t, "version "+build+" is the current one", func() bool { // once the server has heard of it
			_, err := s.client.WorkerDeploymentClient().GetHandle(name).SetCurrentVersion(t.Context(), client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
			return err == nil
		})
		return w
	}
	before := serve("1")
	r := s.follow(newScript(run.Always, "true").patch("execute-1", edit{file: "log.txt", line: "one"}), 0)
	wr := s.start(r.in)
	eventually.Holds(t, "the run waits", func() bool { return s.state(r).PendingApprovalID != "" })
	serve("2")
	before.kill()
	if err := s.signal(t.Context(), r.in.RunID, workflows.ApprovalMessage, run.Decision{ApprovalID: s.state(r).PendingApprovalID, Decision: run.Approve}); err != nil {
		t.Fatal(err)
	}
	if err := wr.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var builds []string
	for events := s.client.GetWorkflowHistory(t.Context(), wr.GetID(), wr.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if done := e.GetWorkflowTaskCompletedEventAttributes(); done != nil {
			builds = append(builds, done.GetDeploymentVersion().GetBuildId())
		}
	}
	if len(builds) < 2 || builds[0] != "1" || builds[len(builds)-1] != "2" {
		t.Errorf("got workflow tasks of versions %v, want the first of 1 and the last of 2", builds)
	}
}
