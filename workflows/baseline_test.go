package workflows_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// The checks run on the base commit before the planner is called, once, and make the branch.
func TestTheChecksRunOnTheBaseBeforeAnybodyIsPaid(t *testing.T) {
	w := &fakeActivities{verdicts: []activities.Judgement{fixable, pass}}
	e := env(t, w)
	start(e, input(run.Never, 3))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if len(w.based) != 1 || w.checks != 2 || w.prepared != 0 {
		t.Errorf("%d baselines, %d evaluations, prepared %d times", len(w.based), w.checks, w.prepared)
	}
	in := w.based[0]
	if in.Commit != "b0" || in.Iteration != 0 || in.Evaluation != 1 || in.Before != nil || !slices.Equal(in.Commands, []string{"go test"}) {
		t.Errorf("the baseline is %+v", in)
	}
	plan := w.events[1].Payload.(run.PhaseStarted)
	if plan.Baseline == nil || plan.Baseline.Report != failsAsExpected.Report {
		t.Errorf("the planner's phase starts with %+v", plan.Baseline)
	}
	if len(w.calls) == 0 || w.calls[0].Entry.First() != 2 {
		t.Errorf("the planner is called before the baseline is recorded: %+v", w.calls)
	}
	for _, c := range w.checked {
		if c.Baseline || c.Before == nil || *c.Before != failsAsExpected.Report {
			t.Errorf("an evaluation knows the baseline as %+v", c.Before)
		}
	}
	checkFold(t, w)
}

func TestNoBaseline(t *testing.T) {
	for name, change := range map[string]func(*run.Input){
		"switched off": func(in *run.Input) { in.NoBaseline = true },
		"no checks":    func(in *run.Input) { in.Checks, in.Providers.Evaluator = nil, "replay:x" },
	} {
		t.Run(name, func(t *testing.T) {
			w := &fakeActivities{}
			e := env(t, w)
			in := input(run.Never, 3)
			change(&in)
			start(e, in)
			if err := e.GetWorkflowError(); err != nil || len(w.based) != 0 || w.prepared != 1 {
				t.Errorf("%v, %d baselines, prepared %d times", err, len(w.based), w.prepared)
			}
			if w.checked[0].Before != nil {
				t.Errorf("an evaluation is compared with %+v", w.checked[0].Before)
			}
		})
	}
}

// Whatever the answer to an unknown baseline, no provider is called before it.
func TestAnUnknownBaselineIsAsked(t *testing.T) {
	for _, tc := range []struct {
		answers []string
		status  run.Status
		phases  string
		based   int
	}{
		{[]string{"again"}, run.Completed, "plan 1, plan 1, execute 1, evaluate 1", 2},
		{[]string{"AGAIN ", "without"}, run.Completed, "plan 1, plan 1, plan 1, execute 1, evaluate 1", 2},
		{[]string{"without"}, run.Completed, "plan 1, plan 1, execute 1, evaluate 1", 1},
		{[]string{"stop"}, run.Canceled, "plan 1", 1},
		{[]string{"cancel"}, run.Canceled, "plan 1", 1},
	} {
		t.Run(strings.Join(tc.answers, ", then "), func(t *testing.T) {
			w := &fakeActivities{baselines: []run.Baseline{unknownBase, failsAsExpected}}
			if len(tc.answers) == 2 {
				w.baselines = []run.Baseline{unknownBase}
			}
			e := env(t, w)
			e.RegisterDelayedCallback(func() {
				if len(w.calls) > 0 {
					t.Errorf("%d calls before the answer", len(w.calls))
				}
				q := query[run.Pending](t, e, workflows.PendingQuery).Question
				if q == nil || !strings.Contains(q.Question.Question, "cargo test cannot run") || len(q.Next.Ways()) != 3 {
					t.Errorf("the question is %+v", q)
				}
			}, 500*time.Millisecond)
			replies(t, e, tc.answers)
			start(e, input(run.Never, 0))
			if got := query[run.State](t, e, workflows.StateQuery); got.Status != tc.status {
				t.Fatalf("%+v, %v", got, e.GetWorkflowError())
			}
			if got := strings.Join(w.phases(), ", "); got != tc.phases || len(w.based) != tc.based {
				t.Errorf("phases %s, %d baselines; want %s, %d", got, len(w.based), tc.phases, tc.based)
			}
			if tc.status == run.Canceled {
				end := w.events[len(w.events)-1].Payload.(run.RunCanceled)
				if len(w.calls) != 0 || end.Reason != "the checks could not run on the base commit" {
					t.Errorf("%d providers were called; it ends as %+v", len(w.calls), end)
				}
			}
			for _, g := range w.guidance {
				if len(g) > 0 {
					t.Errorf("a model is told the answer: %+v", g)
				}
			}
			for i, in := range w.based {
				if in.Evaluation != i+1 {
					t.Errorf("baseline %d keeps its report as that of %d", i+1, in.Evaluation)
				}
			}
			checkFold(t, w)
		})
	}
}

