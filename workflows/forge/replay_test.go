package forge_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/forge"
	notifyacts "github.com/ratchet-dev/ratchet/activities/notify"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	flow "github.com/ratchet-dev/ratchet/workflows/forge"
	"github.com/ratchet-dev/ratchet/workflows/notify"
)

func TestMain(m *testing.M) {
	temporaltest.ObeyCacheVariable()
	os.Exit(m.Run())
}

var (
	tickets = temporaltest.Corpus{Dir: "testdata/history/ticket", Workflow: flow.Ticket}
	watches = temporaltest.Corpus{Dir: "testdata/history/watch", Workflow: flow.Watch}
)

// TestReplayForge runs today's workflows over every history of every version.
func TestReplayForge(t *testing.T) {
	t.Parallel()
	var ofTickets, ofWatches []string
	for _, way := range ticketPaths {
		ofTickets = append(ofTickets, way.name)
	}
	for _, way := range watchPaths {
		ofWatches = append(ofWatches, way.name)
	}
	tickets.Replay(t, ofTickets)
	watches.Replay(t, ofWatches)
}

// TestReplayFreshForge plays every path on a real engine and replays it at once.
func TestReplayFreshForge(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	tickets.ReplayFresh(t, playTickets(t))
	watches.ReplayFresh(t, playWatches(t))
}

// TestRecordForge writes the histories of the ways that no version has:
//
//	RATCHET_RECORD_HISTORIES=1 go test -count=1 -run TestRecordForge ./workflows/forge
func TestRecordForge(t *testing.T) {
	tickets.Record(t, playTickets)
	watches.Record(t, playWatches)
}

// ticketPath is a way of a ticket. What a list has next is given to the next call, and the last of it to all that follow.
type ticketPath struct {
	name     string
	looks    []ticket.Look
	ends     []activities.RoundEnd
	joined   activities.Joined
	answer   string // to questions; empty: the ticket is stopped at a question
	bounds   ticket.Bounds
	noRounds bool
	long     bool // the ticket is stopped after the first look of its second execution
}

var (
	open     = ticket.Look{Open: true, IssueOpen: true, Head: "head", Digest: "digest", Passed: 1}
	merged   = ticket.Look{Merged: true}
	finished = activities.RoundEnd{Commits: 1, Head: "head", Branch: "b"}
)

func with(l ticket.Look, change func(*ticket.Look)) ticket.Look {
	change(&l)
	return l
}

var (
	failing    = with(open, func(l *ticket.Look) { l.Failed, l.Feedback = []string{"lint"}, []string{"check:lint"} })
	conflicts  = with(open, func(l *ticket.Look) { l.Conflicts = true })
	approved   = with(open, func(l *ticket.Look) { l.Approvers = []string{"kim"} })
	mergedBase = with(open, func(l *ticket.Look) { l.Head = "both" })
)

var ticketPaths = []ticketPath{
	{name: "is-merged", looks: []ticket.Look{open, merged}},
	{name: "is-fixed", looks: []ticket.Look{failing, failing, open, merged}},
	{name: "begins-at-a-merge", looks: []ticket.Look{failing, failing, open, merged}, joined: activities.Joined{Base: "main", Commit: "both"}},
	{name: "merges-its-base", looks: []ticket.Look{conflicts, mergedBase, merged}, joined: activities.Joined{Base: "main", Commit: "both"}},
	{name: "resolves-a-conflict", looks: []ticket.Look{conflicts, open, merged}, joined: activities.Joined{Base: "main", Commit: "both", Conflicts: []string{"a"}}},
	{name: "asks-about-a-conflict", looks: []ticket.Look{conflicts, conflicts, merged}, joined: activities.Joined{Base: "main", Problem: "a was removed"}, answer: "continue"},
	{name: "counts-votes", looks: []ticket.Look{open, approved, merged}, bounds: ticket.Bounds{Reviews: 1}},
	{name: "retries-a-run", looks: []ticket.Look{merged}, ends: []activities.RoundEnd{{Problem: "run is failed"}, finished}, answer: "retry"},
	{name: "is-stopped-at-a-question", looks: []ticket.Look{with(open, func(l *ticket.Look) { l.IssueLocked = true })}},
	{name: "changes-nothing", ends: []activities.RoundEnd{{}}},
	{name: "uses-up-its-rounds", looks: []ticket.Look{failing}, noRounds: true},
	{name: "waits-long", looks: []ticket.Look{open}, long: true},
}

// next returns what a list has next.
func next[T any](list []T, n *int) (out T) {
	if len(list) > 0 {
		out = list[min(*n, len(list)-1)]
	}
	*n++
	return out
}

