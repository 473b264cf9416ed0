package main

import (
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/forgetest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	forgeflow "github.com/ratchet-dev/ratchet/workflows/forge"
)

// TestKilledAtEveryPointOfAPullRequest kills the worker right after each effect on the server: the push, the pull
// request and the status. The next worker does what is left. Nothing is there twice, and the token is in no history.
func TestKilledAtEveryPointOfAPullRequest(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	s := newFixture(t)
	server := forgetest.New(t, forge.GitHub)
	s.git("-C", s.repo, "remote", "add", "origin", server.Remote())
	s.git("-C", s.repo, "push", "-q", server.Dir, "main")
	s.flags = []string{"-forge", "github:" + server.URL + "=FORGE_TOKEN"}
	token := "FORGE_TOKEN=" + forgetest.Token
	points := slices.DeleteFunc(failpoints(t), func(point string) bool { return !strings.HasPrefix(point, "forge.") })
	if len(points) < 3 {
		t.Fatalf("got failpoints %v, want those of three effects", points)
	}
	for n, point := range points {
		there := s.at(point)
		r := there.follow(newScript(run.Never, "true").patch("execute-1", edit{file: "log.txt", line: "one"}), 0)
		first := there.spawn(token)
		there.finish(t.Context(), r)
		first.kill()
		doomed := there.launch(token, "RATCHET_FAILPOINTS="+point+"=kill")
		wr, err := s.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: forgeflow.WorkflowID(r.in.RunID), TaskQueue: there.queue},
			forgeflow.PullRequest, forgeacts.Target{RunID: r.in.RunID})
		if err != nil {
			t.Fatal(err)
		}
		<-doomed.done
		if doomed.cmd.ProcessState.Exited() {
			t.Fatalf("%s: the worker ended by itself: %s", point, doomed.out)
		}
		next := there.spawn(token)
		var out forgeflow.Result
		if err := wr.Get(t.Context(), &out); err != nil {
			t.Fatalf("%s: %v", point, err)
		}
		next.kill()
		if got := server.Branch(out.Branch); got == "" || got != string(out.Head) {
			t.Errorf("%s: the branch is at %q, want %q", point, got, out.Head)
		}
		if pulls := server.Pulls(); len(pulls) != n+1 || out.Number != n+1 {
			t.Errorf("%s: got %d pull requests and number %d, want %d", point, len(pulls), out.Number, n+1)
		}
		if list := server.Statuses(string(out.Head)); len(list) != 1 {
			t.Errorf("%s: got statuses %v, want 1", point, list)
		}
		events := s.client.GetWorkflowHistory(t.Context(), wr.GetID(), wr.GetRunID(), false, 0)
		for events.HasNext() {
			e, err := events.Next()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(e.String(), forgetest.Token) {
				t.Errorf("%s: the token is in event %d of the history", point, e.GetEventId())
			}
		}
	}
}