// An answer that is none of the three changes nothing.
func TestAnAnswerAboutTheBaselineIsOneOfThree(t *testing.T) {
	w := &fakeActivities{baselines: []run.Baseline{unknownBase, failsAsExpected}}
	e := env(t, w)
	e.RegisterDelayedCallback(func() {
		q := query[run.Pending](t, e, workflows.PendingQuery).Question
		for _, text := range []string{"installed", "fix: it", "withoutt", ""} {
			e.SignalWorkflow(workflows.AnswerMessage, run.Reply{QuestionID: q.QuestionID, Text: text})
		}
	}, time.Second)
	refused := false
	e.RegisterDelayedCallback(func() {
		p := query[run.Pending](t, e, workflows.PendingQuery)
		if refused = p.Status == run.AwaitingInput && len(w.based) == 1; !refused {
			return
		}
		e.SignalWorkflow(workflows.AnswerMessage, run.Reply{QuestionID: p.Question.QuestionID, Text: "again"})
	}, 2*time.Second)
	start(e, input(run.Never, 0))
	if err := e.GetWorkflowError(); err != nil || len(w.based) != 2 || !refused {
		t.Errorf("%v, %d baselines, refused: %v", err, len(w.based), refused)
	}
}

// A box that is missing, and any other error of the activity, is a question before anybody is paid too.
func TestABaselineThatCannotBeRunIsAsked(t *testing.T) {
	for _, tc := range []struct{ kind, answer, asks string }{
		{activities.SandboxError, "mended", "The phase plan could not start: no box"},
		{activities.ArtifactError, "again", "the checks could not be run (Artifact): no box"},
	} {
		w := &fakeActivities{baselineErr: []error{temporal.NewNonRetryableApplicationError("no box", tc.kind, errors.New("x"))}}
		e := env(t, w)
		asked := ""
		e.RegisterDelayedCallback(func() {
			asked = query[run.Pending](t, e, workflows.PendingQuery).Question.Question.Question
		}, 500*time.Millisecond)
		replies(t, e, []string{tc.answer})
		start(e, input(run.Never, 0))
		if err := e.GetWorkflowError(); err != nil || len(w.based) != 1 || len(w.calls) != 2 {
			t.Errorf("%s: %v, %d baselines, %d calls", tc.kind, err, len(w.based), len(w.calls))
		}
		if !strings.Contains(asked, tc.asks) {
			t.Errorf("%s: asked %q", tc.kind, asked)
		}
	}
}

// Whatever runs checks for a run knows whether the caches are read-only.
func TestAllChecksKnowThatTheCachesAreReadOnly(t *testing.T) {
	for _, readOnly := range []bool{true, false} {
		w := &fakeActivities{rivals: map[int][]activities.ProposeResult{1: sized("long", 30), 2: sized("short", 2)}}
		e := env(t, w)
		in := input(run.Never, 0)
		in.Candidates, in.CacheReadOnly = 2, readOnly
		start(e, in)
		if err := e.GetWorkflowError(); err != nil || len(w.based) != 1 || len(w.checked) == 0 || len(w.tried) != 2 {
			t.Fatalf("%v, %d baselines, %d evaluations, %d tried", err, len(w.based), len(w.checked), len(w.tried))
		}
		told := slices.Concat(w.based, w.checked)
		for _, c := range w.tried {
			told = append(told, c.CheckInput)
			if c.Before == nil || *c.Before != failsAsExpected.Report {
				t.Errorf("attempt %d knows the baseline as %+v", c.Candidate, c.Before)
			}
		}
		for _, c := range told {
			if c.CacheReadOnly != readOnly {
				t.Errorf("want %v for the checks on %s (baseline %v)", readOnly, c.Commit, c.Baseline)
			}
		}
	}
}

// A run that is resumed from its record has its baseline from there; one that was lost before has it run.
func TestAResumedRunRepeatsNoBaseline(t *testing.T) {
	in := input(run.Never, 0)
	created := run.RunCreated{Input: in, Branch: in.RunID.Branch(), Format: run.Format}
	for _, tc := range []struct {
		name   string
		events []run.Payload
		based  int
	}{
		{"after the baseline", []run.Payload{created, run.PhaseStarted{Role: run.Planner, Baseline: &failsAsExpected}}, 0},
		{"before it", []run.Payload{created}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := run.New(in)
			w := &fakeActivities{}
			for _, p := range tc.events {
				e := s.Event(time.Unix(0, 0), p)
				if err := s.Apply(e); err != nil {
					t.Fatal(err)
				}
				w.events = append(w.events, e)
			}
			e := env(t, w)
			e.ExecuteWorkflow(workflows.Run, workflows.RunInput{Snapshot: s})
			if err := e.GetWorkflowError(); err != nil || len(w.based) != tc.based || w.prepared != 1-tc.based {
				t.Errorf("%v, %d baselines, prepared %d times", err, len(w.based), w.prepared)
			}
			checkFold(t, w)
		})
	}
}
