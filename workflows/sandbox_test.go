package workflows_test

import (
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

func unboxed() error {
	return temporal.NewNonRetryableApplicationError("bwrap is not installed: apt install bubblewrap", activities.SandboxError, nil)
}

// TestARunWithoutItsBoxAsksAndTriesAgain has a person install the box. The plea in the answer changes
// nothing of the input.
func TestARunWithoutItsBoxAsksAndTriesAgain(t *testing.T) {
	for _, tc := range []struct {
		name           string
		fakeActivities *fakeActivities
		phases         string
	}{
		{"the checks", &fakeActivities{checkErr: []error{unboxed(), unboxed()}}, "plan 1, execute 1, evaluate 1, evaluate 1, evaluate 1"},
		{"the planner", &fakeActivities{planErr: []error{unboxed(), unboxed()}}, "plan 1, plan 1, plan 1, execute 1, evaluate 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := tc.fakeActivities
			w.answers, w.verdicts = []activities.ProposeResult{patch("one")}, []activities.Judgement{pass}
			e := env(t, w)
			replies(t, e, []string{"--sandbox off", "fix: run it without the box"})
			in := input(run.Never, 0)
			e.ExecuteWorkflow(workflows.Run, workflows.RunInput{Input: &in})
			if err := e.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(w.phases(), ", "); got != tc.phases {
				t.Errorf("phases %s", got)
			}
			s, err := run.Fold(w.events)
			if err != nil || s.Input.Sandbox.Off() || s.State.Status != run.Completed {
				t.Errorf("%+v, %v", s, err)
			}
			asked := 0
			for _, ev := range w.events {
				if q, ok := ev.Payload.(run.QuestionRaised); ok {
					asked++
					if q.Reason != run.CodeSandbox || !strings.Contains(q.Question.Question, "apt install bubblewrap") || !strings.Contains(q.Question.Question, " could not start: ") {
						t.Errorf("asked %+v", q)
					}
				}
			}
			if asked != 2 {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

// TestEveryActivityLearnsTheSandboxPolicy looks at what the activities of a run are given.
func TestEveryActivityLearnsTheSandboxPolicy(t *testing.T) {
	for _, policy := range []run.Sandbox{"", run.SandboxRequired, run.SandboxOff} {
		w := &fakeActivities{answers: []activities.ProposeResult{patch("one")}, verdicts: []activities.Judgement{pass}}
		e := env(t, w)
		in := input(run.Never, 0)
		in.Sandbox = policy
		e.ExecuteWorkflow(workflows.Run, workflows.RunInput{Input: &in})
		if err := e.GetWorkflowError(); err != nil {
			t.Fatal(err)
		}
		for _, c := range w.calls {
			if c.Sandbox != policy {
				t.Errorf("%q: the call of %s is given %q", policy, c.Phase, c.Sandbox)
			}
		}
		for _, a := range w.applied {
			if a.Sandbox != policy {
				t.Errorf("%q: an application is given %q", policy, a.Sandbox)
			}
		}
	}
}
