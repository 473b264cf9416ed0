package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// ErrMoved reports that something other than the run has moved, deleted or taken its branch. The workspace leaves it as it
// is: a person decides.
var ErrMoved = errors.New("something other than the run has moved its branch")

// CheckBranch returns an error that matches ErrMoved unless the branch stands at a commit.
func (w *Workspace) CheckBranch(ctx context.Context, head run.Commit) error {
	at, err := w.readStanding(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("look at branch %s: %w", w.Branch(), err)
	case !at.isAt(head):
		return w.movedError(at, head)
	}
	return nil
}

// movedError returns an ErrMoved that says where the branch is, where the run has it, and how it is put back.
func (w *Workspace) movedError(at standing, head run.Commit) error {
	return fmt.Errorf("%w %s: %s (%s); `git update-ref --no-deref %s %s` puts it back",
		ErrMoved, w.Branch(), display.Line(at.inWords()), cmp.Or(at.commit, "no commit"), w.ref, head)
}
