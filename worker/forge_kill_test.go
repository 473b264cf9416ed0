package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
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
	server.AllowTwins() // it is the worker that looks first
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

// TestAPullRequestThatIsOpenedWithoutALook is the control of the suites: workers that do not look first open a second one.
func TestAPullRequestThatIsOpenedWithoutALook(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	s := newFixture(t)
	server := forgetest.New(t, forge.GitHub)
	server.AllowTwins()
	s.git("-C", s.repo, "remote", "add", "origin", server.Remote())
	s.git("-C", s.repo, "push", "-q", server.Dir, "main")
	r := s.follow(newScript(run.Never, "true").patch("execute-1", edit{file: "log.txt", line: "one"}), 0)
	first := s.spawn()
	s.finish(t.Context(), r)
	first.kill()
	env := []string{asWorker + "=" + openingAnyway, "FORGE_TOKEN=" + forgetest.Token, "FORGE_URL=" + server.URL}
	doomed := s.launch(append(env, "RATCHET_FAILPOINTS=forge.opened=kill")...)
	wr, err := s.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: forgeflow.WorkflowID(r.in.RunID), TaskQueue: s.queue},
		forgeflow.PullRequest, forgeacts.Target{RunID: r.in.RunID})
	if err != nil {
		t.Fatal(err)
	}
	<-doomed.done
	next := s.spawn(env...)
	if err := wr.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	next.kill()
	if n := len(server.Pulls()); n != 2 {
		t.Errorf("got %d pull requests, want 2: the suites above prove nothing", n)
	}
}

// openingAnyway is a worker that opens pull requests without a look at those there are.
const openingAnyway = "opening-anyway"

func serveOpening() {
	var server forge.Server
	serveWith(func(w sdkworker.Worker) {
		server = forge.Server{Kind: forge.GitHub, URL: os.Getenv("FORGE_URL"), Token: os.Getenv("FORGE_TOKEN")}
		forgeflow.Register(w, forgeacts.New(forgeacts.Config{RunsDir: flag.Lookup("runs-dir").Value.String(), Servers: []forge.Server{server}}))
		w.RegisterActivityWithOptions(func(ctx context.Context, in forgeacts.Target, pushed forgeacts.Pushed) (forgeacts.Opened, error) {
			body, err := json.Marshal(map[string]string{"title": "any", "head": pushed.Branch, "base": pushed.Base})
			if err != nil {
				return forgeacts.Opened{}, err
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/api/v3/repos/"+forgetest.Owner+"/"+forgetest.Name+"/pulls", bytes.NewReader(body))
			if err != nil {
				return forgeacts.Opened{}, err
			}
			req.Header.Set("Authorization", "Bearer "+server.Token)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return forgeacts.Opened{}, err
			}
			defer resp.Body.Close()
			failpoint.Hit("forge.opened")
			return forgeacts.Opened{Number: 1}, nil
		}, activity.RegisterOptions{Name: "OpenPullRequest", DisableAlreadyRegisteredCheck: true})
	})
}
