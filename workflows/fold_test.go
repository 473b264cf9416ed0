package workflows_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/workflows"
)

// TestTheRecordRebuildsTheRun plays random runs: whatever providers, checks
// and people do, the events on disk fold to what the workflow says of itself,
// at every wait, at every continue-as-new and at the end.
func TestTheRecordRebuildsTheRun(t *testing.T) {
	need.Checks(t, 30, 500)
	var waits, cuts int
	rapid.Check(t, func(rt *rapid.T) {
		w := randomActivities(rt)
		in := input(rapid.SampledFrom([]run.Policy{run.Always, run.Risky, run.Never}).Draw(rt, "policy"), rapid.IntRange(0, 3).Draw(rt, "fixes"))
		in.MaxTokens = rapid.SampledFrom([]int64{0, 0, 1500}).Draw(rt, "budget")
		if rapid.Bool().Draw(rt, "evaluator") {
			in.Providers.Evaluator = "replay:x"
		}
		in.Timeouts = run.Limit{Approval: time.Hour, Answer: time.Hour}
		next := workflows.RunInput{Input: &in}
		for range 50 {
			e := env(t, w)
			e.SetContinueAsNewSuggested(rapid.IntRange(0, 3).Draw(rt, "long") == 0)
			crowd(rt, t, e, w, &waits)
			e.ExecuteWorkflow(workflows.Run, next)
			var again *workflow.ContinueAsNewError
			if !errors.As(e.GetWorkflowError(), &again) {
				rebuilt(rt, t, e, w)
				return
			}
			cuts++
			next = workflows.RunInput{}
			if err := payload(again, &next); err != nil {
				rt.Fatal(err)
			}
			if got, want := text(rt, folded(rt, w, next.Snapshot.Notes)), text(rt, next.Snapshot); got != want {
				rt.Fatalf("the record folds to\n%s\nthe workflow goes on with\n%s", got, want)
			}
		}
		rt.Fatal("it continues as new for ever")
	})
	if waits == 0 || cuts == 0 {
		t.Errorf("%d waits, %d continuations: the test proves nothing", waits, cuts)
	}
}

func randomActivities(rt *rapid.T) *fakeActivities {
	w := &fakeActivities{}
	answers := []activities.ProposeResult{patch("one"), patch("two", "deletes a file"), costly(patch("three")), question("which?"), garbage(), noop(), unplaced()}
	w.answers = rapid.SliceOfN(rapid.SampledFrom(answers), 1, 5).Draw(rt, "answers")
	verdicts := rapid.SliceOfN(rapid.SampledFrom([]activities.Judgement{pass, fixable, blocked, cannotRun}), 1, 4)
	w.verdicts, w.judged = verdicts.Draw(rt, "checks"), verdicts.Draw(rt, "evaluations")
	for range rapid.IntRange(0, 2).Draw(rt, "failures") {
		w.planErr = append(w.planErr, errAuth)
	}
	if rapid.Bool().Draw(rt, "conflict") {
		w.refuse = []*run.Problem{{Code: "CONFLICT", Message: "branch moved"}}
	}
	return w
}

// crowd says something to the run every minute.
func crowd(rt *rapid.T, t *testing.T, e *testsuite.TestWorkflowEnvironment, w *fakeActivities, waits *int) {
	moves := rapid.SliceOfN(rapid.SampledFrom([]string{"go on", "go on", "go on", "reject", "reject finally", "note", "cancel", "nothing"}), 1, 12).Draw(rt, "moves")
	for i, move := range moves {
		e.RegisterDelayedCallback(func() {
			p := query[run.Pending](t, e, workflows.PendingQuery)
			if p.Status.Waiting() {
				*waits++
				rebuilt(rt, t, e, w)
			}
			speak(e, p, move, i)
		}, time.Duration(i+1)*time.Minute)
	}
}

func speak(e *testsuite.TestWorkflowEnvironment, p run.Pending, move string, n int) {
	switch {
	case move == "note":
		e.SignalWorkflow(workflows.NoteMessage, run.Note{Text: fmt.Sprint("note ", n)})
	case move == "cancel":
		e.CancelWorkflow()
	case move == "nothing":
	case p.Question != nil:
		text := "9000"
		if p.Question.Next.Fix != "" && n%2 == 0 {
			text = run.FixWord + " " + text
		}
		e.SignalWorkflow(workflows.AnswerMessage, run.Reply{QuestionID: p.Question.QuestionID, Text: text, Values: map[string]any{"n": float64(n)}})
	case p.Approval != nil && move == "go on":
		e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{ApprovalID: p.Approval.ApprovalID, Decision: run.Approve})
	case p.Approval != nil:
		e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{
			ApprovalID: p.Approval.ApprovalID, Decision: run.Reject, Reason: "too big", Final: move == "reject finally",
		})
	}
}

// rebuilt compares what the record folds to with what the run answers.
func rebuilt(rt *rapid.T, t *testing.T, e *testsuite.TestWorkflowEnvironment, w *fakeActivities) {
	facts := query[rundir.Facts](t, e, workflows.FactsQuery)
	s := folded(rt, w, facts.Notes)
	for name, pair := range map[string][2]any{
		workflows.StateQuery:   {s.State, query[run.State](t, e, workflows.StateQuery)},
		workflows.PendingQuery: {s.Pending(), query[run.Pending](t, e, workflows.PendingQuery)},
		workflows.FactsQuery:   {rundir.FactsOf(s), facts},
	} {
		if got, want := text(rt, pair[0]), text(rt, pair[1]); got != want {
			rt.Fatalf("%s folds to\n%s\nthe workflow says\n%s", name, got, want)
		}
	}
}

func folded(rt *rapid.T, w *fakeActivities, notes []run.Note) *run.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := run.Fold(w.events)
	if err != nil {
		rt.Fatal(err)
	}
	s.Notes = notes // no event tells of them until a prompt carries them
	return s
}

func text(rt *rapid.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		rt.Fatal(err)
	}
	return string(b)
}
