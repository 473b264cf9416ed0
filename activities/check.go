package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/checkout"
	"github.com/ratchet-dev/ratchet/internal/egress"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/prompt"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/scratch"
	"github.com/ratchet-dev/ratchet/internal/verdict"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// Evaluation is the content of evaluate/iter-NNNN.json.
type Evaluation struct {
	Verdict   verdict.Word   `json:"verdict"`
	Reasons   []string       `json:"reasons"`
	Checks    []check.Result `json:"checks"`
	Diffstat  run.Stat       `json:"diffstat"`
	Commit    run.Commit     `json:"commit"`
	Mentioned []string       `json:"mentioned,omitempty"` // files that failing checks mention
	// Network is what the checks reached and were refused; nil where they had no network.
	Network *egress.Traffic `json:"network,omitempty"`
	// Baseline says that the commit is the base, before any patch.
	Baseline bool `json:"baseline,omitempty"`
	// Before holds the commands that failed in the same way on the base commit.
	Before []string `json:"failedBefore,omitempty"`

	endedBefore bool // a command that was silent now had ended in time on the base commit
}

// checkLock names the lock under which one attempt at a time uses the run's tree.
const checkLock = "check.lock"

// Check runs the checks on the commit, in the run's worktree. A second call runs them again and
// removes everything that the first call left in the worktree. If the first call is still under
// way, as in a worker that slept, the second call waits for it, and the verdict of the first call
// is the verdict of both. A check that fails is a result, not an error. Check reports its verdict to
// the engine itself, before it returns.
//
// Check looks at the branch before and after the checks. If the branch was moved while they ran,
// there is no verdict.
//
// On the base commit, before the first call of a provider, Check makes the branch first, as Prepare
// does, and its result has a baseline.
func (a *Activities) Check(ctx context.Context, in CheckInput) (_ Judgement, err error) {
	defer makePermanent(&err)
	show, stop := report.Heartbeat(ctx, report.Progress{Doing: "waits for the run's tree"})
	defer stop()
	if err := a.writeEntry(ctx, in.Header); err != nil {
		return Judgement{}, err
	}
	return alone(ctx, a.runs.Run(in.RunID), checkLock, "the run's tree", show, func(ctx context.Context) (Judgement, error) {
		show(report.Progress{Doing: "runs the checks"})
		return a.checkCommit(ctx, in, show)
	})
}

func (a *Activities) checkCommit(ctx context.Context, in CheckInput, show func(report.Progress)) (Judgement, error) {
	w, release, err := a.workspaces.use(ctx, in.Header)
	if err != nil {
		return Judgement{}, err
	}
	defer release()
	if in.Baseline {
		if err := w.Prepare(ctx); err != nil {
			return Judgement{}, err
		}
		failpoint.Hit("prepare.done")
	}
	if err := w.CheckBranch(ctx, in.Commit); err != nil {
		return Judgement{}, err
	}
	at := placeIn(a.runs.Scratch(in.RunID), w.Dir(), w.WorkDir())
	at.exact = true
	if err := at.removeLeftovers(ctx, w); err != nil {
		return Judgement{}, err
	}
	if err := w.Sync(ctx, in.Commit); err != nil {
		return Judgement{}, err
	}
	checked, e, out, err := a.runChecks(ctx, in, at, show)
	if err != nil {
		return Judgement{}, err
	}
	failpoint.Hit("check.ran")
	if err := w.CheckBranch(ctx, in.Commit); err != nil { // the checks may have judged other files
		return Judgement{}, err
	}
	if out.Verdict != run.Pass {
		if e.Mentioned, err = mentionedFiles(ctx, w, in.Commit, checked); err != nil {
			return Judgement{}, err
		}
	}
	out.Report, err = a.keepEvaluation(in.RunID, evaluationName(in.Iteration, in.Evaluation, 0), e)
	failpoint.Hit("check.kept")
	if in.Baseline {
		submodules, err := listSubmodules(ctx, in.Repository)
		if err != nil {
			return Judgement{}, err
		}
		out.Baseline = baselineOf(checked, submodules)
		out.Baseline.Report = out.Report
	}
	return out, err
}

