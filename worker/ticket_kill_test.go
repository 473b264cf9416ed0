package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
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
	move   func() // if set, moves the base instead of the first failure: the second commit is the merge of the base
}

// play does what there is to do, until so many pull requests are merged.
func (p *team) play(most int) {
	pulls := p.server.Pulls()
	for _, pull := range pulls {
		if pull.Merged {
			most--
		}
	}
	for _, pull := range pulls {
		head := p.server.Branch(pull.Head)
		if slices.Contains(p.heads[pull.Number], head) || pull.Merged || len(p.server.Statuses(head)) == 0 {
			continue
		}
		if most <= 0 && len(p.heads[pull.Number]) == 1 {
			continue
		}
		p.heads[pull.Number] = append(p.heads[pull.Number], head)
		if len(p.heads[pull.Number]) == 1 && p.move == nil {
			p.server.SetChecks(head, forgetest.Check{Name: "build", Conclusion: "failure", Text: "it does not build"})
			continue
		}
		p.server.SetChecks(head, forgetest.Check{Name: "build", Conclusion: "success"})
		if len(p.heads[pull.Number]) == 1 {
			p.move()
			continue
		}
		p.server.Change(pull.Number, func(p *forgetest.Pull) { p.State, p.Merged = "closed", true })
		most--
	}
}

// tickets are those of a fixture with a server.
type tickets struct {
	*fixture
	team
	repo  forge.Repo
	token string // variable of the worker
	key   []byte // of the server's app; nil: a token is used
	spec  string // of the provider
}

// newAppTickets is newTickets with a GitHub App, whose tokens are replaced after two seconds.
func newAppTickets(s *fixture) *tickets {
	t := newTickets(s)
	t.key = t.server.InstallApp(s.t.(*testing.T), 5*time.Minute+2*time.Second)
	file := filepath.Join(s.t.(*testing.T).TempDir(), "app.pem")
	if err := os.WriteFile(file, t.key, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.flags[1] = "github:" + t.server.URL + "=" + forgetest.AppID + "@" + file
	return t
}

func newTickets(s *fixture) *tickets {
	t := s.t.(*testing.T)
	server := forgetest.New(t, forge.GitHub)
	server.AllowTwins() // it is the worker that looks first
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
	return &tickets{
		fixture: s, team: team{server: server, heads: map[int][]string{}}, repo: repo, token: "FORGE_TOKEN=" + forgetest.Token,
		spec: fmt.Sprintf("command:/bin/sh %s/provider.sh %s", dir, dir),
	}
}

// startTicket starts the ticket of a new issue on a task queue.
func (s *tickets) startTicket(queue string, number int) client.WorkflowRun {
	s.t.Helper()
	wr, err := s.tryTicket(queue, number)
	if err != nil {
		s.t.Fatal(err)
	}
	return wr
}

func (s *tickets) tryTicket(queue string, number int) (client.WorkflowRun, error) {
	s.server.AddIssue(forgetest.Issue{Number: number, Title: "Add a file", Body: "Please.", Author: "ann"})
	in := forgeflow.TicketInput{
		Ticket: forgeacts.Ticket{Repository: s.repo, Issue: number, Base: "main", Input: s.input(s.spec)},
		Bounds: ticket.Bounds{Rounds: 3, Patience: time.Hour, Quiet: time.Millisecond},
	}
	in.Input.RunID, in.Input.Goal, in.Input.NoBaseline = "", "", true
	return s.client.ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{ID: forgeflow.TicketID(in.Ticket), TaskQueue: queue}, forgeflow.Ticket, in)
}

// awaitMerge waits for the end of a ticket, which is a merge after two runs, or after one if the base moves.
func (s *tickets) awaitMerge(wr client.WorkflowRun) {
	s.t.Helper()
	eventually.Holds(s.t, wr.GetID()+" is over", func() bool {
		s.play(math.MaxInt)
		if s.argvHasToken() {
			s.t.Error("a secret is in the arguments of a process")
		}
		return s.isOver(wr.GetID())
	})
	s.verifyMerge(wr)
}

func (s *tickets) isOver(id string) bool {
	d, err := temporalclient.Describe(s.t.Context(), s.client, id, "")
	return err == nil && d.GetWorkflowExecutionInfo().GetCloseTime() != nil
}

