package workflows_test

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// using is the answer of a call that has used so many tokens by then.
func using(out activities.ProposeResult, tokens int64) activities.ProposeResult {
	out.Usage = run.Usage{TotalTokens: tokens, Cost: run.Micros(tokens)}
	return out
}

// stopped is the error of a call that was canceled after so many tokens.
func stopped(tokens int64) error {
	return temporal.NewCanceledError(run.Usage{TotalTokens: tokens, Cost: run.Micros(tokens)})
}

// atMinutes does one thing after the other, a minute apart.
func atMinutes(t *testing.T, w *fakeActivities, in run.Input, things ...func(p run.Pending) any) error {
	t.Helper()
	e := env(t, w)
	for i, do := range things {
		e.RegisterDelayedCallback(func() {
			p := query[run.Pending](t, e, workflows.PendingQuery)
			switch m := do(p).(type) {
			case run.Decision:
				m.ApprovalID = p.Approval.ApprovalID
				e.SignalWorkflow(workflows.ApprovalMessage, m)
			case nil:
				e.CancelWorkflow()
			}
		}, time.Duration(i+1)*time.Minute)
	}
	start(e, in)
	return e.GetWorkflowError()
}

func approves(run.Pending) any { return run.Decision{Decision: run.Approve} }
func ends(run.Pending) any     { return run.Decision{Decision: run.Reject, Final: true} }
func cancels(run.Pending) any  { return nil }

// However a run ends before the event of a call, its last event tells what the call has used, and nothing counts twice.
func TestTheEndOfARunTellsWhatNoEventHasTold(t *testing.T) {
	once := func(out ...activities.ProposeResult) *fakeActivities { return &fakeActivities{answers: out} }
	asks := func(call string, tokens int64) activities.ProposeResult { return using(asksFor(call), tokens) }
	for _, tc := range []struct {
		name       string
		w          *fakeActivities
		things     []func(run.Pending) any
		last, sum  int64 // told by the last event; by all
		candidates int
	}{
		{"a tool is refused for good", once(asks("1", 900)), []func(run.Pending) any{ends}, 900, 900, 0},
		{"nobody decides on the tool in time", once(asks("1", 900)), nil, 900, 900, 0},
		{"it is canceled while a tool waits", once(asks("1", 900)), []func(run.Pending) any{cancels}, 900, 900, 0},
		{"the second request tells the sum", once(asks("1", 900), asks("2", 1000)), []func(run.Pending) any{approves, ends}, 1000, 1000, 0},
		{"the answer tells all that its requests have", once(asks("1", 900), using(patch("one"), 1000)), []func(run.Pending) any{approves, ends}, 0, 1000, 0},
		{"it is canceled while a usage limit is waited out", once(using(limited(24*time.Hour), 900)), []func(run.Pending) any{cancels}, 900, 900, 0},
		{"a call is canceled", &fakeActivities{planErr: []error{stopped(900)}}, nil, 900, 900, 0},
		{"a call is canceled that knows of nothing", &fakeActivities{planErr: []error{temporal.NewCanceledError()}}, nil, 0, 0, 0},
		{"the evaluator is canceled after the developer has answered", &fakeActivities{
			answers: []activities.ProposeResult{using(patch("one"), 1000)}, judgeErr: []error{stopped(900)},
		}, []func(run.Pending) any{approves}, 900, 1900, 0},
		{"one attempt has answered, the other's tool is refused for good", &fakeActivities{rivals: map[int][]activities.ProposeResult{
			1: {using(patch("one"), 500)}, 2: {using(attemptAsks(2, "1"), 400)},
		}}, []func(run.Pending) any{ends}, 900, 900, 2},
		{"both attempts have answered", &fakeActivities{rivals: map[int][]activities.ProposeResult{
			1: {using(patch("one"), 500)}, 2: {using(attemptAsks(2, "1"), 400), using(patch("two"), 450)},
		}}, []func(run.Pending) any{approves, ends}, 0, 950, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := input(run.Always, 3)
			in.Candidates, in.Timeouts.Approval, in.Providers.Evaluator = tc.candidates, time.Hour, "replay:e"
			if err := atMinutes(t, tc.w, in, tc.things...); !temporal.IsCanceledError(err) {
				t.Fatal(err)
			}
			last, ok := tc.w.events[len(tc.w.events)-1].Payload.(run.RunCanceled)
			if got := last.Usage; !ok || (got == nil) != (tc.last == 0) || got != nil && got.TotalTokens != tc.last {
				t.Errorf("the last event is %+v, told %+v, want %d", last, got, tc.last)
			}
			s, err := run.Fold(tc.w.events)
			if err != nil || s.Usage.TotalTokens != tc.sum || s.Usage.Cost != run.Micros(tc.sum) {
				t.Errorf("all events tell %+v, %v, want %d", s.Usage, err, tc.sum)
			}
		})
	}
}

// What a call has used that waits for a person is known to the execution that continues the run.
func TestWhatNoEventHasToldIsCarried(t *testing.T) {
	for name, tc := range map[string]struct {
		decision run.Verdict
		final    bool
		sum      int64
	}{
		"the run ends without another call":    {run.Reject, true, 900},
		"the same call goes on, and tells all": {run.Approve, false, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			w := &fakeActivities{answers: []activities.ProposeResult{using(asksFor("1"), 900), using(patch("one"), 1000)}}
			e := env(t, w)
			e.RegisterDelayedCallback(func() { e.SetContinueAsNewSuggested(true) }, time.Minute)
			start(e, input(run.Never, 3))
			var next *workflow.ContinueAsNewError
			in := workflows.RunInput{}
			if !errors.As(e.GetWorkflowError(), &next) || payload(next, &in) != nil {
				t.Fatalf("it did not continue as new: %v", e.GetWorkflowError())
			}
			e = env(t, w)
			e.RegisterDelayedCallback(func() {
				a := query[run.Pending](t, e, workflows.PendingQuery).Approval
				e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{ApprovalID: a.ApprovalID, Decision: tc.decision, Final: tc.final})
			}, time.Minute)
			e.ExecuteWorkflow(workflows.Run, in)
			if s, err := run.Fold(w.events); err != nil || s.Usage.TotalTokens != tc.sum || !s.State.Status.Terminal() {
				t.Errorf("the run is %s, its events tell %+v, %v", s.State.Status, s.Usage, err)
			}
		})
	}
}
