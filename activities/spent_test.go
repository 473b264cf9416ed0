package activities_test

import (
	"errors"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// The workflow reads which events the record lacks from the error of whatever activity tells it.
func TestARecordThatIsBehindIsToldByEachCall(t *testing.T) {
	for name, act := range map[string]func(*fixture, activities.Call) error{
		"Plan":    func(s *fixture, c activities.Call) error { return fail(s, s.acts.Plan, c) },
		"Propose": func(s *fixture, c activities.Call) error { return fail(s, s.acts.Propose, c) },
		"Judge": func(s *fixture, c activities.Call) error {
			return fail(s, s.acts.Judge, activities.JudgeInput{Call: c})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			c := s.call(run.Evaluate)
			c.Entry.Events = c.Entry.Events[2:]
			app, ok := errors.AsType[*temporal.ApplicationError](act(s, c))
			if !ok || app.Type() != activities.BehindError {
				t.Fatalf("got %v", app)
			}
			last := -1
			if err := app.Details(&last); err != nil || last != 0 {
				t.Errorf("the last event is %d, %v", last, err)
			}
		})
	}
}

// What follows a kept answer does not fit on the disk: the last of such errors tells what the answer was paid.
func TestAnErrorAfterTheAnswerTellsItsUsage(t *testing.T) {
	paid := func(text string) provider.Response {
		return provider.Response{RawText: text, FinishReason: provider.Stop, Usage: &run.Usage{TotalTokens: 1000}}
	}
	for name, act := range map[string]func(*fixture) error{
		"the plan": func(s *fixture) error {
			s.provider.responds(paid("# plan"), nil)
			c := s.call(run.Plan)
			s.block(c.Artifact("md"))
			return fail(s, s.acts.Plan, c)
		},
		"the patch": func(s *fixture) error {
			s.provider.responds(paid(patching(appending)), nil)
			c := s.call(run.Execute)
			s.block(c.Artifact("patch"))
			return fail(s, s.acts.Propose, c)
		},
		"the verdict": func(s *fixture) error {
			s.provider.responds(paid("DECISION: PASS"), nil)
			in := s.judging(1)
			s.block(in.Artifact("judged.json"))
			return fail(s, s.acts.Judge, in)
		},
		"no verdict": func(s *fixture) error {
			s.provider.responds(provider.Response{RawText: "hm", FinishReason: provider.Stop, Usage: &run.Usage{TotalTokens: 500}}, nil)
			in := s.judging(1)
			s.block(in.Artifact("judged.json"))
			return fail(s, s.acts.Judge, in)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.prepare()
			app, ok := errors.AsType[*temporal.ApplicationError](act(s))
			if !ok || app.NonRetryable() {
				t.Fatalf("got %v", app)
			}
			if used := spentOf(t, app); used.TotalTokens != 1000 {
				t.Errorf("%v: it tells %+v", app, used)
			}
		})
	}
}
