package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// cannotRun is the judgement of checks that lack a program.
var cannotRun = activities.Judgement{
	Verdict: run.Blocked, Report: run.Ref{Name: "evaluate"}, Again: true, Failed: []string{"cargo test"},
	Question: &run.Question{Question: "A check cannot run: cargo. How should the run continue?"},
}

// replies has a person say the texts, one to each question, and approve or
// reject each patch as the verdicts say.
func replies(t testing.TB, e *testsuite.TestWorkflowEnvironment, texts []string, verdicts ...run.Verdict) {
	var again func()
	again = func() {
		switch p := query[run.Pending](t, e, workflows.PendingQuery); {
		case p.Question != nil && len(texts) > 0:
			e.SignalWorkflow(workflows.AnswerMessage, run.Reply{QuestionID: p.Question.QuestionID, Text: texts[0], By: "kim"})
			texts = texts[1:]
		case p.Approval != nil && len(verdicts) > 0:
			e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{ApprovalID: p.Approval.ApprovalID, Decision: verdicts[0], Reason: "no", By: "kim"})
			verdicts = verdicts[1:]
		}
		if !e.IsWorkflowCompleted() && len(texts)+len(verdicts) > 0 {
			e.RegisterDelayedCallback(again, time.Second)
		}
	}
	e.RegisterDelayedCallback(again, time.Second)
}

// phases are those that calls and checks were made in, such as "fix 2".
func (w *fakeActivities) phases() (list []string) {
	for _, e := range w.events {
		if e.Type == run.PhaseStartedEvent && e.Phase != run.Ask {
			list = append(list, fmt.Sprintf("%s %d", e.Phase, e.Iteration))
		}
	}
	return list
}

// Finding D3, and rejections: a person is asked only where an answer helps.
func TestAnAnswerAndANoLeadOn(t *testing.T) {
	reject := func(n int) []run.Verdict { return append(slices.Repeat([]run.Verdict{run.Reject}, n), run.Approve) }
	for _, tc := range []struct {
		name           string
		maxFix         int
		fakeActivities *fakeActivities
		judged         bool // by an evaluator, too
		texts          []string
		verdicts       []run.Verdict
		status         run.Status
		phases         string
		fixes          int
	}{
		{"the evaluator asks where no fix is allowed: the answer's fix happens", 0,
			&fakeActivities{judged: []activities.Judgement{blocked, pass}}, true, []string{"blue"}, nil,
			run.Completed, "plan 1, execute 1, evaluate 1, fix 2, evaluate 2", 0},
		{"the only fix is a question: its answer's fix happens", 1,
			&fakeActivities{answers: []activities.ProposeResult{patch("one"), question("which?"), patch("two")}, verdicts: []activities.Judgement{fixable, pass}}, false, []string{"blue"}, nil,
			run.Completed, "plan 1, execute 1, evaluate 1, fix 2, fix 3, evaluate 3", 1},
		{"a check's program is missing and is installed: the check passes, no fixer is paid", 0,
			&fakeActivities{verdicts: []activities.Judgement{cannotRun, pass}}, false, []string{"installed"}, nil,
			run.Completed, "plan 1, execute 1, evaluate 1, evaluate 1", 0},
		{"the check that runs at last fails: that is a fix that nobody asked for", 0,
			&fakeActivities{verdicts: []activities.Judgement{cannotRun, fixable}}, false, []string{"installed"}, nil,
			run.Failed, "plan 1, execute 1, evaluate 1, evaluate 1", 0},
		{"the check still cannot run: it is asked again", 0,
			&fakeActivities{verdicts: []activities.Judgement{cannotRun, cannotRun, pass}}, false, []string{"installed", "now really"}, nil,
			run.Completed, "plan 1, execute 1, evaluate 1, evaluate 1, evaluate 1", 0},
		{"the repository is at fault that a check cannot run: the answer sends the fixer", 0,
			&fakeActivities{verdicts: []activities.Judgement{cannotRun, pass}}, false, []string{"Fix: call go, not gos"}, nil,
			run.Completed, "plan 1, execute 1, evaluate 1, fix 2, evaluate 2", 0},
		{"four rejections with three fixes end no run", 3,
			&fakeActivities{}, false, nil, reject(4),
			run.Completed, "plan 1, execute 1, fix 2, fix 3, fix 4, fix 5, evaluate 5", 0},
		{"a rejection with no fix allowed ends no run", 0,
			&fakeActivities{}, false, nil, reject(1),
			run.Completed, "plan 1, execute 1, fix 2, evaluate 2", 0},
		{"rejections leave the fixes that nobody asks for as they are", 1,
			&fakeActivities{verdicts: []activities.Judgement{fixable}}, false, nil, []run.Verdict{run.Reject, run.Approve, run.Reject, run.Approve},
			run.Failed, "plan 1, execute 1, fix 2, evaluate 2, fix 3, fix 4, evaluate 4", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := tc.fakeActivities
			e := env(t, w)
			replies(t, e, tc.texts, tc.verdicts...)
			in := input(run.Never, tc.maxFix)
			if tc.verdicts != nil {
				in.Policy = run.Always
			}
			if tc.judged {
				in.Providers.Evaluator = "replay:x"
			}
			start(e, in)
			s := query[run.State](t, e, workflows.StateQuery)
			if s.Status != tc.status || s.LastError != nil && s.LastError.Code != "FIX_LIMIT" {
				t.Errorf("%s with %+v, want %s; events %v", s.Status, s.LastError, tc.status, w.types())
			}
			if got := strings.Join(w.phases(), ", "); got != tc.phases {
				t.Errorf("phases %s\nwant   %s", got, tc.phases)
			}
			folded, err := run.Fold(w.events)
			if err != nil || folded.Fixes != tc.fixes {
				t.Errorf("%d fixes counted, want %d; %v", folded.Fixes, tc.fixes, err)
			}
		})
	}
}
