package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// gateProposal applies the proposal, or asks a person for approval if it needs one.
func (r *runner) gateProposal(ctx workflow.Context) error {
	if r.s.NeedsApproval() {
		r.emitEvent(ctx, r.s.NewApproval())
		if by, ok := r.s.ChosenBy(); ok {
			r.emitEvent(ctx, run.ApprovalGranted{ApprovalID: r.s.State.PendingApprovalID, By: by, Reason: "chosen from the patch before"})
		}
		return nil
	}
	return r.applyPatch(ctx)
}

// awaitDecision waits for the decision that names the pending approval. Other decisions are refused
// when they arrive.
func (r *runner) awaitDecision(ctx workflow.Context) error {
	r.flushRecord(ctx)
	r.sendToSession(ctx)
	id := r.s.State.PendingApprovalID
	settled, err := r.awaitUntil(ctx, "Decision on "+id, func() bool { return r.decision != nil })
	if err != nil {
		return err
	}
	d := r.decision
	defer func() { r.decision = nil }() // not before an edit is kept: no other decision is taken meanwhile
	switch {
	case !settled:
		r.emitEvent(ctx, run.ApprovalRejected{ApprovalID: id, By: "deadline", Reason: overdueText("decision", r.s.WaitLimit()), Final: true})
	case d == nil: // wait in a new history
	case d.Decision == run.Edit:
		return r.takeEdit(ctx, *d)
	case d.TakesPart():
		r.emitEvent(ctx, run.ApprovalRejected{ApprovalID: d.ApprovalID, By: d.By, Reason: d.Reason, Files: d.Files, Hunks: d.Hunks})
	case d.Decision == run.Approve:
		r.emitEvent(ctx, run.ApprovalGranted{ApprovalID: d.ApprovalID, By: d.By, Reason: d.Reason, Session: d.Session})
	default:
		r.emitEvent(ctx, run.ApprovalRejected{ApprovalID: id, By: d.By, Reason: d.Reason, Final: d.Final})
	}
	return nil
}

// awaitAnswer waits for the reply that names the pending question.
func (r *runner) awaitAnswer(ctx workflow.Context) error {
	r.flushRecord(ctx)
	r.sendToSession(ctx)
	id := r.s.State.PendingQuestionID
	settled, err := r.awaitUntil(ctx, "Answer to "+id, func() bool { return r.answer != nil })
	if err != nil {
		return err
	}
	a := r.answer
	r.answer = nil
	switch {
	case !settled:
		r.endRun(ctx, run.RunCanceled{By: "deadline", Reason: overdueText("answer", r.s.WaitLimit())})
	case a == nil: // wait in a new history
	default:
		raise, err := r.s.ParseBudget(*a)
		if err != nil {
			return err
		}
		choice, err := r.s.ParseBaseline(*a)
		if err != nil {
			return err
		}
		r.emitEvent(ctx, run.QuestionAnswered{
			QuestionID: id, Text: answerText(*a), Values: a.Values, By: a.By,
			MaxTokens: raise.MaxTokens, MaxCost: raise.MaxCost, Stop: raise.Stop || choice.Stop, Fix: r.s.WantsFix(*a),
			Without: choice.Without, Retry: a.Retry,
		})
	}
	return nil
}

// answerText returns the words of a reply for the record.
func answerText(a run.Reply) string {
	if a.Retry {
		return a.Render()
	}
	return a.Text
}

func overdueText(what string, limit time.Duration) string {
	return fmt.Sprintf("no %s came within %v", what, limit)
}

// awaitUntil waits until settled returns true, the wait limit of the run ends, or the run continues in
// a new history. It returns false if the wait limit ended.
func (r *runner) awaitUntil(ctx workflow.Context, summary string, settled func() bool) (bool, error) {
	limit := r.s.WaitLimit()
	wake := func() bool { return settled() || r.mayContinue(ctx) }
	if limit == 0 {
		return true, workflow.Await(ctx, wake)
	}
	left := limit - workflow.Now(ctx).Sub(r.s.State.UpdatedAt)
	return workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: max(left, time.Millisecond), TimerOptions: workflow.TimerOptions{Summary: summary},
	}, wake)
}

// applyPatch applies the patch to the branch. A cancellation waits for its end, and the record then
// says whether the patch is on the branch.
func (r *runner) applyPatch(ctx workflow.Context) error {
	if err := r.awaitWorkspace(ctx); err != nil {
		return r.failApply(ctx, err)
	}
	s, patch := r.s, r.s.Proposal
	on, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	on = acting(on, fmt.Sprintf("Apply %.12s: %s", patch.Patch.Digest, patch.Stat))
	out, err := runActivity(on, r, acts.Apply, activities.ApplyInput{
		Iteration: s.State.Iteration,
		Patch:     patch.Patch, Raw: patch.Raw, Base: patch.Base, Time: s.State.UpdatedAt,
		Message: s.Input.CommitMessage(s.State.Iteration, patch.Summary),
	})
	if err != nil {
		return r.failApply(ctx, err)
	}
	if out.Refusal != nil {
		r.emitEvent(ctx, run.PatchApplyFailed{Patch: patch.Patch.Digest, Error: *out.Refusal})
	} else {
		r.emitEvent(ctx, run.PatchApplied{
			Patch: patch.Patch.Digest, Base: patch.Base, Commit: out.Commit, Before: s.Stat, After: out.Stat,
		})
	}
	return nil
}
