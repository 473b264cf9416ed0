package workflows_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Without a planner nobody is asked for a plan, and the run goes on with the developer.
func TestNoPlanner(t *testing.T) {
	w := &fakeActivities{}
	e := env(t, w)
	in := input(run.Never, 3)
	in.Providers.Planner, in.NoBaseline = run.NoPlanner, true
	start(e, in)
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	for _, c := range w.calls {
		if c.Phase == run.Plan {
			t.Errorf("got a call for the plan: %+v", c)
		}
	}
	if len(w.calls) == 0 || w.calls[0].Phase != run.Execute {
		t.Errorf("got calls %+v, want the developer's first", w.calls)
	}
}
