package workflows_test

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// restored returns fake activities whose record knows more than the workflow once something
// was decided.
func restored(answers ...activities.ProposeResult) *fakeActivities {
	return &fakeActivities{answers: answers, ahead: func(p activities.Header) bool {
		return p.Entry.First() > 0 && p.Entry.Events[0].Type == run.ApprovalGrantedEvent
	}}
}

// Finding B7: a record that is further than its workflow is a question.
func TestRecordThatIsAheadIsAQuestion(t *testing.T) {
	w := restored(patch("one"))
	e := env(t, w)
	replies(t, e, nil, run.Approve)
	asked := false
	e.RegisterDelayedCallback(func() {
		state := query[run.State](t, e, workflows.StateQuery)
		p := query[run.Pending](t, e, workflows.PendingQuery)
		if state.Status != run.AwaitingInput || p.Question == nil || p.Approval != nil || p.Question.QuestionID != state.PendingQuestionID {
			t.Fatalf("%+v, pending %+v", state, p)
		}
		for _, want := range []string{"6 events", "evt-000013", "RUN_COMPLETED"} {
			if !strings.Contains(p.Question.Question.Question, want) {
				t.Errorf("asked %q, which lacks %q", p.Question.Question.Question, want)
			}
		}
		if id := string(input(run.Always, 1).RunID); !strings.Contains(p.Question.Question.NeededInput[1], "then starter resume "+id+";") {
			t.Errorf("how to resume: %q", p.Question.Question.NeededInput)
		}
		if !strings.Contains(p.Question.Next.Answer, "set aside") {
			t.Errorf("an answer leads to %+v", p.Question.Next)
		}
		if len(w.applied) > 0 || w.over {
			t.Error("it was applied before the answer")
		}
		asked = true
		e.SignalWorkflow(workflows.AnswerMessage, run.Reply{QuestionID: "qst-1-1", Text: "of another question"})
		e.SignalWorkflow(workflows.AnswerMessage, run.Reply{QuestionID: p.Question.QuestionID, Text: "go on", By: "kim"})
	}, time.Minute)
	start(e, input(run.Always, 1))
	if err := e.GetWorkflowError(); err != nil || !asked || !w.over || len(w.applied) != 1 {
		t.Fatalf("%v, asked %v, over %v, %d applied", err, asked, w.over, len(w.applied))
	}
	checkFold(t, w)
	if state := query[run.State](t, e, workflows.StateQuery); state.Status != run.Completed {
		t.Errorf("the run is %s", state.Status)
	}
}

// A cancellation leaves the record as it is: the run can be resumed from it.
func TestRecordThatIsAheadOutlivesACancellation(t *testing.T) {
	w := restored(patch("one"))
	w.ahead = func(p activities.Header) bool { return p.Entry.First() > 0 && len(w.events) >= 6 }
	e := env(t, w)
	replies(t, e, nil, run.Approve)
	e.RegisterDelayedCallback(func() {
		if p := query[run.Pending](t, e, workflows.PendingQuery); p.Question == nil {
			t.Errorf("pending %+v", p)
		}
		e.CancelWorkflow()
	}, time.Minute)
	before := 0
	e.RegisterDelayedCallback(func() { before = len(w.events) }, 30*time.Second)
	start(e, input(run.Always, 1))
	if err := e.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("the workflow ends with %v", err)
	}
	if len(w.events) != before || w.over || w.cleaned != 1 {
		t.Errorf("%d events, were %d; over %v, cleaned %d", len(w.events), before, w.over, w.cleaned)
	}
	if state := query[run.State](t, e, workflows.StateQuery); state.Status != run.Canceled {
		t.Errorf("the run is %s", state.Status)
	}
}

// Several attempts at once meet the same record and ask one question.
func TestAttemptsShareADispute(t *testing.T) {
	w := &fakeActivities{rivals: map[int][]activities.ProposeResult{1: {patch("one")}, 2: {patch("two")}}}
	w.ahead = func(p activities.Header) bool { return !w.over && p.Entry.First() > 0 && len(w.events) >= 3 }
	in := input(run.Never, 1)
	in.Candidates = 2
	e := env(t, w)
	replies(t, e, []string{"go on"})
	start(e, in)
	if err := e.GetWorkflowError(); err != nil || !w.over || len(w.applied) != 1 {
		t.Errorf("%v, over %v, %d applied", err, w.over, len(w.applied))
	}
}

// A worker that words its lines otherwise than the workflow's costs a few
// givings, not one a step for ever.
func TestRecordThatIsNeverAsItShouldBe(t *testing.T) {
	w := &fakeActivities{doubts: true, answers: []activities.ProposeResult{patch("one")}, verdicts: []activities.Judgement{fixable, fixable, pass}}
	e := env(t, w)
	start(e, input(run.Never, 3))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	checkFold(t, w)
}
