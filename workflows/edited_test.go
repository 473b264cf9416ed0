package workflows_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// What a person chooses of a patch is applied without a second question, under an approval of its own in their name.
func TestAChoiceIsItsOwnApproval(t *testing.T) {
	w := &fakeActivities{answers: []activities.ProposeResult{patch("whole")}}
	e := env(t, w)
	e.RegisterDelayedCallback(func() {
		a := query[run.Pending](t, e, workflows.PendingQuery).Approval
		e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{
			ApprovalID: a.ApprovalID, Decision: run.Approve, By: "kim", Files: []string{"a"}, Hunks: []run.HunkChoice{{File: "b", Numbers: []int{2}}},
		})
	}, time.Minute)
	start(e, input(run.Always, 0))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	checkFold(t, w)
	if len(w.parts) != 1 || len(w.parts[0].Part.Hunks) != 1 || len(w.applied) != 1 || w.applied[0].Message != "part of whole" {
		t.Errorf("took %+v, applied %+v", w.parts, w.applied)
	}
	var asked, granted []string
	for _, event := range w.events {
		switch p := event.Payload.(type) {
		case run.ApprovalRequested:
			asked = append(asked, p.ApprovalID)
		case run.ApprovalGranted:
			granted = append(granted, p.ApprovalID+" by "+p.By)
		}
	}
	if len(asked) != 2 || !slices.Equal(granted, []string{asked[1] + " by kim"}) {
		t.Errorf("asked for %q, granted %q: want the second, by kim", asked, granted)
	}
}

// An edit that does not apply leaves the approval as it is and says why. One that does is a proposal of its own, which is
// asked about where the policy asks.
func TestAnEditIsAProposalOfItsOwn(t *testing.T) {
	for _, row := range []struct {
		policy run.Policy
		asked  int
	}{{run.Always, 2}, {run.Risky, 1}} {
		t.Run(string(row.policy), func(t *testing.T) {
			w := &fakeActivities{answers: []activities.ProposeResult{patch("whole", "a risk")}}
			e := env(t, w)
			var refused, edited run.Pending
			send := func(text string) {
				a := query[run.Pending](t, e, workflows.PendingQuery).Approval
				e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{ApprovalID: a.ApprovalID, Decision: run.Edit, By: "kim", Patch: text})
			}
			e.RegisterDelayedCallback(func() { send(badEdit) }, time.Minute)
			e.RegisterDelayedCallback(func() { refused = query[run.Pending](t, e, workflows.PendingQuery); send("diff") }, 2*time.Minute)
			e.RegisterDelayedCallback(func() {
				edited = query[run.Pending](t, e, workflows.PendingQuery)
				replies(t, e, nil, run.Approve)
			}, 3*time.Minute)
			start(e, input(row.policy, 0))
			if err := e.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			checkFold(t, w)
			if len(refused.RefusedSignals) != 1 || !strings.Contains(refused.RefusedSignals[0].Reason, "line 3 is not there") || refused.Approval == nil {
				t.Errorf("after an edit that does not apply: %+v", refused)
			}
			asked := 0
			for _, event := range w.events {
				if event.Type == run.ApprovalRequestedEvent {
					asked++
				}
			}
			if asked != row.asked || len(w.applied) != 1 || w.applied[0].Message != "edit of whole" {
				t.Errorf("asked %d times, want %d; applied %+v", asked, row.asked, w.applied)
			}
			if row.policy == run.Always && (edited.Approval == nil || edited.Approval.EditedBy != "kim" || edited.Approval.ApprovalID == refused.Approval.ApprovalID) {
				t.Errorf("the edit waits as %+v", edited.Approval)
			}
		})
	}
}
