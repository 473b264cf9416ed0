package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// Prepare makes the run's branch. A second call changes nothing. The first checks make the worktree.
func (a *Activities) Prepare(ctx context.Context, p Header) (err error) {
	defer makePermanent(&err)
	_, stop := report.Heartbeat(ctx, report.Progress{Doing: "makes the branch"})
	defer stop()
	w, release, err := a.workspaces.use(ctx, p)
	if err != nil {
		return err
	}
	defer release()
	err = w.Prepare(ctx)
	failpoint.Hit("prepare.done")
	return err
}

// CleanUp removes the worktree and the scratch directory, and then records the
// run's end; the branch and the record stay. A second call is a no-op. What cannot be removed, such as files of
// another user, is left behind after some attempts: the run is over all the same.
func (a *Activities) CleanUp(ctx context.Context, p Header) error {
	_, stop := report.Heartbeat(ctx, report.Progress{Doing: "removes the worktree"})
	defer stop()
	removed := errors.Join(a.stopAgents(ctx, p.RunID), a.removeWorktree(ctx, p), git.RemoveTree(a.runs.Scratch(p.RunID)))
	a.workspaces.drop(p.RunID)
	a.runs.Run(p.RunID).Sweep()
	failpoint.Hit("cleanup.done")
	// writeEntry's error is returned unchanged, because the workflow acts on it.
	if err := a.writeEntry(ctx, p); err != nil {
		return err
	}
	if removed != nil && activity.GetInfo(ctx).Attempt >= removalAttempts {
		_ = a.runs.Run(p.RunID).Log("run", rundir.Error, "files of the run are left: remove them with starter clean", map[string]any{"reason": removed.Error()})
		return report.Permanent(LeftBehindError, removed)
	}
	return removed
}

// LeftBehindError is the type of the error of CleanUp when it leaves files behind.
const LeftBehindError = "LeftBehind"

// removalAttempts bounds the attempts to remove the files of a run. With the pauses between them they take a minute.
const removalAttempts = 10

func (a *Activities) removeWorktree(ctx context.Context, p Header) error {
	w, release, err := a.workspaces.use(ctx, p)
	if errors.Is(err, git.ErrNotRepository) { // it is gone or unreadable: only our own files can be removed
		return workspace.Discard(a.runs.Workspace(p.RunID))
	}
	if err != nil {
		return err
	}
	defer release()
	return w.Remove(ctx)
}

// Apply commits the patch with the given digest to the run's branch, on the given commit. If the
// patch's artifact is gone or was altered, Apply plans the patch again from its raw answer. A
// second call finds the commit of the first and returns it. A patch that cannot be applied, or
// whose bytes cannot be restored, is a result, not an error. If something else has moved the
// branch, Apply first puts it back. The commit of a run on a URL is on the server, too, before Apply returns.
func (a *Activities) Apply(ctx context.Context, in ApplyInput) (_ ApplyResult, err error) {
	defer makePermanent(&err)
	show, stop := report.Heartbeat(ctx, report.Progress{Doing: "applies the patch"})
	defer stop()
	onDisk, err := a.beginEntry(ctx, in.Header)
	if err != nil {
		return ApplyResult{}, err
	}
	defer finishEntry(onDisk, &err)
	diff, err := a.patchBytes(ctx, in.Header, in.Patch, in.Raw, in.Base)
	if lost, ok := errors.AsType[*lostPatch](err); ok {
		return ApplyResult{Refusal: &run.Problem{Code: ArtifactError, Message: lost.Error()}}, nil
	}
	if err != nil {
		return ApplyResult{}, err
	}
	w, release, err := a.workspaces.use(ctx, in.Header)
	if err != nil {
		return ApplyResult{}, err
	}
	defer release()
	change, err := patch.Plan(w.Tree(ctx, in.Base), diff, rendered)
	if refusal, ok := errors.AsType[*patch.Refusal](err); ok {
		return ApplyResult{Refusal: refusalProblem(refusal)}, nil
	}
	if err != nil {
		return ApplyResult{}, fmt.Errorf("plan %s: %w", in.Patch.Name, err)
	}
	failpoint.Hit("apply.planned")
	if err := onDisk(); err != nil { // the branch does not move before the record says so
		return ApplyResult{}, err
	}
	commit, err := w.Commit(ctx, workspace.CommitInput{Base: in.Base, Change: change, Message: commitMessage(in), Time: in.Time})
	if err != nil {
		return ApplyResult{}, err
	}
	failpoint.Hit("apply.committed")
	if in.Repository.URL != "" {
		show(report.Progress{Doing: "pushes the branch to " + display.Line(in.Repository.URL)})
	}
	if err := a.publish(ctx, in.Repository, w.Branch(), commit); err != nil {
		return ApplyResult{}, err
	}
	out := ApplyResult{Commit: commit, Stat: run.Stat(change.Stat())}
	if in.Base == in.Repository.Base {
		return out, nil
	}
	out.Stat, err = w.DiffStat(ctx, in.Repository.Base, commit)
	return out, err
}

// rendered holds the limits of a diff that was rendered from a diff within the run's limits. The
// rendered diff may be longer, because its context is complete.
var rendered = patch.Limits{Files: 1 << 20, Hunks: 1 << 20, Bytes: 64 << 20, Line: 64 << 20}

// commitMessage returns the message of the commit. The message depends only on the input, because
// the commit's id must.
func commitMessage(in ApplyInput) string {
	return fmt.Sprintf("%s\n\nRatchet-Run: %s\nRatchet-Iteration: %d\nRatchet-Patch: %s\n",
		in.Message, in.RunID, in.Iteration, in.Patch.Digest)
}

func refusalProblem(r *patch.Refusal) *run.Problem {
	return &run.Problem{Code: string(r.Kind), Message: display.Clip(r.Error(), run.MaxTextBytes/2)}
}
