package activities_test

import (
	"errors"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
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
