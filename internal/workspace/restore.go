package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Told is called before a branch that was moved from outside is put back, while the workspace is
// locked. It records its argument. An error of it leaves the branch as it is.
type Told func(run.Restored) error

// Restore makes the branch stand at head, whatever happened to it since the run put it there: it
// was moved, deleted, made another name of some reference, or its name was taken by something else.
// Restore also removes replacements and grafts that make git show something else in place of the
// run's own objects. It returns what it found, or nil when all was well. The commit that stood
// there is not lost: the result and tell name it.
//
// Restore moves no branch that a work tree of the user's uses, as its HEAD or in a rebase. It returns what it found
// and an error that matches *git.InUseError.
//
// Only a caller that knows that the run stands at head may call Restore. tell is the place to make
// sure, because a worker that slept comes late.
func (w *Workspace) Restore(ctx context.Context, head run.Commit, tell Told) (*run.Restored, error) {
	if !git.ID(head).Valid() {
		return nil, fmt.Errorf("restore branch: commit %q: not a full commit id", string(head))
	}
	held, err := w.lockForChange(ctx)
	if err != nil {
		return nil, fmt.Errorf("restore branch %s: %w", w.Branch(), err)
	}
	defer w.unlock(held)
	found, err := w.restoreLocked(ctx, held, head, tell)
	if err != nil {
		err = fmt.Errorf("restore branch %s to %s: %w", w.Branch(), head, err)
	}
	return found, err
}

func (w *Workspace) restoreLocked(ctx context.Context, held *os.File, head run.Commit, tell Told) (*run.Restored, error) {
	at, err := w.readStanding(ctx)
	if err != nil {
		return nil, err
	}
	disguise, err := w.findDisguises(ctx, at.replaced, head)
	if err != nil || at.isAt(head) && disguise.isNone() {
		return nil, err
	}
	found := at.restoredTo(head)
	if !disguise.isNone() {
		found.Was += fmt.Sprintf(", and git showed something else in place of its objects: %v", disguise)
	}
	if !at.isAt(head) {
		if err := w.checkUnused(at); err != nil {
			return &found, err
		}
	}
	if err := tell(found); err != nil {
		return nil, err
	}
	failpoint.Hit("branch.told")
	if err := w.removeDisguises(ctx, disguise); err != nil {
		return nil, err
	}
	if err := w.putBranch(ctx, held, at, head); err != nil {
		return nil, err
	}
	return &found, nil
}

// checkUnused returns a *git.InUseError when a work tree of the user's uses the branch. Of a HEAD that is not read here
// git has the last word.
func (w *Workspace) checkUnused(at standing) error {
	uses := append(git.FindUses(w.repo.GitDir), git.Use{Ref: w.ref, Task: git.CheckedOut, Tree: at.worktree})
	for _, use := range uses {
		if use.Ref == w.ref && use.Tree != "" && use.Tree != w.spec.Dir { // an old version registered Dir itself
			return git.NewInUseError(w.repo.GitDir, w.ref, use)
		}
	}
	return nil
}

func (s standing) restoredTo(to run.Commit) run.Restored {
	r := run.Restored{From: s.commit, To: to, Was: s.inWords()}
	if s.isAt(to) {
		r.Was = "it was in place"
	}
	return r
}

// putBranch makes the branch stand at a commit. The error matches ErrMoved when the branch is changed
// meanwhile.
func (w *Workspace) putBranch(ctx context.Context, held *os.File, at standing, to run.Commit) error {
	if at.commit == "" {
		var err error
		if at, err = w.clearBranchName(ctx, at); err != nil {
			return err
		}
	}
	failpoint.Hit("branch.cleared")
	err := w.swapBranch(ctx, held, at, to)
	if err == nil || at.commit != "" || errors.Is(err, ErrMoved) {
		return err
	}
	// Git finds nothing to read there, and still cannot make a branch.
	if err := w.removeOddFile(); err != nil {
		return err
	}
	if at, err = w.readStanding(ctx); err != nil {
		return err
	}
	return w.swapBranch(ctx, held, at, to)
}

// ownRefs is the directory of branches that belongs to runs alone.
const ownRefs = "refs/heads/ratchet"

// clearBranchName removes everything that keeps a branch from being there, and returns the standing after
// that. It removes no other branch outside of the directory that belongs to runs: there it may be the
// user's, and the error matches ErrForeign.
func (w *Workspace) clearBranchName(ctx context.Context, at standing) (standing, error) {
	if len(at.blocking) > 0 && path.Dir(w.ref) != ownRefs {
		return at, fmt.Errorf("%v is in the way: rename it: %w", at.blocking, ErrForeign)
	}
	if err := w.deleteRefs(ctx, at.blocking); err != nil {
		return at, err
	}
	if !at.isPlain() {
		if err := w.removeOddFile(); err != nil {
			return at, err
		}
	}
	return w.readStanding(ctx)
}

// removeOddFile removes the thing in the place of the branch's file.
func (w *Workspace) removeOddFile() error {
	root, err := os.OpenRoot(w.repo.GitDir)
	if err != nil {
		return err
	}
	defer root.Close()
	parent := path.Dir(w.ref)
	if fi, err := root.Stat(parent); err == nil && !fi.IsDir() {
		if err := root.Remove(parent); err != nil {
			return err
		}
	}
	return git.RemoveAll(root, w.ref)
}
