package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// undoneTrailer is the trailer that names a run in the commit that undoes its merge.
const undoneTrailer = "Ratchet-Undone"

// ErrNotMerged reports that there is nothing to undo.
var ErrNotMerged = errors.New("the run is not merged there")

// PrepareUndo makes the commit that takes the changes of a run's merge back from a branch. It reverts all commits that the
// merge brought as one change. An undo that was made before is no error: see Plan.Already and Plan.Commits.
func PrepareUndo(ctx context.Context, in Input) (*Plan, error) {
	return prepare(ctx, &Plan{in: in, undo: true}, func(p *Plan, merged, undone run.Commit) error {
		p.Already = undone
		switch {
		case undone != "":
			return nil
		case merged == "":
			return ErrNotMerged
		}
		return p.revert(ctx, merged)
	})
}

// revert makes the commit that takes back what came to the branch with the commits up to last.
func (p *Plan) revert(ctx context.Context, last run.Commit) error {
	before, runs, err := p.at.broughtUpTo(ctx, p.in, last)
	if err != nil {
		return err
	}
	d, err := p.openDraft(ctx)
	if err != nil {
		return err
	}
	defer d.close(context.WithoutCancel(ctx))
	back, err := p.at.repo.Run(ctx, "commit-tree", string(before)+"^{tree}", "-p", string(last), "-m", "the state before the merge")
	if err != nil {
		return err
	}
	tree, err := d.pick(ctx, step{commit: run.Commit(strings.TrimSpace(string(back))), of: last}, last, p.Into)
	if conflict, ok := errors.AsType[*ConflictError](err); ok {
		return &UndoConflictError{From: before, To: last, Paths: conflict.Paths}
	}
	if err != nil {
		return err
	}
	old, err := p.at.treeOf(ctx, p.Old)
	if err != nil || tree == old {
		return err
	}
	p.New, err = d.commit(ctx, step{}, p.in.undoMessage(before, last, runs))
	p.Commits = 1
	return err
}

// UndoConflictError reports files that changed after the merge in the lines that it had changed. Nothing was changed.
type UndoConflictError struct {
	From, To run.Commit // the merge is what came after From up to To
	Paths    []string
}

func (e *UndoConflictError) Error() string {
	return fmt.Sprintf("later commits changed the same lines in %s; nothing was changed: resolve it by hand, with `git revert --no-commit %.12s..%.12s`", shortList(e.Paths), e.From, e.To)
}

// broughtUpTo returns the commit before those that a merge brought, of which the last is given, and the runs that they
// are of. They are the commits below the last that name the run, or one before it, and end no other merge.
func (at place) broughtUpTo(ctx context.Context, in Input, last run.Commit) (before run.Commit, runs []run.ID, err error) {
	out, err := at.repo.Run(ctx, "log", "--first-parent", fmt.Sprintf("--max-count=%d", maxCommits+1),
		"--format=%H%x00%(trailers:key=Ratchet-Run,valueonly,separator=%x2C)%x00%(trailers:key="+headTrailer+",valueonly,separator=%x2C)", string(last), "--")
	if err != nil {
		return "", nil, err
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(f) != 3 {
			return "", nil, fmt.Errorf("commit %.12s: its trailers cannot be read", f[0])
		}
		c := run.Commit(f[0])
		if c == in.Base || c != last && f[2] != "" {
			return c, runs, nil
		}
		for word := range strings.SplitSeq(f[1], ",") {
			id := run.ID(word)
			if id != in.RunID && !slices.Contains(in.Earlier, id) {
				return c, runs, nil
			}
			if !slices.Contains(runs, id) {
				runs = append(runs, id)
			}
		}
	}
	return "", nil, fmt.Errorf("the merge has more than %d commits, or no commit before it: undo it with git", maxCommits)
}

// undoMessage returns the message of a commit that undoes a merge.
func (in Input) undoMessage(before, last run.Commit, runs []run.ID) string {
	name := in.Name.Shown(in.RunID)
	lines := []string{
		"Undo " + name + ": " + run.OneLine(in.Goal, "merge of the run"), "",
		fmt.Sprintf("This reverts what came after commit %s up to commit %s.", before, last), "",
	}
	if in.By != "" {
		lines = append(lines, trailer("Undone-by", in.By))
	}
	for _, id := range runs {
		lines = append(lines, trailer(undoneTrailer, string(id)))
	}
	return strings.Join(lines, "\n") + "\n"
}
