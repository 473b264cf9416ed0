package workflows_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// Findings D1 and H5: an artifact that is lost uses no fix and blames no
// provider. The question says what is missing.
func TestLostPatchIsAQuestionAndNoFix(t *testing.T) {
	w := &fakeActivities{
		answers: []activities.ProposeResult{patch("one"), patch("two")},
		refuse:  []*run.Problem{{Code: run.CodeArtifact, Message: "the patch execute/iter-0001.patch is gone"}},
	}
	e := env(t, w)
	replies(t, e, []string{"it is gone for good"}, run.Approve, run.Approve)
	start(e, input(run.Always, 0))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	checkFold(t, w)
	if !contains(w.types(), run.PatchApplyFailedEvent, run.PhaseFailedEvent, run.QuestionRaisedEvent, run.QuestionAnsweredEvent,
		run.PatchProducedEvent, run.ApprovalRequestedEvent, run.ApprovalGrantedEvent, run.PatchAppliedEvent, run.RunCompletedEvent) {
		t.Errorf("%v", w.types())
	}
	for _, e := range w.events {
		if q, ok := e.Payload.(run.QuestionRaised); ok && (!strings.Contains(q.Question.Question, "execute/iter-0001.patch is gone") || strings.Contains(q.Question.Question, "provider")) {
			t.Errorf("asked %+v", q.Question)
		}
	}
	last := w.calls[len(w.calls)-1]
	if last.Lost == nil || last.Lost.Patch.Name != "one" || last.Iteration != 1 || last.Number != 2 {
		t.Errorf("the last call is %s %d.%d, lost %+v", last.Phase, last.Iteration, last.Number, last.Lost)
	}
}

// A person accepts one file and approves the part, which cannot be applied. Once it is mended, the same part is proposed
// again, and the rest goes back as the person said.
func TestAPartThatCouldNotBeAppliedIsProposedAgain(t *testing.T) {
	for _, code := range []string{run.CodeRepository, run.CodeArtifact} {
		t.Run(code, func(t *testing.T) {
			w := &fakeActivities{
				answers: []activities.ProposeResult{patch("whole"), patch("rest")}, back: true,
				refuse: []*run.Problem{{Code: code, Message: "it is gone"}},
			}
			e := env(t, w)
			e.RegisterDelayedCallback(func() {
				a := query[run.Pending](t, e, workflows.PendingQuery).Approval
				e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{ApprovalID: a.ApprovalID, Decision: run.Approve, Files: []string{"a"}, Reason: "no b"})
				replies(t, e, []string{"mended"}, run.Approve, run.Approve, run.Approve)
			}, time.Minute)
			start(e, input(run.Always, 0))
			if err := e.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			checkFold(t, w)
			applied := []string{}
			for _, in := range w.applied {
				applied = append(applied, in.Message)
			}
			if !slices.Equal(applied, []string{"part of whole", "rest"}) || len(w.parts) != 1 {
				t.Errorf("applied %q; %d parts were made", applied, len(w.parts))
			}
			if last := w.calls[len(w.calls)-1]; last.Phase != run.Fix || w.state.Status != run.Completed {
				t.Errorf("the last call is to %s, and the run is %s", last.Phase, w.state.Status)
			}
		})
	}
}

// A part that cannot be taken is not taken again after the answer: the question says that the developer is called.
func TestTheQuestionAboutAPartSaysWhatFollows(t *testing.T) {
	for name, w := range map[string]*fakeActivities{
		"it cannot stand alone": {unfit: []*run.Problem{{Code: activities.PartError, Message: "no such file"}}},
		"it cannot be taken":    {partErr: []error{errRepository("an object is missing")}},
	} {
		t.Run(name, func(t *testing.T) {
			w.answers = []activities.ProposeResult{patch("whole"), patch("another")}
			e := env(t, w)
			var asked run.Pending
			e.RegisterDelayedCallback(func() {
				a := query[run.Pending](t, e, workflows.PendingQuery).Approval
				e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{ApprovalID: a.ApprovalID, Decision: run.Approve, Files: []string{"a"}})
			}, time.Minute)
			e.RegisterDelayedCallback(func() {
				asked = query[run.Pending](t, e, workflows.PendingQuery)
				replies(t, e, []string{"mended"}, run.Approve)
			}, 2*time.Minute)
			start(e, input(run.Always, 0))
			if err := e.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			checkFold(t, w)
			if q := asked.Question; q == nil || !strings.Contains(q.NeededInput[0], "calls the developer again") || !strings.Contains(q.Question.Question, "accepted files") {
				t.Errorf("asked %+v", q)
			}
			if len(w.parts) != 1 || len(w.applied) != 1 || w.applied[0].Message != "another" {
				t.Errorf("%d parts were taken, applied %+v", len(w.parts), w.applied)
			}
		})
	}
}

func TestLostArtifactOfACallBlamesNoProvider(t *testing.T) {
	w := &fakeActivities{planErr: []error{temporal.NewNonRetryableApplicationError("load plan: gone", activities.ArtifactError, nil)}}
	e := env(t, w)
	replies(t, e, []string{"it is back"})
	start(e, input(run.Never, 0))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	for _, e := range w.events {
		if q, ok := e.Payload.(run.QuestionRaised); ok && (!strings.Contains(q.Question.Question, "load plan: gone") || strings.Contains(q.Question.Question, "replay:x")) {
			t.Errorf("asked %+v", q.Question)
		}
	}
}

// Finding D6: the completion event counts the errors that a retry made good.
// Finding D4: the event of a used-up budget names the text that had come.
func TestEventsNameWhatWasRetriedAndCutOff(t *testing.T) {
	retries := []run.Retry{{Code: "TIMEOUT", Count: 2}}
	cut := &run.Ref{Name: "execute/iter-0001.cut-1.raw.txt"}
	answer := patch("one")
	answer.Retries = retries
	w := &fakeActivities{answers: []activities.ProposeResult{{Halt: &run.Halt{Exhausted: true, Cut: cut}}, answer}}
	in := input(run.Never, 0)
	in.MaxTokens = 100
	e := env(t, w)
	replies(t, e, []string{"1000"})
	start(e, in)
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, e := range w.events {
		switch p := e.Payload.(type) {
		case run.PhaseFailed:
			if p.Artifact != nil && *p.Artifact == *cut {
				seen++
			}
		case run.PatchProduced:
			if len(p.Retries) == 1 && p.Retries[0] == retries[0] {
				seen++
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d of 2 events say it", seen)
	}
}