// verifyMerge compares the end of a ticket, and looks for the token in its history.
func (s *tickets) verifyMerge(wr client.WorkflowRun) {
	s.t.Helper()
	runs := 2
	if s.move != nil {
		runs = 1
	}
	var state ticket.State
	if err := s.client.GetWorkflow(s.t.Context(), wr.GetID(), "").Get(s.t.Context(), &state); err != nil || state.End != ticket.Merged || state.Runs != runs {
		s.t.Errorf("%s: got %+v, %v; want a merge after %d runs", wr.GetID(), state, err, runs)
	}
	events := s.client.GetWorkflowHistory(s.t.Context(), wr.GetID(), "", false, 0)
	n := 0
	for ; events.HasNext(); n++ {
		e, err := events.Next()
		if err != nil {
			s.t.Fatal(err)
		}
		if s.hasSecret([]byte(e.String())) {
			s.t.Errorf("%s: a token is in event %d of the history", wr.GetID(), e.GetEventId())
		}
	}
	s.t.Logf("%s: %d events", wr.GetID(), n)
}

// verify compares what the server holds: one pull request, one comment and two commits with one status for each issue.
func (s *tickets) verify(issues int) {
	s.t.Helper()
	s.findToken()
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

// secrets returns the tokens, as they are and as git sends them, and the middle of the app's key.
func (s *tickets) secrets() (list []string) {
	if s.key != nil {
		list = []string{strings.Split(string(s.key), "\n")[12]}
	}
	for _, token := range append(s.server.AppTokens(), forgetest.Token) {
		list = append(list, token, base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token)))
	}
	return list
}

func (s *tickets) hasSecret(text []byte) bool {
	return slices.ContainsFunc(s.secrets(), func(secret string) bool { return bytes.Contains(text, []byte(secret)) })
}

// findToken looks for secrets in all that the workers and the engine have written, and in what the workers have said. Arguments
// of processes are looked at while there are some: see argvHasToken.
func (s *tickets) findToken() {
	s.t.Helper()
	files := 0
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // a process has removed it
		}
		b, _ := os.ReadFile(path)
		files++
		if s.hasSecret(b) {
			s.t.Errorf("a secret is in %s", path)
		}
		return nil
	})
	if err != nil || files < 30 {
		s.t.Errorf("looked for secrets in %d files, %v; want those of all runs", files, err)
	}
	if n := len(s.server.AppTokens()); s.key != nil && n < 3 {
		s.t.Errorf("the app has made %d tokens, want some", n)
	}
	s.workers.mu.Lock()
	defer s.workers.mu.Unlock()
	for _, w := range s.workers.list {
		if s.hasSecret([]byte(w.out.String())) {
			s.t.Error("a worker has said a secret")
		}
	}
}

// argvHasToken reports whether a process of this machine has a secret in its arguments.
func (s *tickets) argvHasToken() bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(lines, func(name string) bool {
		b, _ := os.ReadFile(name)
		return s.hasSecret(b)
	})
}

