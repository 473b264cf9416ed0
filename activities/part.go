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
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// PartError is the code of the problem of a part that is no patch: a named file is not in the patch that
// the part is taken from.
const PartError = "PART"

// TakePart makes a patch of the accepted files of a recorded patch, and keeps it. It plans the recorded
// bytes, which it knows by their digest, leaves out the other files, and plans the rest again: the
// patch that it returns applies alone. Nothing is applied. A second call makes the same patch.
func (a *Activities) TakePart(ctx context.Context, in PartInput) (out PartResult, err error) {
	defer makePermanent(&err)
	_, stop := report.Heartbeat(ctx, report.Progress{Doing: "takes the accepted files"})
	defer stop()
	if err := a.writeEntry(ctx, in.Header); err != nil {
		return out, err
	}
	of := in.Part.Of
	whole, err := a.patchBytes(ctx, in.Header, of.Patch, of.Raw, of.Base)
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
	change, _, err := planPatch(ctx, w, of.Base, whole, rendered)
	if err != nil {
		return out, fmt.Errorf("plan %s: %w", of.Patch.Name, err)
	}
	if missing := keepFiles(change, in.Part.Files); len(missing) > 0 {
		return PartResult{Refusal: &run.Problem{Code: PartError, Message: report.Summary("the patch does not change " + strings.Join(missing, ", "))}}, nil
	}
	change, diff, err := planPatch(ctx, w, of.Base, change.Diff(), rendered)
	if refusal, ok := errors.AsType[*patch.Refusal](err); ok {
		return PartResult{Refusal: refusalProblem(refusal)}, nil
	}
	if err != nil {
		return out, err
	}
	part := &run.Proposal{Base: of.Base, Raw: of.Raw, Summary: of.Summary, PartOf: of.Patch.Digest}
	describeProposal(part, change, diff, a.guardedPaths(in.Call))
	failpoint.Hit("part.planned")
	part.Patch, err = a.runs.Run(in.RunID).Keep(in.Artifact(fmt.Sprintf("part-%d.patch", in.Gate)), diff)
	failpoint.Hit("part.kept")
	return PartResult{Proposal: part}, err
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
