package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/verdict"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// BranchInput names the commit that the run's branch has to be at.
type BranchInput struct {
	Header
	Head run.Commit `json:"head"`
}

// BranchResult is what had become of the branch; nil: it is where it has to be.
type BranchResult struct {
	Restored *run.Restored `json:"restored,omitempty"`
}

// CheckBranch puts the branch of a run that is about to complete back to its
// head, if anything has moved it, once nothing of the run works any more. A second
// call finds it there; what the first had found is then in the log alone.
func (a *Activities) CheckBranch(ctx context.Context, in BranchInput) (_ BranchResult, err error) {
	_, stop := pulse(ctx, Beat{Doing: "looks at the branch"})
	defer stop()
	defer lasting(&err)
	if err := errors.Join(a.record(ctx, in.Header), a.stopAgents(ctx, in.RunID)); err != nil {
		return BranchResult{}, err
	}
	w, release, err := a.workspaces.use(ctx, in.Header)
	if err != nil {
		return BranchResult{}, err
	}
	defer release()
	found, err := w.Restore(ctx, in.Head, a.tell(in.RunID, func(s *run.Snapshot) bool {
		return s.Next.Do == run.Finish && s.Head == in.Head
	}))
	failpoint.Hit("complete.branch")
	return BranchResult{Restored: shown(found)}, err
}

// tell keeps in the run's log what had become of its branch, and lets it be put
// back only while the record says that the activity that asks is due: one in a worker
// that slept comes late, and the run may have gone on from there.
func (a *Activities) tell(id run.ID, due func(*run.Snapshot) bool) workspace.Told {
	return func(found run.Restored) error {
		dir := a.runs.Run(id)
		s, err := dir.Sealed()
		if err != nil {
			return fmt.Errorf("%s: %w; the record does not say where the run stands: %w", shown(&found).Found(), workspace.ErrMoved, err)
		}
		if !due(s) {
			return fmt.Errorf("%s: %w; the run has gone on", shown(&found).Found(), workspace.ErrMoved)
		}
		return dir.Log("branch", rundir.Error, "moved by others", map[string]any{
			"branch": id.Branch(), "from": found.From, "to": found.To, "was": clip(found.Was, maxLogged),
		})
	}
}

// shown is r for a record that people read: names of references may be anything.
func shown(r *run.Restored) *run.Restored {
	if r == nil {
		return nil
	}
	safe := *r
	safe.Was = clip(patch.Display(r.Was), 2*maxSummary)
	return &safe
}

// afterChecks looks at the branch once the checks have run. Of checks that moved
// it, or during which somebody did, there is no verdict, for what was judged may not be
// what is there: a person has to see it.
func (a *Activities) afterChecks(ctx context.Context, w *workspace.Workspace, in CheckInput, tell workspace.Told, e *Evaluation, out *Judgement) error {
	var seen *run.Restored
	found, err := w.Restore(ctx, in.Commit, func(r run.Restored) error {
		seen = shown(&r)
		return tell(r)
	})
	switch {
	case errors.Is(err, workspace.ErrMoved) && seen != nil:
		moved(in.RunID, *seen, seen.Found()+", and was not put back, for the record does not say that the run is here", e, out)
		return nil
	case err != nil:
		return err
	case found != nil:
		e.Restored = shown(found)
		moved(in.RunID, *e.Restored, e.Restored.String(), e, out)
	}
	return nil
}

// moved makes the verdict a question.
func moved(id run.ID, found run.Restored, how string, e *Evaluation, out *Judgement) {
	what := fmt.Sprintf("while the checks ran, the run's branch %s was changed: %s", id.Branch(), how)
	e.Verdict, out.Verdict = verdict.Ask, run.Blocked
	e.Reasons = append([]string{what}, e.Reasons...)
	out.Again, out.Reasons = true, clipAll(e.Reasons)
	out.Question = &run.Question{
		Question:    clip("W"+what[1:]+". What shall be done?", run.MaxTextBytes/4),
		Reason:      "only approved patches belong on the branch",
		NeededInput: []string{"see to it that no check touches the branch, and answer anything: the checks run again"},
	}
	if found.From != "" {
		out.Question.NeededInput = append([]string{fmt.Sprintf("what was there: git show %s", found.From)}, out.Question.NeededInput...)
	}
	out.Question.NeededInput = append(out.Question.NeededInput, "or, where the repository is at fault: "+run.FixWord+" and what to change in it")
}

// RepositoryError is the type of errors about the user's repository that a
// person alone can mend: it lacks objects, it cannot be read, its branch of the
// run's name is another's.
const RepositoryError = run.CodeRepository

// lasting makes an error about the user's repository permanent.
func lasting(err *error) {
	if errors.Is(*err, git.ErrObject) || errors.Is(*err, git.ErrNotRepository) || errors.Is(*err, workspace.ErrForeign) {
		*err = permanent(RepositoryError, *err)
	}
}
