package merge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// place is a repository, with the work tree that the run started from.
type place struct {
	repo   git.Repo // runs in the shared git directory, without the user's configuration
	common string
	gitDir string // of the work tree
	root   string // of the work tree; empty for a bare repository
	hooks  string // the directory of the user's hooks
	// named: git takes the work tree for bare, and must be told of it.
	named bool
}

// locateRepository finds the repository without the user's configuration.
func locateRepository(ctx context.Context, dir string) (place, error) {
	return locate(dir, func(args ...string) (string, error) {
		out, err := git.Repo{Dir: dir}.Run(ctx, args...)
		return string(out), err
	})
}

func locate(dir string, gitIn func(args ...string) (string, error)) (place, error) {
	out, err := gitIn("rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir", "--git-path", "hooks", "--is-bare-repository")
	if err != nil {
		return place{}, fmt.Errorf("repository %s: %w", dir, err)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 4 {
		return place{}, fmt.Errorf("repository %s: its path seems to contain a line feed", dir)
	}
	at := place{repo: git.Repo{Dir: lines[1], GitDir: lines[1]}, common: lines[1], gitDir: lines[0], hooks: lines[2]}
	switch {
	case lines[3] != "true":
		out, err = gitIn("rev-parse", "--path-format=absolute", "--show-toplevel")
		at.root = strings.TrimSuffix(out, "\n")
	case at.gitDir != at.common:
		at.named = true
		at.root, err = git.LinkedTree(at.gitDir)
	}
	return at, err
}

// patience is how long a merge waits for another one into the same repository. Checks run without the lock.
const patience = 10 * time.Second

// lock excludes other merges into the repository. To them the temporary work tree would be one that git has half made.
func (at place) lock(ctx context.Context) (unlock func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lock, err := git.Lock(waiting, filepath.Join(at.common, draftName+".lock"))
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		err = errors.New("another merge or undo in this repository is in progress: wait until it ends, then try again")
	}
	return func() { _, _ = git.RemoveLock(lock), lock.Close() }, err
}

// user returns the user's git in the work tree; in the git directory of a bare repository.
func (at place) user() git.User {
	switch {
	case at.root == "":
		return git.User{Dir: at.common}
	case at.named:
		return git.User{Dir: at.root, GitDir: at.gitDir, WorkTree: at.root}
	}
	return git.User{Dir: at.root}
}

// headBranch returns the short name of the branch that the work tree has checked out; empty if it is detached.
func (at place) headBranch(ctx context.Context) (string, error) {
	out, err := git.Repo{Dir: at.gitDir, GitDir: at.gitDir}.Run(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil && git.ExitCode(err) != 1 {
		return "", err
	}
	branch, _ := strings.CutPrefix(strings.TrimSpace(string(out)), "refs/heads/")
	return branch, nil
}

// treeOf returns the tree of a commit.
func (at place) treeOf(ctx context.Context, c run.Commit) (git.ID, error) {
	out, err := at.repo.Run(ctx, "rev-parse", "--verify", "-q", string(c)+"^{tree}")
	return git.ID(strings.TrimSpace(string(out))), err
}

// lastMerge returns the tip of the commits by which the run's head was merged into the branch at tip: the head itself, or
// the last commit that names it. It is empty if there are none, or if a later commit has undone the merge: then that one
// is returned.
func (at place) lastMerge(ctx context.Context, id run.ID, head, tip run.Commit) (merged, undone run.Commit, err error) {
	_, err = at.repo.Run(ctx, "merge-base", "--is-ancestor", string(head), string(tip))
	if err != nil && git.ExitCode(err) != 1 {
		return "", "", err
	}
	args := []string{"log", "--format=%H%x00%(trailers:key=" + headTrailer + ",valueonly,separator=%x2C)%x00%(trailers:key=Ratchet-Run,valueonly,separator=%x2C)%x00%(trailers:key=" + undoneTrailer + ",valueonly,separator=%x2C)",
		"--fixed-strings", "--grep=" + headTrailer + ": " + string(head), "--grep=" + undoneTrailer + ": " + string(id), string(tip)}
	if err == nil {
		merged, args = head, append(args, "^"+string(head))
	}
	out, err := at.repo.Run(ctx, append(args, "--")...)
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		switch {
		case len(f) != 4:
		case f[1] == string(head) && slices.Contains(strings.Split(f[2], ","), string(id)):
			return run.Commit(f[0]), "", err
		case slices.Contains(strings.Split(f[3], ","), string(id)):
			return "", run.Commit(f[0]), err
		}
	}
	return merged, "", err
}

// RemoveBranch removes the branch of a run that was merged. The error says why it stays: it is not at the run's head,
// or a work tree uses it. It is no error if there is none.
func RemoveBranch(ctx context.Context, repository, branch string, head run.Commit) error {
	at, err := locateRepository(ctx, repository)
	if err != nil {
		return err
	}
	ref := "refs/heads/" + branch
	now, err := at.repo.Run(ctx, "rev-parse", "--verify", "-q", ref)
	if git.ExitCode(err) == 1 {
		return nil
	}
	if err != nil {
		return err
	}
	if tip := strings.TrimSpace(string(now)); tip != string(head) {
		return fmt.Errorf("branch %s is now at %.12s, not at %.12s", branch, tip, head)
	}
	if err := at.repo.CheckUnused(ctx, ref); err != nil {
		return err
	}
	failpoint.Hit("merge.before-remove")
	err = at.repo.DeleteRef(ctx, git.Ref{Name: ref, ID: git.ID(head)})
	failpoint.Hit("merge.after-remove")
	_ = os.Remove(filepath.Join(at.common, "logs", filepath.FromSlash(ref))) // an empty reflog that git may leave
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
