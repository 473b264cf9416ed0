package workflows_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

func start(e *testsuite.TestWorkflowEnvironment, in run.Input) {
	e.ExecuteWorkflow(workflows.Run, workflows.RunInput{Input: &in})
}

func TestPaths(t *testing.T) {
	for _, tc := range []struct {
		name           string
		policy         run.Policy
		maxFix         int
		fakeActivities *fakeActivities
		status         run.Status
		has            []run.EventType // in this order
		lacks          []run.EventType
	}{
		{"a patch that passes completes the run", run.Never, 3, &fakeActivities{}, run.Completed,
			[]run.EventType{"RUN_CREATED", "PHASE_STARTED", "PHASE_COMPLETED", "PHASE_STARTED", "PATCH_PRODUCED", "PATCH_APPLIED", "PHASE_COMPLETED", "PHASE_STARTED", "EVALUATION_PASSED", "PHASE_COMPLETED", "RUN_COMPLETED"},
			[]run.EventType{"APPROVAL_REQUESTED"}},
		{"every patch waits under always", run.Always, 3, &fakeActivities{}, run.Completed,
			[]run.EventType{"PATCH_PRODUCED", "APPROVAL_REQUESTED", "APPROVAL_GRANTED", "PATCH_APPLIED"}, nil},
		{"a harmless patch does not wait under risky", run.Risky, 3, &fakeActivities{}, run.Completed,
			[]run.EventType{"PATCH_APPLIED"}, []run.EventType{"APPROVAL_REQUESTED"}},
		{"a risky patch waits under risky", run.Risky, 3, &fakeActivities{answers: []activities.ProposeResult{patch("one", "deletes a file")}}, run.Completed,
			[]run.EventType{"APPROVAL_REQUESTED", "APPROVAL_GRANTED", "PATCH_APPLIED"}, nil},
		{"failed checks lead to a fix", run.Never, 3, &fakeActivities{verdicts: []activities.Judgement{fixable, pass}}, run.Completed,
			[]run.EventType{"EVALUATION_FAILED_FIXABLE", "PATCH_PRODUCED", "PATCH_APPLIED", "EVALUATION_PASSED", "RUN_COMPLETED"}, nil},
		{"the fourth demand for a fix fails the run", run.Never, 3, &fakeActivities{verdicts: []activities.Judgement{fixable}}, run.Failed,
			[]run.EventType{"EVALUATION_FAILED_FIXABLE", "EVALUATION_FAILED_FIXABLE", "EVALUATION_FAILED_FIXABLE", "EVALUATION_FAILED_FIXABLE", "RUN_FAILED"}, nil},
		{"no fix at all may be allowed", run.Never, 0, &fakeActivities{verdicts: []activities.Judgement{fixable}}, run.Failed,
			[]run.EventType{"EVALUATION_FAILED_FIXABLE", "PHASE_COMPLETED", "RUN_FAILED"}, nil},
		{"a NOOP goes straight to evaluate", run.Always, 3, &fakeActivities{answers: []activities.ProposeResult{noop()}}, run.Completed,
			[]run.EventType{"PHASE_COMPLETED", "PHASE_STARTED", "EVALUATION_PASSED"}, []run.EventType{"PATCH_PRODUCED", "APPROVAL_REQUESTED"}},
		{"output that fits no type is a failed phase and a fix", run.Never, 3, &fakeActivities{answers: []activities.ProposeResult{garbage(), patch("two")}}, run.Completed,
			[]run.EventType{"PHASE_FAILED", "PHASE_STARTED", "PATCH_APPLIED", "RUN_COMPLETED"}, nil},
		{"a patch that cannot be placed asks nobody", run.Always, 3, &fakeActivities{answers: []activities.ProposeResult{unplaced(), patch("two")}}, run.Completed,
			[]run.EventType{"PATCH_PRODUCED", "PATCH_APPLY_FAILED", "PHASE_FAILED", "PATCH_PRODUCED", "APPROVAL_REQUESTED", "PATCH_APPLIED"}, nil},
		{"a conflict while applying leads to a fix", run.Never, 3, &fakeActivities{refuse: []*run.Problem{{Code: "CONFLICT", Message: "branch moved"}}}, run.Completed,
			[]run.EventType{"PATCH_PRODUCED", "PATCH_APPLY_FAILED", "PHASE_FAILED", "PATCH_APPLIED"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := tc.fakeActivities
			e := env(t, w)
			approveAll(t, e)
			start(e, input(tc.policy, tc.maxFix))
			if got := query[run.State](t, e, workflows.StateQuery).Status; got != tc.status {
				t.Fatalf("status %s, want %s; error %v", got, tc.status, e.GetWorkflowError())
			}
			types := w.types()
			if !contains(types, tc.has...) {
				t.Errorf("events %v\nlack   %v", types, tc.has)
			}
			for _, no := range tc.lacks {
				if slices.Contains(types, no) {
					t.Errorf("events hold %s", no)
				}
			}
			if w.cleaned != 1 {
				t.Errorf("cleaned up %d times", w.cleaned)
			}
			checkFold(t, w)
		})
	}
}