// runChecks runs the checks in a place, and in the box unless run and worker say off. Git reads the
// objects there that the tree borrows. It starts nothing that the sandbox does not admit.
func (a *Activities) runChecks(ctx context.Context, in CheckInput, at place, show func(report.Progress)) (check.Report, Evaluation, Judgement, error) {
	held, err := a.admitChecks(in)
	if err != nil {
		return check.Report{}, Evaluation{}, Judgement{}, err
	}
	borrowed, err := checkout.Borrowed(filepath.Join(at.top, ".git"), a.runs.Dir())
	if err != nil {
		return check.Report{}, Evaluation{}, Judgement{}, fmt.Errorf("objects of the work tree: %w", err)
	}
	way, err := a.openNetwork(in)
	if err != nil {
		return check.Report{}, Evaluation{}, Judgement{}, err
	}
	s, err := a.shelterChecks(ctx, in, held, at)
	if err != nil {
		return check.Report{}, Evaluation{}, Judgement{}, err
	}
	defer func() {
		s.release()
		a.keepBuilt(ctx, in, s, at)
	}()
	if !at.exact || !a.isUsers(ctx, in) {
		if err := at.markRunsOwn(); err != nil {
			return check.Report{}, Evaluation{}, Judgement{}, err
		}
	}
	s.inside.Tree, s.inside.Read, s.inside.Own = at.top, append(s.inside.Read, borrowed...), borrowed
	checked, err := check.Run(ctx, check.Spec{
		Commands: in.Commands, Dir: at.dir, Home: at.home, Cache: s.cache, RunID: string(in.RunID),
		Box: held, Inside: s.inside, Network: way.boxes,
		Env: way.env, Set: s.set, Lookup: a.env, Timeout: in.Timeout,
		Filter: func(w io.Writer) io.Writer { return a.redact.Writer(w) },
	}, func(p check.Progress) {
		show(report.Progress{Doing: fmt.Sprintf("%s %d of %d: %s", in.checkLabel(), p.Index+1, p.Total, p.Command), Bytes: p.Bytes})
	})
	if err != nil {
		return checked, Evaluation{}, Judgement{}, err
	}
	e := Evaluation{
		Reasons: []string{}, Checks: append([]check.Result{}, checked.Checks...), Diffstat: in.Stat, Commit: in.Commit, Baseline: in.Baseline,
	}
	if err := a.compareWithBase(in, checked, &e); err != nil {
		return checked, Evaluation{}, Judgement{}, err
	}
	out := judgeChecks(checked, &e)
	way.recordReached(&e, &out)
	return checked, e, out, nil
}

// admitChecks returns the box of the checks. A run without checks starts nothing.
func (a *Activities) admitChecks(in CheckInput) (*box.Box, error) {
	if len(in.Commands) == 0 {
		return nil, nil
	}
	return a.sandbox.Admit(in.Sandbox)
}

// Try runs the checks on the patch of a contest's candidate, in a tree of its own. A
// second call runs them again, in a new tree.
func (a *Activities) Try(ctx context.Context, in TryInput) (_ Judgement, err error) {
	defer makePermanent(&err)
	show, stop := report.Heartbeat(ctx, report.Progress{Doing: "waits for the tree of the attempt"})
	defer stop()
	if err := a.writeEntry(ctx, in.Header); err != nil {
		return Judgement{}, err
	}
	name := fmt.Sprintf("trial-%d.lock", in.Candidate)
	return alone(ctx, a.runs.Run(in.RunID), name, "the tree of the attempt", show, func(ctx context.Context) (Judgement, error) {
		show(report.Progress{Doing: fmt.Sprintf("checks attempt %d", in.Candidate)})
		return a.tryPatch(ctx, in, show)
	})
}

func (a *Activities) tryPatch(ctx context.Context, in TryInput, show func(report.Progress)) (Judgement, error) {
	slot := a.runs.Slot(in.RunID, fmt.Sprintf("trial-%d", in.Candidate))
	release, err := slot.Hold(ctx, func() {}, nil)
	if err != nil {
		return Judgement{}, err
	}
	defer release()
	tree, err := openScratch(slot, in.Repository)
	if err != nil {
		return Judgement{}, err
	}
	if err := a.plantCandidate(ctx, tree, in); err != nil {
		return Judgement{}, err
	}
	own := filepath.Join(a.runs.Scratch(in.RunID), fmt.Sprintf("try-%d", in.Candidate))
	if err := git.RemoveTree(own); err != nil {
		return Judgement{}, err
	}
	at := placeIn(own, tree.Top(), tree.WorkDir())
	_, e, out, err := a.runChecks(ctx, in.CheckInput, at, show)
	if err != nil {
		return Judgement{}, err
	}
	out.Report, err = a.keepEvaluation(in.RunID, evaluationName(in.Iteration, 1, in.Candidate), e)
	return out, err
}

