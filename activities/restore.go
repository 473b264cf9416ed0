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

// lostPatch is a patch whose bytes cannot be had any more.
type lostPatch struct{ patch, raw run.Ref }

func (e *lostPatch) Error() string {
	text := fmt.Sprintf("the patch %s is gone from the run's directory, or is not what was kept", e.patch.Name)
	if e.raw.Name == "" {
		return text
	}
	return text + fmt.Sprintf(", and %s does not give it again", e.raw.Name)
}

// bytesOf returns the bytes of a patch that was proposed on the base: those
// kept, or else those that the answer it was read from gives once more, which
// are then kept again. Only bytes of the patch's digest are ever returned; when
// there are none the error is a *lostPatch.
func (a *Activities) bytesOf(ctx context.Context, p Header, want, raw run.Ref, base run.Commit) ([]byte, error) {
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
	sources, err := sourcesOf(dir, raw)
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		_, diff, err := planned(ctx, w, base, source, rendered)
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

// sourcesOf are the diffs that a patch may have been made from: what the agent
// changed in its checkout, and what the answer holds.
func sourcesOf(dir *rundir.Dir, raw run.Ref) (diffs [][]byte, err error) {
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

// planned places a diff on a commit, and renders what would be applied. The
// same diff on the same commit gives the same bytes.
func planned(ctx context.Context, w *workspace.Workspace, on run.Commit, diff []byte, most patch.Limits) (*patch.Change, []byte, error) {
	change, err := patch.Plan(w.Tree(ctx, on), diff, most)
	if err != nil {
		return nil, nil, fmt.Errorf("plan the patch: %w", err)
	}
	return change, change.Diff(), nil
}

// found is the proposal that the phase lost, if its artifacts are back; nil in
// any other case, and then the provider is asked.
func (a *Activities) found(ctx context.Context, c Call) (*ProposeResult, error) {
	if c.Lost == nil || c.Lost.Base != c.Head {
		return nil, nil
	}
	if err := a.record(ctx, c.Header); err != nil {
		return nil, err
	}
	_, err := a.bytesOf(ctx, c.Header, c.Lost.Patch, c.Lost.Raw, c.Lost.Base)
	if _, lost := errors.AsType[*lostPatch](err); lost {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &ProposeResult{Raw: c.Lost.Raw, Summary: c.Lost.Summary, Proposal: c.Lost}, nil
}
