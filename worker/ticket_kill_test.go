package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/forgetest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	forgeflow "github.com/ratchet-dev/ratchet/workflows/forge"
)

// addsAFile is a provider whose every run adds a file of its own.
const addsAFile = `case $RATCHET_PHASE in
plan) cat "$1/plan.md" ;;
*) printf '<<<AIO_RESULT_START>>>\ntype: PATCH\nsummary: add a file\n<<<AIO_RESULT_END>>>\n\n[PATCH_BEGIN]\ndiff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+x\n[PATCH_END]\n' "$RATCHET_RUN_ID" "$RATCHET_RUN_ID" "$RATCHET_RUN_ID" ;;
esac
`

// team plays the people and the continuous integration of a repository: the first commit of each pull request fails, and
// the second is merged, as soon as it has the worker's status.
type team struct {
	server *forgetest.Server
	heads  map[int][]string
}

func (p *team) play() {
	for _, pull := range p.server.Pulls() {
		head := p.server.Branch(pull.Head)
		if slices.Contains(p.heads[pull.Number], head) || pull.Merged || len(p.server.Statuses(head)) == 0 {
			continue
		}
		p.heads[pull.Number] = append(p.heads[pull.Number], head)
		if len(p.heads[pull.Number]) == 1 {
			p.server.SetChecks(head, forgetest.Check{Name: "build", Conclusion: "failure", Text: "it does not build"})
			continue
		}
		p.server.SetChecks(head, forgetest.Check{Name: "build", Conclusion: "success"})
		p.server.Change(pull.Number, func(p *forgetest.Pull) { p.State, p.Merged = "closed", true })
	}
}

// tickets are those of a fixture with a server.
type tickets struct {
	*fixture
	team
	repo  forge.Repo
	token string
	spec  string // of the provider
}

func newTickets(t *testing.T) *tickets {
	s := newFixture(t)
	server := forgetest.New(t, forge.GitHub)
	s.git("-C", s.repo, "remote", "add", "origin", server.Remote())
	s.git("-C", s.repo, "push", "-q", server.Dir, "main")
	s.flags = []string{"-forge", "github:" + server.URL + "=FORGE_TOKEN", "-forge-pace", "50ms"}
	repo, err := forge.ParseRemote(server.Remote())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s.put(filepath.Join(dir, "provider.sh"), addsAFile)
	s.put(filepath.Join(dir, "plan.md"), planText)
	return &tickets{s, team{server, map[int][]string{}}, repo, "FORGE_TOKEN=" + forgetest.Token, fmt.Sprintf("command:/bin/sh %s/provider.sh %s", dir, dir)}
}

// startTicket starts the ticket of a new issue on a task queue.
func (s *tickets) startTicket(queue string, number int) client.WorkflowRun {
	s.t.Helper()
	s.server.AddIssue(forgetest.Issue{Number: number, Title: "Add a file", Body: "Please.", Author: "ann"})
	in := forgeflow.TicketInput{
		Ticket: forgeacts.Ticket{Repository: s.repo, Issue: number, Base: "main", Input: s.input(s.spec)},
		Bounds: ticket.Bounds{Rounds: 3, Patience: time.Hour, Quiet: time.Millisecond},
	}
	in.Input.RunID, in.Input.Goal, in.Input.NoBaseline = "", "", true
	wr, err := s.client.ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{ID: forgeflow.TicketID(in.Ticket), TaskQueue: queue}, forgeflow.Ticket, in)
	if err != nil {
		s.t.Fatal(err)
	}
	return wr
}

// awaitMerge waits for the end of a ticket, which is a merge after two runs.
func (s *tickets) awaitMerge(wr client.WorkflowRun) {
	s.t.Helper()
	eventually.Holds(s.t, wr.GetID()+" is over", func() bool {
		s.play()
		d, err := s.client.DescribeWorkflowExecution(s.t.Context(), wr.GetID(), "")
		return err == nil && d.GetWorkflowExecutionInfo().GetCloseTime() != nil
	})
	var state ticket.State
	if err := s.client.GetWorkflow(s.t.Context(), wr.GetID(), "").Get(s.t.Context(), &state); err != nil || state.End != ticket.Merged || state.Runs != 2 {
		s.t.Errorf("%s: got %+v, %v; want a merge after 2 runs", wr.GetID(), state, err)
	}
	events := s.client.GetWorkflowHistory(s.t.Context(), wr.GetID(), "", false, 0)
	n := 0
	for ; events.HasNext(); n++ {
		e, err := events.Next()
		if err != nil {
			s.t.Fatal(err)
		}
		if strings.Contains(e.String(), forgetest.Token) {
			s.t.Errorf("%s: the token is in event %d of the history", wr.GetID(), e.GetEventId())
		}
	}
	s.t.Logf("%s: %d events", wr.GetID(), n)
}

// verify compares what the server holds: one pull request, one comment and two commits with one status for each issue.
func (s *tickets) verify(issues int) {
	s.t.Helper()
	if n := len(s.server.Pulls()); n != issues {
		s.t.Errorf("got %d pull requests, want %d", n, issues)
	}
	for _, p := range s.server.Pulls() {
		heads := s.heads[p.Number]
		if len(heads) != 2 {
			s.t.Errorf("pull request %d: got the commits %v, want 2", p.Number, heads)
		}
		for _, head := range heads {
			if list := s.server.Statuses(head); len(list) != 1 {
				s.t.Errorf("pull request %d: got statuses %v, want 1", p.Number, list)
			}
		}
	}
	for n := range issues {
		if list := s.server.Comments(n + 1); len(list) != 1 || !strings.Contains(list[0].Body, "**merged**") {
			s.t.Errorf("issue %d: got comments %+v, want one with the end", n+1, list)
		}
	}
}

// TestKilledAtEveryPointOfATicket kills the worker right after each effect of a ticket: the start of a run, the comment, the
// push, the pull request and the status. The next worker does what is left, and nothing is there twice.
func TestKilledAtEveryPointOfATicket(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	s := newTickets(t)
	points := slices.DeleteFunc(failpoints(t), func(point string) bool {
		return !strings.HasPrefix(point, "forge.") && !strings.HasPrefix(point, "ticket.")
	})
	if len(points) < 5 {
		t.Fatalf("got failpoints %v, want those of five effects", points)
	}
	for n, point := range points {
		there := s.at(point)
		doomed := there.launch(s.token, "RATCHET_FAILPOINTS="+point+"=kill")
		wr := s.startTicket(there.queue, n+1)
		<-doomed.done
		if doomed.cmd.ProcessState.Exited() {
			t.Fatalf("%s: the worker ended by itself: %s", point, doomed.out)
		}
		next := there.spawn(s.token)
		s.awaitMerge(wr)
		next.kill()
	}
	s.verify(len(points))
}
