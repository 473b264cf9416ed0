// Package workspace keeps the changes of a run: on a branch of its own in the user's repository,
// and in a work tree where they are checked. The branch is the truth. It moves from commit to
// commit by one compare-and-swap, and a move by anything else is undone. The work tree is a cache
// of a commit. It is made again whenever it is in doubt, in a repository of its own that borrows the
// objects of the user's repository. The package never touches the user's own checkout, index, HEAD,
// branches or stash.
//
// Every method may be repeated, and may follow a kill of the process at any point of an earlier
// one.
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

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// The errors that a caller tells apart.
var (
	ErrForeign = errors.New("the branch is not the run's") // no retry helps
	// ErrBranchTaken reports a branch that is there, or whose name excludes the wanted one.
	ErrBranchTaken = errors.New("a branch is in the way")
)

// Spec names a workspace.
type Spec struct {
	Repo   string     // the repository: Source.Root
	Prefix string     // the sub-directory that all paths here are relative to: Source.Prefix
	RunID  run.ID     // names the run's branch, unless Branch does
	Name   run.Name   // the run's short name, whose number Branch may have; empty: it has none
	Branch string     // short name, as run.CheckBranch accepts it; empty: the branch of RunID
	Base   run.Commit // the commit that the branch starts from
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

// Open returns the workspace that spec names, in the repository that it finds. It changes nothing.
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
	dir, err := resolvePath(spec.Dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	if spec.Branch == "" {
		spec.Branch = spec.RunID.Branch()
	} else if err := run.CheckBranch(spec.Branch, spec.RunID, spec.Name); err != nil {
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
		ref:     "refs/heads/" + spec.Branch,
		repo:    repo,
		objects: git.NewObjects(repo),
	}, nil
}

// Close ends the processes that read for the workspace. It removes nothing.
func (w *Workspace) Close() error { return w.objects.Close() }

// Dir returns the top of the work tree, as an absolute path without symbolic links.
func (w *Workspace) Dir() string { return w.spec.Dir }

// WorkDir returns the directory that checks run in: the sub-directory of the work tree that the run
// is about.
func (w *Workspace) WorkDir() string {
	return filepath.Join(w.spec.Dir, filepath.FromSlash(w.spec.Prefix))
}

// Branch returns the short name of the run's branch.
func (w *Workspace) Branch() string { return w.spec.Branch }

// resolvePath returns path as git writes it: absolute and free of symbolic links. The path need not
// exist.
func resolvePath(path string) (string, error) {
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

// commonDir returns the git directory that all work trees of a repository share. It recognizes a
// plain checkout by its files, and asks git about everything else.
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

// refuseReftable returns ErrReftable for a repository that keeps its references in reftables. The
// work trees and locks of this package do not support them.
func refuseReftable(common string) error {
	if _, err := os.Lstat(filepath.Join(common, "reftable")); err == nil {
		return ErrReftable
	}
	return nil
}

// CheckFree returns an error that matches ErrBranchTaken unless a run can have the branch: neither it nor a
// branch whose name excludes it exists. Names that differ in the case of letters alone count as one,
// because they are one file on some file systems.
func CheckFree(ctx context.Context, repo, branch string) error {
	common, err := commonDir(ctx, repo)
	if err != nil {
		return fmt.Errorf("branches of %s: %w", repo, err)
	}
	out, err := git.Repo{Dir: common, GitDir: common}.Run(ctx, "for-each-ref", "--format=%(refname)", "refs/heads/")
	if err != nil {
		return fmt.Errorf("branches of %s: %w", repo, err)
	}
	wanted := strings.ToLower(branch)
	for line := range strings.Lines(string(out)) {
		name := strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "refs/heads/")
		there := strings.ToLower(name)
		if there == wanted {
			return fmt.Errorf("branch %s already exists: %w", display.Line(name), ErrBranchTaken)
		}
		if strings.HasPrefix(wanted, there+"/") || strings.HasPrefix(there, wanted+"/") {
			return fmt.Errorf("branch %s cannot exist beside branch %s: %w", branch, display.Line(name), ErrBranchTaken)
		}
	}
	return nil
}

// lockForChange locks the workspace for a change, until unlock.
func (w *Workspace) lockForChange(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(w.spec.Dir), 0o755); err != nil {
		return nil, err
	}
	return git.Lock(ctx, w.spec.Dir+".lock")
}

// unlock releases the lock of lockForChange. It removes the lock's file where there is no workspace, as for an
// attempt of a worker that slept until the run was over.
func (w *Workspace) unlock(held *os.File) {
	if _, err := os.Lstat(w.spec.Dir); errors.Is(err, os.ErrNotExist) && !w.hasBegun() {
		_ = git.RemoveLock(held)
	}
	held.Close()
}
