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

// A run that completes tells where something else has moved its branch.
func TestTheBranchIsLookedAtBeforeTheEnd(t *testing.T) {
	w := &fakeActivities{moved: "it was moved"}
	e := env(t, w)
	start(e, input(run.Never, 0))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if len(w.ended) != 1 || w.ended[0].Head != "c1" {
		t.Fatalf("looked for %+v", w.ended)
	}
	last, ok := w.events[len(w.events)-1].Payload.(run.RunCompleted)
	if !ok || last.Moved != w.moved {
		t.Errorf("the run ends with %+v", w.events[len(w.events)-1])
	}
	checkFold(t, w)
}

func TestABranchThatCannotBeReadFailsTheRun(t *testing.T) {
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