// stage plays one path.
type stage struct {
	ticketPath
	mu                 sync.Mutex
	looked, ended, run int
}

func (s *stage) locked(act func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	act()
}

// register gives a worker the workflows with activities that follow the path.
func (s *stage) register(w worker.Registry) {
	for _, f := range []any{flow.Ticket, flow.PullRequest, notify.Notice} {
		w.RegisterWorkflow(f)
	}
	for name, f := range map[string]any{
		"FreezeIssue": func(context.Context, activities.Ticket) (activities.Frozen, error) {
			return activities.Frozen{Title: "Trim titles", Digest: "digest"}, nil
		},
		"StartRound": func(context.Context, activities.Round) (out activities.Begun, err error) {
			s.locked(func() {
				s.run++
				out = activities.Begun{RunID: run.ID(fmt.Sprintf("%s-%d", s.name, s.run)), Name: run.NewName("shop", s.run), Delivered: []string{"check:lint"}}
			})
			return out, nil
		},
		"AwaitRound": func(context.Context, run.ID) (out activities.RoundEnd, err error) {
			s.locked(func() {
				if out = finished; s.ends != nil {
					out = next(s.ends, &s.ended)
				}
			})
			return out, nil
		},
		"ReadPull": func(context.Context, activities.PullInput) (out ticket.Look, err error) {
			s.locked(func() { out = next(s.looks, &s.looked) })
			return out, nil
		},
		"MergeBase": func(context.Context, activities.Basis) (activities.Joined, error) { return s.joined, nil },
		"PushBranch": func(context.Context, activities.Target) (activities.Pushed, error) {
			return activities.Pushed{Head: "head"}, nil
		},
		"OpenPullRequest": func(context.Context, activities.Target, activities.Pushed) (activities.Opened, error) {
			return activities.Opened{Number: 1, URL: "https://git.example/acme/shop/pulls/1"}, nil
		},
		"SetStatus":      func(context.Context, activities.Target, activities.Pushed) error { return nil },
		"CommentOnIssue": func(context.Context, activities.CommentInput) error { return nil },
		"JoinWatch":      func(context.Context, activities.WatchEntry) error { return nil },
		"SendNotice":     func(context.Context, notifyacts.SendInput) error { return nil },
	} {
		w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
}

func playTickets(t *testing.T) map[string]*history.History {
	e := temporaltest.StartEngine(t, nil)
	var mu sync.Mutex
	histories := map[string]*history.History{}
	t.Run("paths", func(t *testing.T) {
		for _, way := range ticketPaths {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				s := &stage{ticketPath: way}
				defer e.Serve(t, way.name, s.register)()
				found := s.play(t, e)
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(histories, temporaltest.NameExecutions(way.name, found))
			})
		}
	})
	return histories
}

// play takes a ticket to its end: after each look it is told of one change.
func (s *stage) play(t *testing.T, e *temporaltest.Engine) []*history.History {
	in := flow.TicketInput{Bounds: s.bounds, Ticket: activities.Ticket{
		Repository: forge.Repo{Host: "git.example", Owner: "acme", Name: s.name}, Issue: 7, Base: "main",
		Input: run.Input{Repository: run.Repository{Path: "/shop"}, Policy: run.Always, Notify: []run.Channel{run.CommandChannel}},
	}}
	in.Bounds.Patience, in.Bounds.Quiet, in.Bounds.Rounds = time.Hour, time.Millisecond, 3
	if s.noRounds {
		in.Bounds.Rounds = 0
	}
	wr, err := e.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: flow.TicketID(in.Ticket), TaskQueue: s.name}, flow.Ticket, in)
	if err != nil {
		t.Fatal(err)
	}
	first, told := wr.GetRunID(), 0 // told of so many changes, as looks
	eventually.Holds(t, "the ticket is over", func() bool {
		d, err := temporalclient.Describe(t.Context(), e.Client, wr.GetID(), "")
		if err != nil || d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return err == nil
		}
		v, err := e.Client.QueryWorkflow(t.Context(), wr.GetID(), "", flow.TicketQuery)
		var state ticket.State
		if err != nil || v.Get(&state) != nil {
			return false
		}
		looked := 0
		s.locked(func() { looked = s.looked })
		switch {
		case state.Question != nil && s.answer != "":
			_ = e.Client.SignalWorkflow(t.Context(), wr.GetID(), "", flow.AnswerSignal, flow.Answer{Text: s.answer})
		case state.Question != nil, s.long && looked > told && d.GetWorkflowExecutionInfo().GetExecution().GetRunId() != first:
			_ = e.Client.CancelWorkflow(t.Context(), wr.GetID(), "")
		case state.Step == ticket.Waiting && looked > told:
			told = looked
			_ = e.Client.SignalWorkflow(t.Context(), wr.GetID(), "", flow.ChangedSignal, nil)
		}
		return false
	})
	all := executionsOf(t, e, wr.GetID(), first)
	if s.long && len(all) != 2 {
		t.Errorf("got %d executions, want 2", len(all))
	}
	return all
}

