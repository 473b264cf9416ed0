package workflows_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// movable is a run on a URL that works on the task queue alpha.
func movable(t *testing.T, w *fakeActivities, policy run.Policy) (*testsuite.TestWorkflowEnvironment, run.Input) {
	t.Helper()
	e, in := env(t, w), input(policy, 3)
	e.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: in.RunID.WorkflowID(), TaskQueue: "alpha"})
	in.Repository.URL = "https://git.example.com/acme/shop.git"
	return e, in
}

// movedTo fails unless the execution continued as new on a task queue. It returns the input of the next one.
func movedTo(t *testing.T, e *testsuite.TestWorkflowEnvironment, queue string) (in workflows.RunInput) {
	t.Helper()
	var next *workflow.ContinueAsNewError
	if err := e.GetWorkflowError(); !errors.As(err, &next) {
		t.Fatalf("got %v, want that it continues as new", err)
	}
	if next.TaskQueueName != queue {
		t.Errorf("it continues on task queue %q, want %q", next.TaskQueueName, queue)
	}
	if err := payload(next, &in); err != nil {
		t.Fatal(err)
	}
	return in
}

// TestARunMovesAtABoundary: wherever a move comes, the step in progress is finished, and no call is made again.
func TestARunMovesAtABoundary(t *testing.T) {
	limited := activities.ProposeResult{Halt: &run.Halt{Limited: &run.Limited{Until: time.Now().Add(1000 * time.Hour), Provider: "replay:x"}}}
	for name, tc := range map[string]struct {
		answers []activities.ProposeResult
		policy  run.Policy
		during  run.Phase  // the developer's or fixer's call that meets the move; empty: a wait does
		next    run.Action // where the other host begins
		calls   int        // in all, with the planner's
	}{
		"in a call":                   {[]activities.ProposeResult{patch("one")}, run.Always, run.Execute, run.Decide, 2},
		"in a call without a wait":    {[]activities.ProposeResult{patch("one")}, run.Never, run.Execute, run.Start, 2},
		"while an approval waits":     {[]activities.ProposeResult{patch("one")}, run.Always, "", run.Decide, 2},
		"while a tool call waits":     {[]activities.ProposeResult{asksFor("call-1"), patch("one")}, run.Always, "", run.Decide, 3},
		"while a question waits":      {[]activities.ProposeResult{{Question: &run.Question{Question: "Which?"}}, patch("one")}, run.Never, "", run.Await, 3},
		"while it waits for a limit":  {[]activities.ProposeResult{limited, patch("one")}, run.Never, "", run.Work, 3},
		"in a call that meets limits": {[]activities.ProposeResult{limited, patch("one")}, run.Never, run.Execute, run.Work, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := &fakeActivities{answers: tc.answers}
			e, in := movable(t, w, tc.policy)
			move := func() { e.SignalWorkflow(workflows.MoveMessage, run.Move{Queue: "beta"}) }
			var waiting run.Pending
			if tc.during != "" {
				w.during = func(activities.Call) { move(); w.during = nil }
			} else {
				e.RegisterDelayedCallback(func() { waiting = query[run.Pending](t, e, workflows.PendingQuery); move() }, time.Hour)
			}
			start(e, in)
			next := movedTo(t, e, "beta")
			if next.Snapshot.Next.Do != tc.next {
				t.Errorf("the other host begins at %q, want %q", next.Snapshot.Next.Do, tc.next)
			}
			e = env(t, w)
			var there run.Pending
			e.RegisterDelayedCallback(func() { there = query[run.Pending](t, e, workflows.PendingQuery) }, time.Minute)
			e.RegisterDelayedCallback(func() {
				if q := there.Question; q != nil {
					e.SignalWorkflow(workflows.AnswerMessage, run.Reply{QuestionID: q.QuestionID, Text: "this one"})
				}
				approveAll(t, e)
			}, 2*time.Minute)
			e.ExecuteWorkflow(workflows.Run, next)
			if err := e.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			if a, b := waiting.Approval, there.Approval; a != nil && (b == nil || b.ApprovalID != a.ApprovalID || b.Digest != a.Digest) {
				t.Errorf("the other host asks about %+v, want %+v", b, a)
			}
			if len(w.calls) != tc.calls || len(w.applied) != 1 {
				t.Errorf("got %d calls and %d applied patches, want %d and 1", len(w.calls), len(w.applied), tc.calls)
			}
			checkFold(t, w)
		})
	}
}

// The last move before the boundary holds. One to the run's own queue ends another.
func TestARunMovesTwice(t *testing.T) {
	for name, tc := range map[string]struct {
		queues []string
		want   string // empty: it stays
	}{
		"to another host":     {[]string{"beta", "gamma"}, "gamma"},
		"back before it left": {[]string{"beta", "alpha"}, ""},
		"to where it is":      {[]string{"alpha"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &fakeActivities{}
			e, in := movable(t, w, run.Never)
			w.during = func(activities.Call) {
				for _, q := range tc.queues {
					e.SignalWorkflow(workflows.MoveMessage, run.Move{Queue: q})
				}
				w.during = nil
			}
			start(e, in)
			if tc.want != "" {
				movedTo(t, e, tc.want)
			} else if err := e.GetWorkflowError(); err != nil {
				t.Errorf("got %v, want that it ends here", err)
			}
		})
	}
}

// A run on a directory refuses to move, and a contest finishes where it began.
func TestMovesThatWait(t *testing.T) {
	w := &fakeActivities{}
	e := env(t, w)
	e.RegisterDelayedCallback(func() { e.SignalWorkflow(workflows.MoveMessage, "beta") }, time.Minute)
	e.RegisterDelayedCallback(func() {
		p := query[run.Pending](t, e, workflows.PendingQuery)
		if !slices.ContainsFunc(p.RefusedSignals, func(r run.RefusedSignal) bool { return r.Signal == workflows.MoveMessage }) {
			t.Errorf("refused are %v, want the move", p.RefusedSignals)
		}
		approveAll(t, e)
	}, time.Hour)
	start(e, input(run.Always, 3))
	if err := e.GetWorkflowError(); err != nil {
		t.Error(err)
	}

	w = &fakeActivities{rivals: map[int][]activities.ProposeResult{1: {asksFor("call-1"), patch("one")}, 2: {patch("two")}}}
	e, in := movable(t, w, run.Never)
	in.Candidates = 2
	e.RegisterDelayedCallback(func() { e.SignalWorkflow(workflows.MoveMessage, run.Move{Queue: "beta"}) }, time.Minute)
	e.RegisterDelayedCallback(func() {
		if p := query[run.Pending](t, e, workflows.PendingQuery); p.Approval == nil || p.Approval.Permission == nil {
			t.Errorf("pending is %+v, want the tool call of the contest", p)
		}
		approveAll(t, e)
	}, time.Hour)
	start(e, in)
	if next := movedTo(t, e, "beta"); next.Snapshot.Next.Do != run.Start {
		t.Errorf("the other host begins at %q, want the start of a phase", next.Snapshot.Next.Do)
	}
}
