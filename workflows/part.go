package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// proposePart proposes the accepted part of a refused patch. No provider is called. A part that cannot
// stand alone is put to a person.
func (r *runner) proposePart(ctx workflow.Context, part run.Part) error {
	on := acting(ctx, fmt.Sprintf("Take %d files of %.12s", len(part.Files), part.Of.Patch.Digest))
	out, err := runActivity(on, r, acts.TakePart, activities.PartInput{Call: r.nextCall(), Part: part, Gate: r.s.Gates})
	switch {
	case err != nil:
		return r.failPhase(ctx, err)
	case out.Refusal != nil:
		r.emitEvent(ctx, run.PhaseFailed{Error: *out.Refusal, Question: &run.Question{
			Question:    fmt.Sprintf("The accepted files cannot stand alone: %s. Nothing was applied. How shall the run go on?", out.Refusal.Message),
			Reason:      out.Refusal.Code,
			NeededInput: []string{"any answer calls the " + string(r.s.Phase().Role()) + " again, with the answer in its prompt", "cancel the run to end it"},
		}})
	default:
		r.emitEvent(ctx, run.PatchProduced{Proposal: *out.Proposal})
	}
	return nil
}
