package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/answer"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// lostPatch is the error about a patch whose bytes cannot be restored.
type lostPatch struct{ patch, raw run.Ref }

func (e *lostPatch) Error() string {
	text := fmt.Sprintf("the patch %s is missing from the run's directory, or was changed there", e.patch.Name)
	if e.raw.Name == "" {
		return text
	}
	return text + fmt.Sprintf(", and %s does not reproduce it", e.raw.Name)
}

// patchBytes returns the bytes of a patch that was proposed on the base. If the kept bytes are
// lost, it makes them again from the answer and keeps them. It returns only bytes that match the
// patch's digest. If there are none, the error is a *lostPatch.
func (a *Activities) patchBytes(ctx context.Context, p Header, want, raw run.Ref, base run.Commit) ([]byte, error) {
	dir := a.runs.Run(p.RunID)
	diff, err := dir.Load(want)
	if !rundir.Lost(err) {
		return diff, err
	}
	w, release, err := a.workspaces.use(ctx, p)
	if err != nil {
		return nil, err
	}
	defer release()
	sources, err := patchSources(dir, raw)
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		_, diff, err := a.planMasked(ctx, w, base, source, rendered)
		if _, refused := errors.AsType[*patch.Refusal](err); refused {
			continue
		}
		if err != nil {
			return nil, err
		}
		if run.DigestOf(diff) == want.Digest {
			_, err := dir.Keep(want.Name, diff)
			return diff, err
		}
	}
	return nil, &lostPatch{want, raw}
}

// patchSources returns the diffs that a patch may have been made from: the changes of
// the agent's checkout, and the diff in the answer.
func patchSources(dir *rundir.Dir, raw run.Ref) (diffs [][]byte, err error) {
	if raw.Name == "" {
		return nil, nil
	}
	changes, _, err := dir.Find(strings.TrimSuffix(raw.Name, "raw.txt") + "changes.patch")
	if err == nil {
		diffs = append(diffs, changes)
	} else if !rundir.Lost(err) {
		return nil, err
	}
	text, _, err := dir.Find(raw.Name)
	if rundir.Lost(err) {
		return diffs, nil
	}
	if err != nil {
		return nil, err
	}
	if ans, err := answer.Parse(text, string(provider.Stop)); err == nil && ans.Kind == answer.Patch {
		diffs = append(diffs, ans.Diff)
	}
	return diffs, nil
}

// planPatch places a diff on a commit, and renders the diff to apply. The same diff on
// the same commit gives the same bytes.
func planPatch(ctx context.Context, w *workspace.Workspace, on run.Commit, diff []byte, most patch.Limits) (*patch.Change, []byte, error) {
	change, err := patch.Plan(w.Tree(ctx, on), diff, most)
	if err != nil {
		return nil, nil, fmt.Errorf("plan the patch: %w", err)
	}
	return change, change.Diff(), nil
}

// planMasked is planPatch for a diff in which the worker's secrets were replaced by their labels. A line that has a secret
// in the repository keeps it. A change that adds one to a file is refused. No refusal and no repair reveals a secret: the
// model may have named any.
func (a *Activities) planMasked(ctx context.Context, w *workspace.Workspace, on run.Commit, diff []byte, most patch.Limits) (*patch.Change, []byte, error) {
	change, made, err := planPatch(ctx, w, on, a.redact.Reveal(diff), most)
	if _, refused := errors.AsType[*patch.Refusal](err); refused { // its text may hold a revealed secret, or the file may hold the label itself
		change, made, err = planPatch(ctx, w, on, diff, most)
	}
	if refusal, ok := errors.AsType[*patch.Refusal](err); ok {
		refusal.Message = a.redact.String(refusal.Message)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, f := range change.Files {
		if label := a.redact.Adds(contentOf(f.Before), contentOf(f.After)); label != "" {
			return nil, nil, &patch.Refusal{Kind: patch.Policy, Path: f.Path, Message: fmt.Sprintf(
				"an added line holds %s, the value of a secret of the worker. It must not enter the repository: read it from the environment instead", label)}
		}
	}
	for i := range change.Repairs {
		change.Repairs[i].Detail = a.redact.String(change.Repairs[i].Detail)
	}
	return change, made, nil
}

// contentOf returns the content of a file; nil is no file.
func contentOf(f *patch.File) []byte {
	if f == nil {
		return nil
	}
	return f.Content
}

// findLost returns the proposal that the phase lost, if its artifacts are back. In any
// other case it returns nil, and the provider is called.
func (a *Activities) findLost(ctx context.Context, c Call) (*ProposeResult, error) {
	if c.Lost == nil || c.Lost.Base != c.Head {
		return nil, nil
	}
	if err := a.writeEntry(ctx, c.Header); err != nil {
		return nil, err
	}
	_, err := a.patchBytes(ctx, c.Header, c.Lost.Patch, c.Lost.Raw, c.Lost.Base)
	if _, lost := errors.AsType[*lostPatch](err); lost {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &ProposeResult{Raw: c.Lost.Raw, Summary: c.Lost.Summary, Proposal: c.Lost}, nil
}
