package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// decideAll settles what is pending, one decision after the other.
func decideAll(t *testing.T, w *fakeActivities, in run.Input, decisions ...run.Decision) []run.Pending {
	t.Helper()
	e := env(t, w)
	var met []run.Pending
	for i, d := range decisions {
		e.RegisterDelayedCallback(func() {
			p := query[run.Pending](t, e, workflows.PendingQuery)
			met = append(met, p)
			if p.Approval == nil {
				t.Errorf("nothing is pending at decision %d", i+1)
				return
			}
			d.ApprovalID = p.Approval.ApprovalID
			e.SignalWorkflow(workflows.ApprovalMessage, d)
		}, time.Duration(i+1)*time.Minute)
	}
	start(e, in)
	if err := e.GetWorkflowError(); err != nil && w.state.Status != run.Canceled {
		t.Fatal(err)
	}
	checkFold(t, w)
	return met
}

func TestPermissionIsAskedAndTheSameCallGoesOn(t *testing.T) {
	w := &fakeActivities{answers: []activities.ProposeResult{asksFor("call-1"), asksFor("call-2"), asksFor("call-3"), patch("one")}}
	met := decideAll(t, w, input(run.Never, 3),
		run.Decision{Decision: run.Approve, By: "kim"},
		run.Decision{Decision: run.Reject, Reason: "no network here"},
		run.Decision{Decision: run.Approve, Session: true})
	if w.state.Status != run.Completed {
		t.Fatalf("the run is %s", w.state.Status)
	}
	a := met[0].Approval
	if a.Permission == nil || a.Permission.Tool != "Bash" || a.Summary != "Bash: go test ./..." || len(a.Commands) != 3 {
		t.Errorf("pending was %+v", a)
	}
	last := w.calls[len(w.calls)-1]
	if len(w.calls) != 5 || last.Artifact("raw.txt") != w.calls[1].Artifact("raw.txt") {
		t.Errorf("%d calls, the last is %s and the first was %s", len(w.calls), last.Artifact("raw.txt"), w.calls[1].Artifact("raw.txt"))
	}
	want := []run.Permit{
		{CallID: "call-1", Tool: "Bash", Digest: run.DigestOf([]byte("call-1")), Allow: true, Slot: "developer"},
		{CallID: "call-2", Tool: "Bash", Digest: run.DigestOf([]byte("call-2")), Reason: "no network here", Slot: "developer"},
		{CallID: "call-3", Tool: "Bash", Digest: run.DigestOf([]byte("call-3")), Allow: true, Session: true, Slot: "developer"},
	}
	if !slices.Equal(last.Permits, want) {
		t.Errorf("the last call has the permits\n%+v, want\n%+v", last.Permits, want)
	}
	if got := w.state.Iteration; got != 1 {
		t.Errorf("iteration %d: a permission is no fix", got)
	}
}

func TestPermitForTheSessionLastsForTheFixerWhoGoesOnWithIt(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*run.Input)
		slot   string
		permit int
	}{
		"the same provider":      {func(*run.Input) {}, "developer", 1},
		"a fresh fixer":          {func(in *run.Input) { in.FreshFixer = true }, "fixer", 0},
		"another provider":       {func(in *run.Input) { in.Providers.Fixer = "replay:y" }, "fixer", 0},
		"one call, not for ever": {func(in *run.Input) { in.Tools = "" }, "developer", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := &fakeActivities{
				answers:  []activities.ProposeResult{asksFor("call-1"), asksFor("call-2"), patch("one"), patch("two")},
				verdicts: []activities.Judgement{fixable, pass},
			}
			in := input(run.Never, 3)
			tc.change(&in)
			decideAll(t, w, in, run.Decision{Decision: run.Approve}, run.Decision{Decision: run.Approve, Session: true})
			fix := w.calls[len(w.calls)-1]
			if fix.Phase != run.Fix || fix.Slot != tc.slot || len(fix.Permits) != tc.permit {
				t.Errorf("the fix has slot %s with permits %+v", fix.Slot, fix.Permits)
			}
		})
	}
}

func TestUsageLimitIsWaitedOutVisibly(t *testing.T) {
	w := &fakeActivities{}
	e := env(t, w)
	until := e.Now().Add(3 * time.Hour)
	w.answers = []activities.ProposeResult{
		{Halt: &run.Halt{Limited: &run.Limited{Until: until, Provider: "replay:x", Reason: "5-hour limit"}}}, patch("one"),
	}
	var met run.Pending
	var calls int
	e.RegisterDelayedCallback(func() {
		met, calls = query[run.Pending](t, e, workflows.PendingQuery), len(w.calls)
	}, 2*time.Hour)
	start(e, input(run.Never, 3))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if met.Limited == nil || !met.Limited.Until.Equal(until) || met.Status != run.Running {
		t.Errorf("while it waits: %+v", met)
	}
	if calls != 2 || len(w.calls) != 3 {
		t.Errorf("%d calls before the limit ends, %d in all", calls, len(w.calls))
	}
	if w.events[len(w.events)-1].TS.Before(until) {
		t.Error("the run went on before the limit ended")
	}
	checkFold(t, w)
}

func TestBudgetUsedUpInACallIsRaisedOrStopsTheRun(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*run.Input)
		used   run.Usage
		answer string
		status run.Status
		calls  int
	}{
		"tokens raised":  {func(in *run.Input) { in.MaxTokens = 100 }, run.Usage{TotalTokens: 150}, "1000", run.Completed, 3},
		"dollars raised": {func(in *run.Input) { in.MaxCost = run.Dollars(0.5) }, run.Usage{Cost: run.Dollars(0.6)}, "$2", run.Completed, 3},
		"stopped":        {func(in *run.Input) { in.MaxCost = run.Dollars(0.5) }, run.Usage{Cost: run.Dollars(0.6)}, "Stop", run.Canceled, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := &fakeActivities{answers: []activities.ProposeResult{{Halt: &run.Halt{Exhausted: true}, Usage: tc.used}, patch("one")}}
			in := input(run.Never, 3)
			tc.change(&in)
			e := env(t, w)
			e.RegisterDelayedCallback(func() {
				q := query[run.Pending](t, e, workflows.PendingQuery).Question
				if q == nil {
					t.Error("nobody is asked")
					return
				}
				e.SignalWorkflow(workflows.AnswerMessage, run.Reply{QuestionID: q.QuestionID, Text: "lots"}) // dropped
				e.SignalWorkflow(workflows.AnswerMessage, run.Reply{QuestionID: q.QuestionID, Text: tc.answer})
			}, time.Minute)
			start(e, in)
			if w.state.Status != tc.status || len(w.calls) != tc.calls {
				t.Errorf("the run is %s after %d calls: %v", w.state.Status, len(w.calls), e.GetWorkflowError())
			}
			checkFold(t, w)
		})
	}
}