// TestTicketsOutliveWhatDies kills workers, the server and the engine while tickets are worked on. Half of the workers die by
// themselves, after a random one of their effects, and the others once the server has had some calls of theirs: a kill follows
// progress, never time. Each issue ends with one pull request, one comment, and one status for each commit.
func TestTicketsOutliveWhatDies(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	issues, atOnce, left := 2, 2, map[string]int{"worker": 6, "server": 2, "engine": 1}
	if need.Has(need.Nightly) {
		issues, atOnce, left = 20, 4, map[string]int{"worker": 60, "server": 10, "engine": 5}
	}
	s := newTickets(newOwnFixture(t))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 32))
	var worker *workerProcess
	revive := func() {
		points := ""
		if left["worker"] > 0 && rng.IntN(2) == 0 {
			points = "*=kill%0.05"
		}
		worker = s.spawn(s.token, "RATCHET_FAILPOINTS="+points)
	}
	revive()
	kills := 0
	count := func(what string) { left[what]--; kills++ }
	tickets := map[int]client.WorkflowRun{}
	over := map[int]bool{}
	nextKill := 0 // at so many calls
	eventually.Within(t, "all tickets are over", 2*time.Hour, func() bool {
		most := issues
		if left["worker"]+left["server"]+left["engine"] > 0 {
			most--
		}
		s.play(most)
		if s.argvHasToken() {
			t.Error("the token is in the arguments of a process")
		}
		for n := 1; n <= issues && len(tickets)-len(over) < atOnce; n++ {
			if tickets[n] == nil {
				if wr, err := s.tryTicket(s.queue, n); err == nil {
					tickets[n] = wr
				}
			}
		}
		for n, wr := range tickets {
			if !over[n] && s.isOver(wr.GetID()) {
				over[n] = true
			}
		}
		s.answerRuns()
		if worker.dead() {
			count("worker")
			revive()
		}
		if calls := len(s.server.Calls()); calls >= nextKill {
			switch kind := pick(rng, left); kind {
			case "worker":
				worker.kill()
				count(kind)
				revive()
			case "server":
				s.server.Kill()
				defer s.server.Restart()
				count(kind)
			case "engine":
				s.killEngine()
				count(kind)
			}
			nextKill = calls + 1 + rng.IntN(40)
		}
		return len(over) == issues
	})
	for _, wr := range tickets {
		s.verifyMerge(wr)
	}
	s.verify(issues)
	s.verifyDatabase(t)
	t.Logf("%d kills, %d calls of the server", kills, len(s.server.Calls()))
	for what, n := range left {
		if n > 0 {
			t.Errorf("%d kills of the %s are left, want none", n, what)
		}
	}
}

// pick returns one of what is left to kill, each kill with the same chance; empty: nothing is left.
func pick(rng *rand.Rand, left map[string]int) string {
	var all []string
	for _, what := range []string{"worker", "server", "engine"} {
		all = append(all, slices.Repeat([]string{what}, max(left[what], 0))...)
	}
	if len(all) == 0 {
		return ""
	}
	return all[rng.IntN(len(all))]
}

// answerRuns has a person try the steps of runs again that were cut off too often.
func (s *tickets) answerRuns() {
	c := runs.New(s.client, s.queue)
	waiting, _ := c.Waiting(s.t.Context(), run.AwaitingInput)
	for _, l := range waiting {
		if p, err := c.Pending(s.t.Context(), l.ID); err == nil && p.Question != nil {
			_ = c.Reply(s.t.Context(), l.ID, run.Reply{QuestionID: p.Question.QuestionID, Text: "retry", By: "kim"})
		}
	}
}

// TestKilledAtEveryPointOfATicket kills the worker right after each effect of a ticket: the start of a run, the comment, the
// push, the pull request, the status, and the merge of a base that has moved. The next worker does what is left, and nothing is
// there twice. The tokens are those of a GitHub App.
func TestKilledAtEveryPointOfATicket(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	s := newAppTickets(newFixture(t))
	const merged = "ticket.merged" // the last: the base moves for all tickets
	points := slices.DeleteFunc(failpoints(t), func(point string) bool {
		return !strings.HasPrefix(point, "forge.") && !strings.HasPrefix(point, "ticket.") || point == merged
	})
	if points = append(points, merged); len(points) < 6 {
		t.Fatalf("got failpoints %v, want those of six effects", points)
	}
	for n, point := range points {
		there := s.at(point)
		if point == merged {
			s.server.RequireUpToDate()
			s.move = func() {
				s.git("-C", s.server.Dir, "update-ref", "refs/heads/main", s.git("-C", s.server.Dir, "commit-tree", "-p", "main", "-m", "moved", "main^{tree}"))
			}
		}
		doomed := there.launch("RATCHET_FAILPOINTS=" + point + "=kill")
		wr := s.startTicket(there.queue, n+1)
		eventually.Holds(t, "the worker dies at "+point, func() bool {
			s.play(math.MaxInt)
			return doomed.dead()
		})
		if doomed.cmd.ProcessState.Exited() {
			t.Fatalf("%s: the worker ended by itself: %s", point, doomed.out)
		}
		next := there.spawn()
		s.awaitMerge(wr)
		next.kill()
	}
	s.verify(len(points))
	if branch := s.server.Pulls()[len(points)-1].Head; s.git("-C", s.server.Dir, "rev-list", "--count", "--merges", "main.."+branch) != "1" {
		t.Errorf("got the branch %s, want one merge of the base on it", s.git("-C", s.server.Dir, "log", "--oneline", "main.."+branch))
	}
}