func unplaced() activities.ProposeResult {
	p := patch("bad")
	p.Refusal = &run.Problem{Code: "context_not_found", Message: "a.go hunk 1"}
	return p
}

func TestHowTheWorkflowCloses(t *testing.T) {
	w := &fakeActivities{verdicts: []activities.Judgement{fixable}}
	e := env(t, w)
	start(e, input(run.Never, 0))
	app, ok := errors.AsType[*temporal.ApplicationError](e.GetWorkflowError())
	if !ok || app.Type() != workflows.RunFailedError {
		t.Fatalf("error %v", e.GetWorkflowError())
	}
	var res workflows.RunResult
	if err := app.Details(&res); err != nil || res.Status != run.Failed || res.Error.Code != "FIX_LIMIT" || res.Commits != 1 {
		t.Errorf("details %+v, %v", res, err)
	}
}

func TestInvalidInputNeverBegins(t *testing.T) {
	w := &fakeActivities{}
	e := env(t, w)
	in := input(run.Never, 0)
	in.Goal = "  "
	start(e, in)
	app, ok := errors.AsType[*temporal.ApplicationError](e.GetWorkflowError())
	if !ok || app.Type() != report.InvalidInputError {
		t.Fatalf("error %v", e.GetWorkflowError())
	}
	if len(w.events) != 0 {
		t.Errorf("events %v", w.types())
	}
}

func TestQuestionIsAnsweredInTheNextPrompt(t *testing.T) {
	w := &fakeActivities{answers: []activities.ProposeResult{question("which name?"), patch("two")}}
	e := env(t, w)
	e.RegisterDelayedCallback(func() {
		p := query[run.Pending](t, e, workflows.PendingQuery)
		if p.Status != run.AwaitingInput || p.Question == nil || p.Question.Question.Question != "which name?" {
			t.Errorf("pending %+v", p)
			return
		}
		e.SignalWorkflow(workflows.AnswerMessage, run.Reply{QuestionID: p.Question.QuestionID, Text: "blue", By: "kim"})
	}, time.Minute)
	start(e, input(run.Never, 3))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if g := w.guidance[len(w.guidance)-1]; len(g) != 1 || !strings.Contains(g[0].Text, "blue") {
		t.Errorf("guidance %+v", g)
	}
	again := w.calls[len(w.calls)-1]
	if again.Phase != run.Execute || again.Iteration != 1 || again.Number != 2 {
		t.Errorf("the developer was called as %+v", again)
	}
}

func TestProviderThatFailsAsksAndGoesOn(t *testing.T) {
	w := &fakeActivities{planErr: []error{errAuth}}
	e := env(t, w)
	e.RegisterDelayedCallback(func() {
		p := query[run.Pending](t, e, workflows.PendingQuery)
		if p.Question == nil || !strings.Contains(p.Question.Question.Question, "401 unauthorized") {
			t.Errorf("pending %+v", p)
			return
		}
		e.SignalWorkflow(workflows.AnswerMessage, run.Reply{QuestionID: p.Question.QuestionID, Text: "logged in"})
	}, time.Minute)
	start(e, input(run.Never, 0))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if !contains(w.types(), "PHASE_FAILED", "PHASE_STARTED", "QUESTION_RAISED", "QUESTION_ANSWERED", "PHASE_COMPLETED", "PHASE_STARTED", "RUN_COMPLETED") {
		t.Errorf("events %v", w.types())
	}
}