// plantCandidate makes the tree of a candidate: a commit of the patch that is on no branch.
func (a *Activities) plantCandidate(ctx context.Context, tree *scratch.Scratch, in TryInput) error {
	diff, err := a.patchBytes(ctx, in.Header, in.Patch, in.Raw, in.Commit)
	if lost, ok := errors.AsType[*lostPatch](err); ok {
		return report.Permanent(ArtifactError, lost)
	}
	if err != nil {
		return err
	}
	w, release, err := a.workspaces.use(ctx, in.Header)
	if err != nil {
		return err
	}
	defer release()
	change, err := patch.Plan(w.Tree(ctx, in.Commit), diff, rendered)
	if refusal, ok := errors.AsType[*patch.Refusal](err); ok {
		return report.Permanent(string(refusal.Kind), refusal)
	}
	if err != nil {
		return fmt.Errorf("plan %s: %w", in.Patch.Name, err)
	}
	commit, err := w.Store(ctx, workspace.CommitInput{
		Base: in.Commit, Change: change, Message: fmt.Sprintf("Attempt %d", in.Candidate), Time: time.Now(),
	})
	if err != nil {
		return err
	}
	return tree.Make(ctx, commit)
}

// mentionedFiles returns the files of the commit that failing checks mention.
func mentionedFiles(ctx context.Context, w *workspace.Workspace, at run.Commit, checked check.Report) ([]string, error) {
	files, err := w.Files(ctx, at)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(files))
	for _, f := range files {
		known[f.Path] = true
	}
	return check.MentionedFiles(checked, w.WorkDir(), func(path string) bool { return known[path] }), nil
}

// judgeChecks returns the verdict of the checks and adds it to the evaluation. Without any check
// the verdict is a pass and the evaluator decides. run.Input.Validate requires an evaluator in that
// case.
func judgeChecks(checked check.Report, e *Evaluation) Judgement {
	if len(checked.Checks) == 0 {
		e.Verdict = verdict.Pass
		return Judgement{Verdict: run.Pass}
	}
	v := checked.Verdict()
	out := Judgement{Failed: clipAll(slices.Concat(v.Failing, v.CannotRun)), Before: clipAll(e.Before)}
	for _, c := range checked.Checks {
		if c.Status != check.Pass {
			e.Reasons = append(e.Reasons, reasonOf(c, slices.Contains(v.Silent, c.Command), slices.Contains(e.Before, c.Command)))
		}
	}
	switch v.Outcome {
	case check.Passed:
		e.Verdict, out.Verdict = verdict.Pass, run.Pass
	case check.Failed:
		e.Verdict, out.Verdict = verdict.Fix, run.Fixable
	default:
		e.Verdict, out.Verdict = verdict.Ask, run.Blocked
		out.Again = true
		if len(v.Silent) > 0 {
			out.Question = silenceQuestion(v.Silent[0], e)
			break
		}
		out.Question = &run.Question{
			Question: fmt.Sprintf("A check cannot run: %s. How should the run continue?", report.Summary(v.CannotRun[0])),
			Reason:   report.Summary(e.Reasons[0]),
			NeededInput: []string{
				"install what is missing on the worker, then answer with any text: the checks run again",
				"or, if the repository is at fault: " + run.FixWord + " and what to change",
			},
		}
	}
	out.Reasons = clipAll(e.Reasons)
	return out
}

// reasonOf says in one line why a check did not pass.
func reasonOf(c check.Result, silent, before bool) string {
	command, why := c.Command, c.Digest()
	if silent {
		why = c.Reason + ", no output"
	}
	if before {
		command += " (also failed before)"
	}
	return command + ": " + why
}

// evaluationName returns the artifact name of evaluation n of an iteration, or of the
// evaluation of a contest's candidate.
func evaluationName(iteration, n, candidate int) string {
	return Call{Phase: run.Evaluate, Iteration: iteration, Number: n, Candidate: candidate}.Artifact("json")
}

// keepEvaluation keeps a report as an artifact.
func (a *Activities) keepEvaluation(id run.ID, name string, e Evaluation) (run.Ref, error) {
	return keepJSON(a.runs.Run(id), name, e)
}

// loadEvaluation reads a report. If the report is lost, it returns a report without checks: the
// events hold the verdict.
func (a *Activities) loadEvaluation(id run.ID, ref run.Ref) (e Evaluation, err error) {
	b, err := a.runs.Run(id).Load(ref)
	if rundir.Lost(err) {
		return Evaluation{Checks: []check.Result{}}, nil
	}
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, report.Permanent(ArtifactError, fmt.Errorf("evaluation: %w", err))
	}
	return e, nil
}

// forPrompt returns the checks as the prompt shows them.
func (e Evaluation) forPrompt() []prompt.Check {
	out := make([]prompt.Check, len(e.Checks))
	for i, c := range e.Checks {
		out[i] = prompt.Check{
			Command: c.Command, Passed: c.Status == check.Pass, Outcome: outcomeText(c), Before: slices.Contains(e.Before, c.Command),
			Head: c.Head, Tail: c.Tail, Bytes: c.Bytes,
		}
	}
	return out
}

// outcomeText says how a check ended.
func outcomeText(c check.Result) string {
	if c.Reason != "" {
		return c.Reason
	}
	return fmt.Sprintf("exit code %d", c.ExitCode)
}
