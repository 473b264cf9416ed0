// Package workspace is where a run's changes live: a branch of its own in the
// user's repository, and a work tree where they are checked. The branch is the truth; it moves
// from commit to commit by one compare-and-swap, and what else moves it is put
// back. The work tree is a cache of a commit, re-made whenever it is in doubt, in a
// repository of its own that borrows the objects of the user's. Nothing here touches the
// user's own checkout, index, HEAD, branches or stash.
//
// Every method may be repeated, and may follow a kill of the process at any point
// of an earlier one.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// What a caller branches on.
var (
	ErrMoved    = errors.New("branch has moved on otherwise") // no retry helps
	ErrForeign  = errors.New("the branch is not the run's")   // no retry helps
	ErrNoBranch = errors.New("branch does not exist")
)

// CheckedOutError says that the run's branch is checked out in a work tree of
// somebody else's, which a commit would pull from under them.
type CheckedOutError struct {
	Branch string
	Path   string
}

func (e *CheckedOutError) Error() string {
	return fmt.Sprintf("branch %s is checked out at %s: switch that work tree to another branch", e.Branch, e.Path)
}

// Spec names a workspace.
type Spec struct {
	Repo   string     // the repository: Source.Root
	Prefix string     // the sub-directory that all paths here are relative to: Source.Prefix
	RunID  run.ID     // names the branch
	Base   run.Commit // where the branch starts
	Dir    string     // the work tree; it, Dir+".lock" and Dir+".shadow" belong to the workspace alone
}

const shadowSuffix = ".shadow"

// Workspace is the branch and the work tree of one run. It is safe for
// concurrent use, by several processes too. Close it.
type Workspace struct {
	spec    Spec
	ref     string   // refs/heads/ratchet/...
	repo    git.Repo // runs in the repository's shared git directory
	objects *git.Objects

	mu     sync.Mutex
	listed listing
}

// Open finds the repository of spec. It changes nothing.
func Open(ctx context.Context, spec Spec) (*Workspace, error) {
	if err := spec.RunID.Validate(); err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	if !git.ID(spec.Base).Valid() {
		return nil, fmt.Errorf("open workspace: base %q: not a full commit id", string(spec.Base))
	}
	if spec.Prefix != "" && !filepath.IsLocal(spec.Prefix) {
		return nil, fmt.Errorf("open workspace: prefix %q: not inside the repository", spec.Prefix)
	}
	dir, err := resolve(spec.Dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	spec.Dir, spec.Prefix = dir, strings.Trim(filepath.ToSlash(spec.Prefix), "/")
	common, err := commonDir(ctx, spec.Repo)
	if err == nil {
		err = refuseReftable(common)
	}
	if err != nil {
		return nil, fmt.Errorf("open workspace of %s: %w", spec.Repo, err)
	}
	repo := git.Repo{Dir: common, GitDir: common}
	return &Workspace{
		spec:    spec,
		ref:     "refs/heads/" + spec.RunID.Branch(),
		repo:    repo,
		objects: git.NewObjects(repo),
	}, nil
}

// Close ends the processes that the workspace reads with. It removes nothing.
func (w *Workspace) Close() error { return w.objects.Close() }

// Dir is the top of the work tree, absolute and without symbolic links.
func (w *Workspace) Dir() string { return w.spec.Dir }

// WorkDir is where checks run: the sub-directory of the work tree that the
// run is about.
func (w *Workspace) WorkDir() string {
	return filepath.Join(w.spec.Dir, filepath.FromSlash(w.spec.Prefix))
}

// Branch is the short name of the run's branch.
func (w *Workspace) Branch() string { return w.spec.RunID.Branch() }

// resolve makes a path absolute and free of symbolic links, as git writes it.
// It need not exist.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for parent, rest := filepath.Dir(abs), filepath.Base(abs); ; {
		real, err := filepath.EvalSymlinks(parent)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		parent, rest = filepath.Dir(parent), filepath.Join(filepath.Base(parent), rest)
	}
}

// commonDir finds the git directory that all work trees of a repository
// share. A plain checkout is known at sight; of everything else git is asked.
func commonDir(ctx context.Context, repo string) (string, error) {
	if _, err := os.Stat(repo); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotRepository, err)
	}
	plain := filepath.Join(repo, ".git")
	if fi, err := os.Lstat(plain); err == nil && fi.IsDir() && filepath.IsAbs(plain) {
		if _, err := os.Stat(filepath.Join(plain, "objects")); err == nil {
			return plain, nil
		}
	}
	out, err := git.Repo{Dir: repo}.Run(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	return strings.TrimSuffix(string(out), "\n"), err
}

// refuseReftable refuses what the work trees and locks here are not made for.
func refuseReftable(common string) error {
	if _, err := os.Lstat(filepath.Join(common, "reftable")); err == nil {
		return ErrReftable
	}
	return nil
}

// Head is the commit at the tip of the run's branch. The error matches ErrNoBranch
// when there is no such branch.
func (w *Workspace) Head(ctx context.Context) (run.Commit, error) {
	at, err := w.stands(ctx)
	if err == nil && at.commit == "" {
		err = ErrNoBranch
	}
	if err != nil {
		return "", fmt.Errorf("branch %s: %w", w.Branch(), err)
	}
	return at.commit, nil
}

// Tip is the commit at the tip of the branch of a run, which need have no
// workspace here. The error matches ErrNoBranch when there is no such branch.
func Tip(ctx context.Context, repo string, id run.ID) (run.Commit, error) {
	common, err := commonDir(ctx, repo)
	if err != nil {
		return "", fmt.Errorf("branches of %s: %w", repo, err)
	}
	w := &Workspace{spec: Spec{RunID: id}, ref: "refs/heads/" + id.Branch(), repo: git.Repo{Dir: common, GitDir: common}}
	return w.Head(ctx)
}

// enter locks the workspace for a change; the lock is free again when the file
// is closed.
func (w *Workspace) enter(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(w.spec.Dir), 0o755); err != nil {
		return nil, err
	}
	return git.Lock(ctx, w.spec.Dir+".lock")
}