func TestRejection(t *testing.T) {
	for _, final := range []bool{false, true} {
		w := &fakeActivities{answers: []activities.ProposeResult{patch("one"), patch("two")}}
		e := env(t, w)
		e.RegisterDelayedCallback(func() {
			p := query[run.Pending](t, e, workflows.PendingQuery)
			e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{ApprovalID: p.Approval.ApprovalID, Decision: run.Reject, Reason: "too big", Final: final})
		}, time.Minute)
		e.RegisterDelayedCallback(func() { approveAll(t, e) }, 2*time.Minute)
		start(e, input(run.Always, 3))
		status := query[run.State](t, e, workflows.StateQuery).Status
		if final {
			if status != run.Canceled || len(w.applied) != 0 {
				t.Errorf("final: %s, %d applied", status, len(w.applied))
			}
			continue
		}
		if status != run.Completed || len(w.applied) != 1 || w.applied[0].Message != "two" {
			t.Errorf("%s, applied %+v", status, w.applied)
		}
		if g := w.guidance[len(w.guidance)-1]; len(g) != 1 || g[0].Text != "too big" {
			t.Errorf("guidance %+v", g)
		}
	}
}

func TestNoteReachesTheNextPrompt(t *testing.T) {
	w := &fakeActivities{answers: []activities.ProposeResult{question("which?"), patch("two")}}
	e := env(t, w)
	e.RegisterDelayedCallback(func() {
		e.SignalWorkflow(workflows.NoteMessage, run.Note{Text: "use tabs"})
		p := query[run.Pending](t, e, workflows.PendingQuery)
		e.SignalWorkflow(workflows.AnswerMessage, run.Reply{QuestionID: p.Question.QuestionID, Text: "blue"})
	}, time.Minute)
	start(e, input(run.Never, 3))
	var kinds []string
	for _, g := range w.guidance[len(w.guidance)-1] {
		kinds = append(kinds, g.Kind+" "+g.Text)
	}
	if !slices.Contains(kinds, "note use tabs") {
		t.Errorf("guidance %v", kinds)
	}
	if s, err := run.Fold(w.events); err != nil || len(s.Notes) != 0 {
		t.Errorf("notes left: %v, %v", s.Notes, err)
	}
}

func TestCancelFromAnyWait(t *testing.T) {
	for name, w := range map[string]*fakeActivities{
		"while an approval is pending": {},
		"while a question is open":     {answers: []activities.ProposeResult{question("which?")}},
	} {
		t.Run(name, func(t *testing.T) {
			e := env(t, w)
			e.RegisterDelayedCallback(e.CancelWorkflow, time.Hour)
			start(e, input(run.Always, 3))
			if !temporal.IsCanceledError(e.GetWorkflowError()) {
				t.Fatalf("error %v", e.GetWorkflowError())
			}
			s := query[run.State](t, e, workflows.StateQuery)
			if s.Status != run.Canceled || s.PendingApprovalID != "" || s.PendingQuestionID != "" {
				t.Errorf("state %+v", s)
			}
			if types := w.types(); types[len(types)-1] != "RUN_CANCELED" || w.cleaned != 1 {
				t.Errorf("events %v, cleaned %d", types, w.cleaned)
			}
		})
	}
}

func TestDeadlinesEndWaits(t *testing.T) {
	for name, w := range map[string]*fakeActivities{
		"no decision": {},
		"no answer":   {answers: []activities.ProposeResult{question("which?")}},
	} {
		t.Run(name, func(t *testing.T) {
			e := env(t, w)
			in := input(run.Always, 3)
			in.Timeouts = run.Limit{Approval: time.Hour, Answer: time.Hour}
			start(e, in)
			if s := query[run.State](t, e, workflows.StateQuery); s.Status != run.Canceled {
				t.Errorf("state %+v", s)
			}
			if len(w.applied) != 0 {
				t.Error("a patch was applied")
			}
		})
	}
}

