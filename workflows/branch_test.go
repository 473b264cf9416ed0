package workflows_test

import (
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// Finding B1: a run completes once its branch is known to be at its head.
func TestTheBranchIsLookedAtBeforeTheEnd(t *testing.T) {
	w := &fakeActivities{restored: &run.Restored{From: "dddd", To: "c1", Was: "it was moved"}}
	e := env(t, w)
	start(e, input(run.Never, 0))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if len(w.ended) != 1 || w.ended[0].Head != "c1" {
		t.Fatalf("looked for %+v", w.ended)
	}
	last, ok := w.events[len(w.events)-1].Payload.(run.RunCompleted)
	if !ok || last.Restored == nil || *last.Restored != *w.restored {
		t.Errorf("the run ends with %+v", w.events[len(w.events)-1])
	}
	checkFold(t, w)
}

func TestABranchThatCannotBePutBackFailsTheRun(t *testing.T) {
	w := &fakeActivities{branchErr: []error{errRepository("object is missing")}}
	e := env(t, w)
	start(e, input(run.Never, 0))
	s := query[run.State](t, e, workflows.StateQuery)
	if s.Status != run.Failed || s.LastError.Code != run.CodeRepository || w.cleaned != 1 {
		t.Errorf("%s, %+v, cleaned up %d times", s.Status, s.LastError, w.cleaned)
	}
}

func errRepository(message string) error {
	return temporal.NewNonRetryableApplicationError(message, activities.RepositoryError, nil)
}

// Finding B14: what the repository lacks becomes a question, wherever it is
// missed; the step is made again after the answer.
func TestWhatTheRepositoryLacksIsAsked(t *testing.T) {
	lacks := []error{errRepository("object f00 is missing")}
	for _, tc := range []struct {
		name           string
		fakeActivities *fakeActivities
		phases         string
		calls          int // of providers
	}{
		{"while the checks run on the base commit: nobody is paid", &fakeActivities{baselineErr: lacks}, "plan 1, plan 1, execute 1, evaluate 1", 2},
		{"while the branch is made: no developer is paid", &fakeActivities{prepareErr: lacks}, "plan 1, execute 1, execute 1, evaluate 1", 2},
		{"while the planner is asked", &fakeActivities{planErr: slices.Clone(lacks)}, "plan 1, plan 1, execute 1, evaluate 1", 3},
		{"while the checks are run", &fakeActivities{checkErr: lacks}, "plan 1, execute 1, evaluate 1, evaluate 1", 2},
		{"while the patch is applied", &fakeActivities{applyErr: lacks}, "plan 1, execute 1, execute 1, evaluate 1", 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := tc.fakeActivities
			e := env(t, w)
			replies(t, e, []string{"it is mended"})
			in := input(run.Never, 0)
			in.NoBaseline = w.prepareErr != nil // else the checks on the base commit make them
			start(e, in)
			if err := e.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(w.phases(), ", "); got != tc.phases {
				t.Errorf("phases %s\nwant   %s", got, tc.phases)
			}
			if len(w.calls) != tc.calls {
				t.Errorf("%d calls, want %d", len(w.calls), tc.calls)
			}
			asked := false
			for _, e := range w.events {
				if q, ok := e.Payload.(run.QuestionRaised); ok {
					asked = strings.Contains(q.Question.Question, "f00") && !strings.Contains(q.Question.Question, "replay:x")
				}
			}
			if !asked || !contains(w.types(), run.QuestionAnsweredEvent, run.RunCompletedEvent) {
				t.Errorf("asked: %t; %v", asked, w.types())
			}
			checkFold(t, w)
		})
	}
}

// The branch was put back before the checks, and the evaluation does not end with a verdict: an event tells of it once.
func TestABranchThatWasMovedIsToldHoweverTheEvaluationEnds(t *testing.T) {
	over := activities.Judgement{Halt: &activities.Halt{Exhausted: true}}
	for name, tc := range map[string]struct {
		judged   []activities.Judgement
		judgeErr []error
		told     run.EventType
	}{
		"the evaluator fails":   {nil, []error{errAuth}, run.PhaseFailedEvent},
		"its budget is used up": {[]activities.Judgement{over, pass}, nil, run.PhaseFailedEvent},
		"it judges":             {nil, nil, run.EvaluationPassedEvent},
	} {
		t.Run(name, func(t *testing.T) {
			moved := pass
			moved.Restored = &run.Restored{From: "dddd", To: "c1", Was: "it was moved"}
			w := &fakeActivities{verdicts: []activities.Judgement{moved, pass}, judged: tc.judged, judgeErr: tc.judgeErr}
			in := input(run.Never, 0)
			in.Providers.Evaluator, in.MaxTokens = "replay:x", 100
			e := env(t, w)
			replies(t, e, []string{"1000"})
			start(e, in)
			if err := e.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			if got := w.toldRestored(); !slices.Equal(got, []run.EventType{tc.told}) {
				t.Errorf("told by %v, want %s", got, tc.told)
			}
			if s, err := run.Fold(w.events); err != nil || s.Restored == nil || *s.Restored != *moved.Restored {
				t.Errorf("the run knows %+v, %v", s.Restored, err)
			}
		})
	}
}

// toldRestored returns the types of the events of evaluations that tell of a branch that was moved.
func (w *fakeActivities) toldRestored() (types []run.EventType) {
	for _, e := range w.events {
		var r *run.Restored
		switch p := e.Payload.(type) {
		case run.PhaseFailed:
			r = p.Restored
		case run.EvaluationPassed:
			r = p.Restored
		}
		if r != nil {
			types = append(types, e.Type)
		}
	}
	return types
}
