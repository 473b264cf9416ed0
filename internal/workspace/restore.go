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

// Told is asked before a branch that somebody has moved is put back, while the
// workspace is locked, and keeps what it is told. An error of it leaves the
// branch as it is.
type Told func(run.Restored) error

// Restore makes the branch stand at head, whatever became of it since the run
// put it there: moved, gone, made another name of some reference, its name
// taken by something else. What has git show something else in place of the run's
// own objects is taken away as well. It returns what it found, nil when all was well. The commit that stood
// there is not lost: the result and tell name it.
//
// Only who knows that the run stands at head may ask for it: tell is the place to
// make sure, for a worker that slept comes late.
func (w *Workspace) Restore(ctx context.Context, head run.Commit, tell Told) (*run.Restored, error) {
	if !git.ID(head).Valid() {
		return nil, fmt.Errorf("restore branch: commit %q: not a full commit id", string(head))
	}
	held, err := w.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("restore branch %s: %w", w.Branch(), err)
	}
	defer held.Close()
	found, err := w.restore(ctx, held, head, tell)
	if err != nil {
		return nil, fmt.Errorf("restore branch %s to %s: %w", w.Branch(), head, err)
	}
	return found, nil
}

func (w *Workspace) restore(ctx context.Context, held *os.File, head run.Commit, tell Told) (*run.Restored, error) {
	at, err := w.stands(ctx)
	if err != nil {
		return nil, err
	}
	disguise, err := w.disguised(ctx, at.replaced, head)
	if err != nil || at.at(head) && disguise.none() {
		return nil, err
	}
	found := at.restored(head)
	if !disguise.none() {
		found.Was += fmt.Sprintf(", and git showed something else in place of its objects: %v", disguise)
	}
	if err := tell(found); err != nil {
		return nil, err
	}
	failpoint.Hit("branch.told")
	if err := w.reveal(ctx, disguise); err != nil {
		return nil, err
	}
	return &found, w.put(ctx, held, at, head)
}

func (s standing) restored(to run.Commit) run.Restored {
	r := run.Restored{From: s.commit, To: to, Was: s.what()}
	if s.at(to) {
		r.Was = "it was in place"
	}
	return r
}

// put makes the branch stand at a commit, unless somebody comes in between, which
// is an ErrMoved.
func (w *Workspace) put(ctx context.Context, held *os.File, at standing, to run.Commit) error {
	if at.commit == "" {
		var err error
		if at, err = w.clear(ctx, at); err != nil {
			return err
		}
	}
	failpoint.Hit("branch.cleared")
	err := w.swap(ctx, held, at, to)
	if err == nil || at.commit != "" || errors.Is(err, ErrMoved) {
		return err
	}
	// Nothing that git would read is there, and yet no branch can be.
	if err := w.unplug(); err != nil {
		return err
	}
	if at, err = w.stands(ctx); err != nil {
		return err
	}
	return w.swap(ctx, held, at, to)
}

// clear takes away what keeps a branch from being there, and reads what stands
// there then.
func (w *Workspace) clear(ctx context.Context, at standing) (standing, error) {
	if err := w.drop(ctx, at.blocking); err != nil {
		return at, err
	}
	if !at.plain() {
		if err := w.unplug(); err != nil {
			return at, err
		}
	}
	return w.stands(ctx)
}

// unplug removes what is in the place of the branch's file.
func (w *Workspace) unplug() error {
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
