package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Prepare makes the branch at Base when there is none, and notes that it is the run's. It writes no file of
// the work tree: Sync does, before anything runs there. The error matches ErrForeign when the branch exists
// and does not come from Base.
func (w *Workspace) Prepare(ctx context.Context) error {
	held, err := w.lockForChange(ctx)
	if err != nil {
		return fmt.Errorf("prepare workspace: %w", err)
	}
	defer w.unlock(held)
	tip, err := w.ensureBranch(ctx, held)
	if err == nil {
		_, err = w.openShadow(tip)
	}
	if err != nil {
		return fmt.Errorf("prepare workspace: %w", err)
	}
	return nil
}

// ensureBranch makes the branch when there is none, and returns its tip.
func (w *Workspace) ensureBranch(ctx context.Context, held *os.File) (run.Commit, error) {
	at, err := w.readStanding(ctx)
	switch {
	case err != nil:
		return "", err
	case w.hasBegun():
		return cmp.Or(at.commit, w.spec.Base), nil // CheckBranch reports changes of the branch since
	case at.isNowhere():
		failpoint.Hit("workspace.before-create-branch")
		if err := w.swapBranch(ctx, held, at, w.spec.Base); err != nil {
			return "", fmt.Errorf("create branch %s: %w", w.Branch(), err)
		}
		failpoint.Hit("workspace.after-create-branch")
		return w.spec.Base, nil
	case at.isAt(w.spec.Base):
		return w.spec.Base, nil
	case !at.isPlain():
		return "", fmt.Errorf("branch %s: %s: %w", w.Branch(), at.inWords(), ErrForeign)
	}
	_, err = w.repo.Run(ctx, "merge-base", "--is-ancestor", string(w.spec.Base), string(at.commit))
	if git.ExitCode(err) == 1 {
		err = fmt.Errorf("branch %s: %s does not descend from %s: %w", w.Branch(), at.commit, w.spec.Base, ErrForeign)
	}
	if err == nil {
		err = w.checkOwned(ctx, at.commit)
	}
	return at.commit, err
}

// hasBegun reports whether the workspace existed before. The branch is ours then.
func (w *Workspace) hasBegun() bool {
	_, err := os.Lstat(filepath.Join(w.shadowPath(), "HEAD"))
	return err == nil
}

// shadowPath returns the path of our own git directory for the work tree, beside it.
func (w *Workspace) shadowPath() string { return w.spec.Dir + shadowSuffix }

// Remove removes the work tree and everything that belongs to it. The branch stays.
func (w *Workspace) Remove(ctx context.Context) error {
	held, err := w.lockForChange(ctx)
	if err != nil {
		return fmt.Errorf("remove workspace: %w", err)
	}
	defer w.unlock(held)
	failpoint.Hit("workspace.before-remove")
	if err := w.eraseAll(); err != nil {
		return fmt.Errorf("remove workspace: %w", err)
	}
	failpoint.Hit("workspace.after-remove")
	if err := os.Remove(held.Name()); err != nil {
		return fmt.Errorf("remove workspace: %w", err)
	}
	return nil
}

// Clear removes the work tree, with the ignored files that Sync leaves in it. Branch and records stay, and Sync
// makes the tree again.
func (w *Workspace) Clear(ctx context.Context) error {
	held, err := w.lockForChange(ctx)
	if err != nil {
		return fmt.Errorf("clear work tree: %w", err)
	}
	defer w.unlock(held)
	failpoint.Hit("workspace.before-clear")
	if err := git.RemoveTree(w.spec.Dir); err != nil {
		return fmt.Errorf("clear work tree: %w", err)
	}
	failpoint.Hit("workspace.after-clear")
	return nil
}

// Discard removes a workspace whose repository no longer exists. It fails only when a directory
// cannot be removed.
func Discard(dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("discard workspace: %w", err)
	}
	defer parent.Close()
	for _, suffix := range []string{"", shadowSuffix, ".lock"} {
		if err := git.RemoveAll(parent, filepath.Base(dir)+suffix); err != nil {
			return fmt.Errorf("discard workspace: %w", err)
		}
	}
	return nil
}

// eraseAll removes the work tree first and its records last. A kill in between leaves something to
// find the rest by.
func (w *Workspace) eraseAll() error {
	parent, err := os.OpenRoot(filepath.Dir(w.spec.Dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	name := filepath.Base(w.spec.Dir)
	if err := git.RemoveAll(parent, name); err != nil {
		return err
	}
	failpoint.Hit("workspace.mid-erase")
	return git.RemoveAll(parent, name+shadowSuffix)
}