// executionsOf returns the histories of a workflow from its first execution on.
func executionsOf(t *testing.T, e *temporaltest.Engine, id, first string) (all []*history.History) {
	for runID := first; runID != ""; {
		h := e.History(t, id, runID)
		all = append(all, h)
		runID = h.Events[len(h.Events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return all
}

// watchPath is a way of a watch: what its polls see, one after the other. After that nothing changes.
type watchPath struct {
	name  string
	rule  bool
	polls []activities.Polled
	again int // times that the polls are repeated
}

var watchPaths = []watchPath{
	{name: "tells-and-ends", polls: []activities.Polled{{Changed: []string{"ticket-1"}}, {Changed: []string{"ticket-1", "ticket-gone"}}}},
	{name: "starts-labeled", rule: true, polls: []activities.Polled{{Labeled: []int{7, 8}}}},
	{name: "continues-as-new", polls: []activities.Polled{{Changed: []string{"ticket-gone"}}}, again: 110},
}

func playWatches(t *testing.T) map[string]*history.History {
	e := temporaltest.StartEngine(t, nil)
	var mu sync.Mutex
	histories := map[string]*history.History{}
	t.Run("watches", func(t *testing.T) {
		for _, way := range watchPaths {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				found := way.play(t, e)
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(histories, temporaltest.NameExecutions(way.name, found))
			})
		}
	})
	return histories
}

// play has a watch poll until it has seen all, and then lets its ticket leave and its rule end.
func (p watchPath) play(t *testing.T, e *temporaltest.Engine) []*history.History {
	var mu sync.Mutex
	polled, most := 0, len(p.polls)*max(p.again, 1)
	seen := func() int {
		mu.Lock()
		defer mu.Unlock()
		return polled
	}
	defer e.Serve(t, p.name, func(w worker.Registry) {
		w.RegisterWorkflow(flow.Watch)
		w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error { return workflow.Await(ctx, func() bool { return false }) }, workflow.RegisterOptions{Name: "Waits"})
		for name, f := range map[string]any{
			"PollPulls": func(context.Context, activities.Poll) (activities.Polled, error) {
				mu.Lock()
				defer mu.Unlock()
				if polled >= most {
					return activities.Polled{}, temporal.NewApplicationErrorWithOptions("nothing has changed", activities.UnchangedError, temporal.ApplicationErrorOptions{NextRetryDelay: time.Hour})
				}
				polled++
				return p.polls[(polled-1)%len(p.polls)], nil
			},
			"StartLabeled": func(_ context.Context, _ activities.Rule, n int) (out activities.Labeled, err error) {
				if n == 8 {
					return out, temporal.NewNonRetryableApplicationError("may not", activities.RefusedError, errors.New("403"))
				}
				return out, nil
			},
		} {
			w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
		}
	})()
	ticketRun, err := e.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "ticket-1", TaskQueue: p.name, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING}, "Waits")
	if err != nil {
		t.Fatal(err)
	}
	in := flow.WatchInput{Entries: []activities.WatchEntry{{Repository: forge.Repo{Host: "git.example", Owner: "acme", Name: "shop"}, Watched: forge.Watched{Ticket: ticketRun.GetID(), Issue: 7, Pull: 1}}}}
	if p.rule {
		in.Rule = &activities.Rule{Label: "ratchet", Ticket: activities.Ticket{Repository: in.Entries[0].Repository, Input: run.Input{Policy: run.Always}}}
	}
	wr, err := e.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "watch-" + p.name, TaskQueue: p.name}, flow.Watch, in)
	if err != nil {
		t.Fatal(err)
	}
	first := wr.GetRunID()
	eventually.Holds(t, "the watch has seen all", func() bool { return seen() == most })
	for signal, payload := range map[string]any{flow.LeaveSignal: ticketRun.GetID(), flow.RuleSignal: nil} {
		if err := e.Client.SignalWorkflow(t.Context(), wr.GetID(), "", signal, payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := wr.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return executionsOf(t, e, wr.GetID(), first)
}
