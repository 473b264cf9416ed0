package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// proposePart proposes the accepted part of a refused patch, or its edit. No provider is called. A part that cannot
// stand alone, or cannot be taken, is put to a person. After the answer the provider is called, and the
// part is not taken again. proposePart returns the error of a cancellation.
func (r *runner) proposePart(ctx workflow.Context, part run.Part) error {
	on := acting(ctx, fmt.Sprintf("Take what was chosen of %.12s", part.Of.Patch.Digest))
	out, err := runActivity(on, r, acts.TakePart, activities.PartInput{Call: r.nextCall(), Part: part, Gate: r.s.Gates})
	switch {
	case temporal.IsCanceledError(err):
		return err
	case err != nil:
		r.failPart(ctx, report.ProblemOf(err), "could not be taken", "fix this, then answer with any text: that calls")
	case out.Refusal != nil:
		r.failPart(ctx, *out.Refusal, "do not form a patch of their own", "any text calls")
	default:
		r.emitEvent(ctx, run.PatchProduced{Proposal: *out.Proposal})
	}
	return nil
}

// takeEdit keeps the patch of an edit. One that does not apply is refused like a message that does not fit, and the
// approval waits on. takeEdit returns the error of a cancellation.
func (r *runner) takeEdit(ctx workflow.Context, d run.Decision) error {
	of := r.s.ProposalOf(d.ApprovalID)
	on := acting(ctx, fmt.Sprintf("Take an edit of %.12s", of.Patch.Digest))
	out, err := runActivity(on, r, acts.KeepEdit, activities.EditInput{Call: r.nextCall(), Of: of, Patch: d.Patch, Gate: r.s.Gates})
	switch {
	case temporal.IsCanceledError(err):
		return err
	case err != nil:
		r.refuseSignal(ctx, ApprovalMessage, errors.New("the edited patch could not be taken: "+report.ProblemOf(err).Message))
	case out.Refusal != nil:
		r.refuseSignal(ctx, ApprovalMessage, errors.New("the edited patch is refused: "+out.Refusal.Message))
	default:
		r.emitEvent(ctx, run.ApprovalRejected{ApprovalID: d.ApprovalID, By: d.By, Reason: d.Reason, Edit: out.Edit})
	}
	return nil
}

// failPart ends the phase without the part, and asks a person.
func (r *runner) failPart(ctx workflow.Context, p run.Problem, why, calls string) {
	r.emitEvent(ctx, run.PhaseFailed{Error: p, Question: &run.Question{
		Question: fmt.Sprintf("The accepted files %s: %s. Nothing was applied. How should the run continue?", why, p.Message),
		Reason:   p.Code,
		NeededInput: []string{
			fmt.Sprintf("%s the %s again, with your text in its prompt; the accepted files are not used again", calls, r.s.Phase().Role()),
			"cancel the run to end it",
		},
	}})
}
