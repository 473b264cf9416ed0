package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/checkout"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/verdict"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// BranchInput names the commit that the run's branch must point at.
type BranchInput struct {
	Header
	Head run.Commit `json:"head"`
}

// BranchResult says how the branch had been moved; nil: it was in place.
type BranchResult struct {
	Restored *run.Restored `json:"restored,omitempty"`
}

// CheckBranch stops the run's agents and then puts the branch of a run that is about
// to complete back to its head, if anything has moved it. A second call finds the
// branch in place; only the log then says how it had been moved.
func (a *Activities) CheckBranch(ctx context.Context, in BranchInput) (_ BranchResult, err error) {
	_, stop := report.Heartbeat(ctx, report.Progress{Doing: "looks at the branch"})
	defer stop()
	defer makePermanent(&err)
	onDisk, err := a.beginEntry(ctx, in.Header)
	if err != nil {
		return BranchResult{}, err
	}
	defer finishEntry(onDisk, &err)
	if err := a.stopAgents(ctx, in.RunID); err != nil {
		return BranchResult{}, err
	}
	w, release, err := a.workspaces.use(ctx, in.Header)
	if err != nil {
		return BranchResult{}, err
	}
	defer release()
	found, err := w.Restore(ctx, in.Head, a.logMoved(in.Header, func(s *run.Snapshot) bool {
		return s.Next.Do == run.Finish && s.Head == in.Head
	}))
	failpoint.Hit("complete.branch")
	return BranchResult{Restored: displayable(found)}, err
}

// logMoved returns the function that a workspace calls before it puts the branch back.
// It logs how the branch was moved. It refuses unless the record, which is then on disk, says that the
// activity is due: an activity in a worker that slept comes late, and the run may have
// moved the branch since.
func (a *Activities) logMoved(of Header, due func(*run.Snapshot) bool) workspace.Told {
	return func(found run.Restored) error {
		dir := a.runs.Run(of.RunID)
		s, err := dir.Sealed()
		if err != nil {
			return fmt.Errorf("%s: %w; the record does not say where the run stands: %w", displayable(&found).Found(), workspace.ErrMoved, err)
		}
		if !due(s) {
			return fmt.Errorf("%s: %w; the run has gone on", displayable(&found).Found(), workspace.ErrMoved)
		}
		return dir.Log("branch", rundir.Error, "moved by others", map[string]any{
			"branch": of.branchName(), "from": found.From, "to": found.To, "was": display.Clip(found.Was, maxLogged),
		})
	}
}

// displayable returns r made safe for display, for names of references may hold any
// bytes.
func displayable(r *run.Restored) *run.Restored {
	if r == nil {
		return nil
	}
	safe := *r
	safe.Was = display.Clip(display.Line(r.Was), 2*report.MaxSummary)
	return &safe
}

// checkBranchAfter looks at the branch after the checks. If the branch was moved while
// they ran, the verdict becomes a question to a person, for the checks may have judged
// other files than the commit's.
func (a *Activities) checkBranchAfter(ctx context.Context, w *workspace.Workspace, in CheckInput, tell workspace.Told, e *Evaluation, out *Judgement) (moved bool, err error) {
	var seen *run.Restored
	found, err := w.Restore(ctx, in.Commit, func(r run.Restored) error {
		seen = displayable(&r)
		return tell(r)
	})
	used, _ := errors.AsType[*git.InUseError](err)
	switch {
	case errors.Is(err, workspace.ErrMoved) && seen != nil:
		askAboutBranch(in.branchName(), *seen, seen.Found()+", and was not put back, for the record does not say that the run is here", e, out)
		return true, nil
	case used != nil && found != nil:
		at := *displayable(found)
		askAboutBranch(in.branchName(), at, at.Found()+", and was not put back, for it is "+string(used.Task)+" in a work tree: "+display.Line(used.Advice()), e, out)
		return true, nil
	case err != nil:
		return false, err
	case found != nil:
		e.Restored = displayable(found)
		askAboutBranch(in.branchName(), *e.Restored, e.Restored.String(), e, out)
	}
	return found != nil, nil
}

// askAboutBranch makes the verdict a question.
func askAboutBranch(branch string, found run.Restored, how string, e *Evaluation, out *Judgement) {
	what := fmt.Sprintf("while the checks ran, the run's branch %s was changed: %s", branch, how)
	e.Verdict, out.Verdict = verdict.Ask, run.Blocked
	e.Reasons = append([]string{what}, e.Reasons...)
	out.Again, out.Reasons = true, clipAll(e.Reasons)
	out.Question = &run.Question{
		Question:    display.Clip("W"+what[1:]+". What shall be done?", run.MaxTextBytes/4),
		Reason:      "only approved patches belong on the branch",
		NeededInput: []string{"see to it that no check touches the branch, and answer anything: the checks run again"},
	}
	if found.From != "" {
		out.Question.NeededInput = append([]string{fmt.Sprintf("what was there: git show %s", found.From)}, out.Question.NeededInput...)
	}
	out.Question.NeededInput = append(out.Question.NeededInput, "or, where the repository is at fault: "+run.FixWord+" and what to change in it")
}

// RepositoryError is the type of errors about the user's repository that only a person can mend: it
// lacks objects, it cannot be read, its list of borrowed objects names something else, or its branch of the
// run's name belongs to another.
const RepositoryError = run.CodeRepository

// makePermanent makes an error about the user's repository permanent.
func makePermanent(err *error) {
	if _, ok := errors.AsType[*NotBoxed](*err); ok {
		*err = report.Permanent(SandboxError, *err)
		return
	}
	if errors.Is(*err, git.ErrObject) || errors.Is(*err, git.ErrNotRepository) || errors.Is(*err, workspace.ErrForeign) || errors.Is(*err, checkout.ErrBorrowed) {
		*err = report.Permanent(RepositoryError, *err)
	}
}