func TestUpdatesSayAtOnceWhetherTheyFit(t *testing.T) {
	w := &fakeActivities{}
	e := env(t, w)
	verdicts := map[string]error{}
	update := func(key string, d run.Decision) {
		e.UpdateWorkflow(workflows.ApprovalMessage, key, &testsuite.TestUpdateCallback{
			OnReject:   func(err error) { verdicts[key] = err },
			OnAccept:   func() { verdicts[key] = nil },
			OnComplete: func(any, error) {},
		}, d)
	}
	e.RegisterDelayedCallback(func() {
		id := query[run.Pending](t, e, workflows.PendingQuery).Approval.ApprovalID
		update("empty id", run.Decision{Decision: run.Approve})
		update("other id", run.Decision{ApprovalID: "apr-1-000000000000", Decision: run.Approve})
		update("no decision", run.Decision{ApprovalID: id})
		update("right", run.Decision{ApprovalID: id, Decision: run.Approve})
	}, time.Minute)
	start(e, input(run.Always, 3))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	for key, ok := range map[string]bool{"empty id": false, "other id": false, "no decision": false, "right": true} {
		if err, seen := verdicts[key]; !seen || (err == nil) != ok {
			t.Errorf("%s: %v (seen %v)", key, err, seen)
		}
	}
}

func TestEventsQuery(t *testing.T) {
	w := &fakeActivities{}
	e := env(t, w)
	start(e, input(run.Never, 3))
	all := query[workflows.EventsResult](t, e, workflows.EventsQuery, workflows.EventsInput{})
	if len(all.Events) != len(w.events) || all.First != 1 {
		t.Fatalf("%d events from %d, want %d", len(all.Events), all.First, len(w.events))
	}
	rest := query[workflows.EventsResult](t, e, workflows.EventsQuery, workflows.EventsInput{After: "evt-000003"})
	if len(rest.Events) != len(all.Events)-3 || rest.Events[0].ID != "evt-000004" {
		t.Errorf("after 3: %d events from %s", len(rest.Events), rest.Events[0].ID)
	}
	if none := query[workflows.EventsResult](t, e, workflows.EventsQuery); len(none.Events) != len(all.Events) {
		t.Errorf("without an input: %d events", len(none.Events))
	}
	if _, err := e.QueryWorkflow(workflows.EventsQuery, workflows.EventsInput{After: "nonsense"}); err == nil {
		t.Error("a malformed id was accepted")
	}
}

func TestLongHistoryContinuesAsNewWithTheSameState(t *testing.T) {
	w := &fakeActivities{verdicts: []activities.Judgement{fixable}}
	e := env(t, w)
	e.SetContinueAsNewSuggested(true)
	start(e, input(run.Never, 1))
	recorded := len(w.events)
	var rounds int
	in := workflows.RunInput{}
	for ; rounds < 20; rounds++ {
		var next *workflow.ContinueAsNewError
		if !errors.As(e.GetWorkflowError(), &next) {
			break
		}
		if err := payload(next, &in); err != nil {
			t.Fatal(err)
		}
		e = env(t, w)
		e.SetContinueAsNewSuggested(rounds%2 == 1) // some executions do a step
		e.ExecuteWorkflow(workflows.Run, in)
	}
	if rounds < 1 || recorded == 0 {
		t.Fatalf("it continued as new %d times", rounds)
	}
	checkFold(t, w)
	if w.state.Status != run.Failed {
		t.Errorf("status %s", w.state.Status)
	}
}

// The next execution would not know of a cancellation of this one.
func TestACancellationIsNotLostWhenARunContinuesAsNew(t *testing.T) {
	w := &fakeActivities{}
	e := env(t, w)
	e.SetContinueAsNewSuggested(true)
	e.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "Record" { // before the next execution begins
			e.CancelWorkflow()
		}
	})
	start(e, input(run.Always, 3))
	var next *workflow.ContinueAsNewError
	if err := e.GetWorkflowError(); errors.As(err, &next) || !temporal.IsCanceledError(err) {
		t.Errorf("it ended with %v", err)
	}
	checkFold(t, w)
	if w.state.Status != run.Canceled {
		t.Errorf("status %s", w.state.Status)
	}
}

func TestLostRecordIsWrittenAgainInPieces(t *testing.T) {
	w := &fakeActivities{verdicts: []activities.Judgement{fixable, fixable, pass}, loseAt: 3}
	e := env(t, w)
	start(e, input(run.Never, 3))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	checkFold(t, w)
	if len(w.events) < 20 || w.largest > 8 {
		t.Errorf("%d events, at most %d at once", len(w.events), w.largest)
	}
}
