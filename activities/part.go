package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// PartError is the code of the problem of a part that is no patch: a named file is not in the patch that
// the part is taken from.
const PartError = "PART"

// TakePart makes a patch of the accepted files and hunks of a recorded patch, and keeps it. It plans the recorded
// bytes, which it knows by their digest, leaves out the rest, and plans what is left again: the
// patch that it returns applies alone. An edit was planned by KeepEdit and is taken as it is. Nothing is applied. A second
// call makes the same patch.
func (a *Activities) TakePart(ctx context.Context, in PartInput) (out PartResult, err error) {
	defer makePermanent(&err)
	_, stop := report.Heartbeat(ctx, report.Progress{Doing: "takes what was chosen"})
	defer stop()
	if err := a.writeEntry(ctx, in.Header); err != nil {
		return out, err
	}
	of, from := in.Part.Of, in.Part.Of.Patch
	if in.Part.Edit != nil {
		from = *in.Part.Edit
	}
	whole, err := a.patchBytes(ctx, in.Header, from, of.Raw, of.Base)
	if lost, ok := errors.AsType[*lostPatch](err); ok {
		return PartResult{Refusal: &run.Problem{Code: ArtifactError, Message: lost.Error()}}, nil
	}
	if err != nil {
		return out, err
	}
	w, release, err := a.workspaces.use(ctx, in.Header)
	if err != nil {
		return out, err
	}
	defer release()
	change, diff, err := takeOf(ctx, w, in.Part, whole)
	if refusal, ok := errors.AsType[*patch.Refusal](err); ok {
		return PartResult{Refusal: refusalProblem(refusal)}, nil
	}
	if missing, ok := errors.AsType[missingPart](err); ok {
		return PartResult{Refusal: &run.Problem{Code: PartError, Message: report.Summary(display.Line(string(missing)))}}, nil
	}
	if err != nil {
		return out, fmt.Errorf("plan a part of %s: %w", from.Name, err)
	}
	part := &run.Proposal{Base: of.Base, Raw: of.Raw, Summary: of.Summary, PartOf: of.Patch.Digest}
	if in.Part.Edit != nil {
		part.EditedBy = in.Part.By
	}
	describeProposal(part, change, diff, a.guardedPaths(in.Call))
	failpoint.Hit("part.planned")
	part.Patch, err = a.runs.Run(in.RunID).Keep(in.Artifact(fmt.Sprintf("part-%d.patch", in.Gate)), diff)
	failpoint.Hit("part.kept")
	return PartResult{Proposal: part}, err
}

// missingPart says what a patch does not have of the part to take.
type missingPart string

func (m missingPart) Error() string { return string(m) }

// takeOf plans the part of a rendered patch.
func takeOf(ctx context.Context, w *workspace.Workspace, part run.Part, whole []byte) (*patch.Change, []byte, error) {
	names := part.Files
	if len(part.Hunks) > 0 {
		var chosen []hunks.Choice
		for _, c := range part.Hunks {
			chosen = append(chosen, hunks.Choice(c))
		}
		cut, err := hunks.Pick(whole, chosen)
		if err != nil {
			return nil, nil, missingPart(err.Error())
		}
		whole, names = cut, slices.Clone(part.Files)
		for _, c := range part.Hunks {
			names = append(names, c.File)
		}
	}
	change, diff, err := planPatch(ctx, w, part.Of.Base, whole, rendered)
	if err != nil || part.Edit != nil {
		return change, diff, err
	}
	if missing := keepFiles(change, names); len(missing) > 0 {
		return nil, nil, missingPart("the patch does not change " + strings.Join(missing, ", "))
	}
	return planPatch(ctx, w, part.Of.Base, change.Diff(), rendered)
}

// KeepEdit plans the patch that a person has made of a recorded one, as a provider's is planned, and keeps it as it would be
// applied. Nothing is applied. A second call keeps the same patch.
func (a *Activities) KeepEdit(ctx context.Context, in EditInput) (out EditResult, err error) {
	defer makePermanent(&err)
	_, stop := report.Heartbeat(ctx, report.Progress{Doing: "takes the edited patch"})
	defer stop()
	if err := a.writeEntry(ctx, in.Header); err != nil {
		return out, err
	}
	w, release, err := a.workspaces.use(ctx, in.Header)
	if err != nil {
		return out, err
	}
	defer release()
	_, diff, err := a.planMasked(ctx, w, in.Of.Base, []byte(in.Patch), patch.Limits{Files: in.Patches.Files, Bytes: in.Patches.Bytes})
	if refusal, ok := errors.AsType[*patch.Refusal](err); ok {
		return EditResult{Refusal: refusalProblem(refusal)}, nil
	}
	if err != nil {
		return out, err
	}
	if run.DigestOf(diff) == in.Of.Patch.Digest {
		return EditResult{Refusal: &run.Problem{Code: PartError, Message: "it makes the same changes as the pending patch"}}, nil
	}
	ref, err := a.runs.Run(in.RunID).Keep(in.Artifact(fmt.Sprintf("edit-%d.patch", in.Gate)), diff)
	return EditResult{Edit: &ref}, err
}

// keepFiles drops from the change all files that are not named, and returns the names that it does not
// have, safe for display. A renamed file goes by either of its names.
func keepFiles(c *patch.Change, names []string) (missing []string) {
	for _, name := range names {
		if !slices.ContainsFunc(c.Files, func(f patch.FileChange) bool { return f.Path == name || f.OldPath == name && f.Kind == patch.Renamed }) {
			missing = append(missing, display.Line(name))
		}
	}
	c.Files = slices.DeleteFunc(c.Files, func(f patch.FileChange) bool {
		return !slices.Contains(names, f.Path) && (f.Kind != patch.Renamed || !slices.Contains(names, f.OldPath))
	})
	return missing
}
