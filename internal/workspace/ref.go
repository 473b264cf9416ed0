package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// staleRefLock is how old a lock on the run's branch is that nobody holds any more: the
// workspace's own lock keeps Ratchet out, and git itself is done in milliseconds.
const staleRefLock = 2 * time.Second

// swap moves the branch from old to new, at once and only if it is at old; an old
// of zeros is no branch. It is done, too, when the branch is at new already. The
// error matches ErrMoved when it is anywhere else. The caller holds the lock.
func (w *Workspace) swap(ctx context.Context, held *os.File, old, new run.Commit) error {
	cause := w.updateRef(ctx, held, old, new)
	for cause != nil {
		tip, err := w.tip(ctx)
		switch {
		case err != nil:
			return errors.Join(cause, err)
		case tip == new:
			return nil
		case cmp.Or(tip, zero(old)) != old:
			return fmt.Errorf("at %s, not at %s: %w", cmp.Or(string(tip), "no commit"), old, ErrMoved)
		}
		freed, err := w.freeRef(ctx)
		if !freed {
			return errors.Join(cause, err)
		}
		cause = w.updateRef(ctx, held, old, new)
	}
	return nil
}

func zero(like run.Commit) run.Commit { return run.Commit(git.ID(like).Zero()) }

func (w *Workspace) updateRef(ctx context.Context, held *os.File, old, new run.Commit) error {
	repo := w.repo
	repo.Keep = held
	_, err := repo.Run(ctx, "update-ref", "-m", "ratchet", w.ref, string(new), string(old))
	return err
}

// freeRef waits for git's own lock on the branch, and removes one that a killed
// git has left. False when there is none, so that the lock was not the trouble.
func (w *Workspace) freeRef(ctx context.Context) (bool, error) {
	name := filepath.Join(w.repo.GitDir, filepath.FromSlash(w.ref)+".lock")
	for seen := false; ; seen = true {
		fi, err := os.Lstat(name)
		switch {
		case err != nil:
			return seen, nil
		case time.Since(fi.ModTime()) > staleRefLock:
			return true, os.Remove(name)
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
