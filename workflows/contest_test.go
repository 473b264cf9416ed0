package workflows_test

import (
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// sized is a patch of n lines.
func sized(name string, n int) []activities.ProposeResult {
	p := patch(name)
	p.Proposal.Stat.Added = n
	p.Usage = run.Usage{TotalTokens: 10}
	return []activities.ProposeResult{p}
}

func contest(n int) run.Input {
	in := input(run.Always, 3)
	in.Candidates = n
	in.Providers.Rivals = []string{"replay:y"}
	return in
}

func TestBestOfSeveralAttemptsIsPutForward(t *testing.T) {
	w := &fakeActivities{
		rivals:  map[int][]activities.ProposeResult{1: sized("long", 30), 2: sized("short", 2), 3: sized("wrong", 1)},
		failing: map[int]bool{3: true},
	}
	met := decideAll(t, w, contest(3), run.Decision{Decision: run.Approve})
	a := met[0].Approval
	if a.Summary != "short" || a.Candidate != 2 || len(a.Choices) != 1 || a.Choices[0].Summary != "long" || a.Choices[0].Provider != "replay:x" {
		t.Errorf("the gate shows %+v", a)
	}
	if len(w.applied) != 1 || w.applied[0].Message != "short" || len(w.tried) != 3 {
		t.Errorf("%d attempts tried, applied %+v", len(w.tried), w.applied)
	}
	facts, err := run.Fold(w.events)
	if err != nil || facts.Usage.TotalTokens != 30 {
		t.Errorf("usage %+v, %v: all attempts count", facts.Usage, err)
	}
}

func TestAnotherAttemptMayBeChosenByItsOwnID(t *testing.T) {
	w := &fakeActivities{
		rivals:   map[int][]activities.ProposeResult{1: sized("long", 30), 2: sized("short", 2)},
		verdicts: []activities.Judgement{fixable, pass}, answers: []activities.ProposeResult{patch("fix")},
	}
	in := contest(2)
	e := env(t, w)
	e.RegisterDelayedCallback(func() {
		a := query[run.Pending](t, e, workflows.PendingQuery).Approval
		choice := a.Choices[0].ApprovalID
		e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{ApprovalID: choice, Decision: run.Reject}) // refuses nothing
		e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{ApprovalID: choice, Decision: run.Approve})
	}, time.Minute)
	e.RegisterDelayedCallback(func() {
		a := query[run.Pending](t, e, workflows.PendingQuery).Approval
		e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{ApprovalID: a.ApprovalID, Decision: run.Approve})
	}, 2*time.Minute)
	start(e, in)
	if w.state.Status != run.Completed || w.applied[0].Message != "long" {
		t.Fatalf("the run is %s, applied %+v", w.state.Status, w.applied)
	}
	if fix := w.calls[len(w.calls)-1]; fix.Phase != run.Fix || fix.Slot != "developer" {
		t.Errorf("the fix goes on in %s: the first attempt was chosen, and the fixer is the same provider", fix.Slot)
	}
	checkFold(t, w)
}

func TestAttemptsWithoutAPatchLose(t *testing.T) {
	for name, tc := range map[string]struct {
		rivals map[int][]activities.ProposeResult
		want   []run.EventType
	}{
		"one asks, the other has a patch": {
			map[int][]activities.ProposeResult{1: {question("which?")}, 2: sized("short", 2)},
			[]run.EventType{"PATCH_PRODUCED", "APPROVAL_REQUESTED", "PATCH_APPLIED", "RUN_COMPLETED"}},
		"one does not apply": {
			map[int][]activities.ProposeResult{1: {unplaced()}, 2: sized("short", 2)},
			[]run.EventType{"PATCH_PRODUCED", "APPROVAL_REQUESTED", "PATCH_APPLIED", "RUN_COMPLETED"}},
		"nobody has one": {
			map[int][]activities.ProposeResult{1: {noop()}, 2: {garbage()}},
			[]run.EventType{"PHASE_COMPLETED", "EVALUATION_PASSED", "RUN_COMPLETED"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &fakeActivities{rivals: tc.rivals}
			e := env(t, w)
			approveAll(t, e)
			start(e, contest(2))
			if !contains(w.types(), tc.want...) {
				t.Errorf("events %v lack %v", w.types(), tc.want)
			}
			checkFold(t, w)
		})
	}
}

func TestAttemptThatAsksForAPermissionIsGoneOnWith(t *testing.T) {
	w := &fakeActivities{rivals: map[int][]activities.ProposeResult{
		1: sized("long", 30),
		2: {attemptAsks(2, "call-1"), sized("short", 2)[0]},
	}}
	met := decideAll(t, w, contest(2), run.Decision{Decision: run.Approve}, run.Decision{Decision: run.Approve})
	if met[0].Approval.Permission == nil || met[1].Approval.Summary != "short" {
		t.Errorf("first %+v, then %+v", met[0].Approval, met[1].Approval)
	}
	for _, c := range w.calls {
		if want := c.Candidate == 2 && len(c.Permits) > 0; c.Candidate == 1 && len(c.Permits) > 0 || want && c.Slot != "developer-2" {
			t.Errorf("attempt %d in %s has the permits %+v", c.Candidate, c.Slot, c.Permits)
		}
	}
}
