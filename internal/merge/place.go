package merge

import (
	"bytes"
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
	repo   git.Repo // runs in the shared git directory
	common string
	gitDir string // of the work tree
	root   string // of the work tree; empty for a bare repository
}

func locateRepository(ctx context.Context, dir string) (place, error) {
	r := git.Repo{Dir: dir}
	out, err := r.Run(ctx, "rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir", "--is-bare-repository")
	if err != nil {
		return place{}, fmt.Errorf("repository %s: %w", dir, err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 3 {
		return place{}, fmt.Errorf("repository %s: is a line feed in its path?", dir)
	}
	at := place{repo: git.Repo{Dir: lines[1], GitDir: lines[1]}, common: lines[1], gitDir: lines[0]}
	if lines[2] == "true" {
		return at, nil
	}
	top, err := r.Run(ctx, "rev-parse", "--path-format=absolute", "--show-toplevel")
	at.root = strings.TrimSuffix(string(top), "\n")
	return at, err
}

// headBranch returns the short name of the branch that the work tree has checked out; empty if it is detached.
func (at place) headBranch(ctx context.Context) (string, error) {
	dir := at.gitDir
	out, err := git.Repo{Dir: dir, GitDir: dir}.Run(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil && git.ExitCode(err) != 1 {
		return "", err
	}
	branch, _ := strings.CutPrefix(strings.TrimSpace(string(out)), "refs/heads/")
	return branch, nil
}

// treeTimeout bounds a git that reads or writes a whole work tree. One that is ended while it writes leaves files
// half-way.
const treeTimeout = 10 * time.Minute

// busyError reports a command of the user's that is not finished, or a form of the work tree that only the user's own git
// can write.
type busyError struct{ root, what string }

func (e *busyError) Error() string {
	return fmt.Sprintf("the work tree %s has %s: finish it, or switch to another branch and merge with --into", e.root, e.what)
}

// treeGit returns a git for the user's work tree and index without the user's hooks, filters and drivers. The error is a
// *busyError for a work tree that only the user's own git can write.
func (at place) treeGit(ctx context.Context, w work, head run.Commit) (git.Repo, error) {
	for name, what := range map[string]string{"sharedindex.*": "a split index", "MERGE_HEAD": "a merge under way", "rebase-merge": "a rebase under way", "rebase-apply": "a rebase under way", "CHERRY_PICK_HEAD": "a cherry-pick under way"} {
		if found, _ := filepath.Glob(filepath.Join(at.gitDir, name)); len(found) > 0 {
			return git.Repo{}, &busyError{at.root, what}
		}
	}
	if sparse, err := at.isSparse(ctx); err != nil {
		return git.Repo{}, err
	} else if sparse {
		return git.Repo{}, &busyError{at.root, "a sparse checkout"}
	}
	s, err := at.fileGit(ctx, w, head)
	s.Index = filepath.Join(at.gitDir, "index")
	return s, err
}

// isSparse reports whether the work tree leaves out files of its commit. Git leaves the patterns where they are when
// that ends, and then no longer reads them.
func (at place) isSparse(ctx context.Context) (bool, error) {
	if _, err := os.Lstat(filepath.Join(at.gitDir, "info", "sparse-checkout")); err != nil {
		return false, nil //nolint:nilerr // without patterns nothing is left out, whatever the setting
	}
	return git.Repo{Dir: at.gitDir, GitDir: at.gitDir}.UserSwitch(ctx, "core.sparseCheckout")
}

// fileGit is treeGit with an index of the merge's own, for any work tree.
func (at place) fileGit(ctx context.Context, w work, head run.Commit) (git.Repo, error) {
	rules, err := at.repo.FileRules(ctx)
	if err != nil {
		return git.Repo{}, err
	}
	s, err := w.shadow(at, at.root, git.ID(head), rules...)
	s.Index, s.Timeout = filepath.Join(w.scratch(), "index"), treeTimeout
	return s, err
}

// isAt reports whether index and tracked files of the work tree match the commit.
func (at place) isAt(ctx context.Context, w work, commit run.Commit) (bool, error) {
	s, err := at.treeGit(ctx, w, commit)
	if err != nil {
		return false, err
	}
	out, err := s.Run(ctx, "status", "-z", "--porcelain=v1", "--untracked-files=no", "--ignore-submodules=all", "--no-renames")
	return len(out) == 0, err
}

// tryTree returns nil if updateTree can bring index and files of the work tree from one commit to another.
func (at place) tryTree(ctx context.Context, w work, from, to run.Commit) error {
	changed, err := at.changedFiles(ctx, from, to)
	if err == nil {
		err = at.checkFilters(ctx, changed)
	}
	if err == nil {
		err = at.checkUntracked(changed, nil)
	}
	if err != nil {
		return err
	}
	s, err := at.treeGit(ctx, w, to)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(at.indexLock()); err == nil {
		return at.lockedError()
	}
	if s.Index, err = w.copyIndex(s.Index); err != nil {
		return err
	}
	if err := refreshIndex(ctx, s); err != nil {
		return err
	}
	_, err = s.Run(ctx, "read-tree", "-m", "-u", "-n", string(from), string(to))
	return at.explainTree(ctx, err, to)
}

// copyIndex copies the index to a place where git may bring up the times of its files without a change that can be seen.
func (w work) copyIndex(from string) (to string, err error) {
	to = filepath.Join(w.scratch(), "index-before")
	if err = git.CopyIndex(to, from); errors.Is(err, fs.ErrNotExist) { // it is empty
		err = nil
	}
	return to, err
}

// refreshIndex brings up the times of files in the index: a file with another time than there is changed for read-tree.
func refreshIndex(ctx context.Context, s git.Repo) error {
	_, err := s.Run(ctx, "update-index", "-q", "--refresh", "--ignore-submodules")
	if git.ExitCode(err) == 1 { // files are changed indeed
		err = nil
	}
	return err
}

// updateTree brings index and files of the work tree from one commit to another. Git begins only if no file is in its
// way that the user has changed or put there. See checkUntracked for ignored files.
func (at place) updateTree(ctx context.Context, w work, from, to run.Commit) (begun bool, err error) {
	s, err := at.treeGit(ctx, w, to)
	if err != nil {
		return false, err
	}
	return at.writeTree(ctx, s, from, to)
}

// writeTree is updateTree by a git of treeGit. Begun is false if surely no file is written: git decides about all files
// at once, and then writes one by one.
func (at place) writeTree(ctx context.Context, s git.Repo, from, to run.Commit) (begun bool, err error) {
	if err := refreshIndex(ctx, s); err != nil {
		return false, at.explainTree(ctx, err, to)
	}
	if _, err := s.Run(ctx, "read-tree", "-m", "-u", "-n", string(from), string(to)); err != nil {
		return false, at.explainTree(ctx, err, to)
	}
	_, err = s.Run(ctx, "read-tree", "-m", "-u", string(from), string(to))
	return true, at.explainTree(ctx, err, to)
}

// explainTree says what git could not do, and what to do where another git has the index, or had it when it was killed,
// or where the user's git hides the change of a file that is in the way.
func (at place) explainTree(ctx context.Context, err error, to run.Commit) error {
	if err == nil {
		return nil
	}
	if _, missing := os.Lstat(at.indexLock()); missing == nil {
		return at.lockedError()
	}
	if e, ok := errors.AsType[*git.Error](err); ok {
		if hidden := at.explainHidden(ctx, e.Stderr); hidden != nil {
			return hidden
		}
	}
	return fmt.Errorf("bring the work tree %s to %.12s: %w", at.root, to, err)
}

func (at place) indexLock() string { return filepath.Join(at.gitDir, "index.lock") }

func (at place) lockedError() error {
	return fmt.Errorf("the index of %s is locked: wait for the git that works there, or remove %s if none does; then merge again", at.root, at.indexLock())
}

// refLock returns the lock that a git has on a reference, or had when it was killed; empty if there is none. Git locks
// HEAD, too, for a move of the branch that it names.
func (at place) refLock(ref string) string {
	for _, name := range []string{ref, "HEAD"} {
		lock := filepath.Join(at.common, filepath.FromSlash(name)+".lock")
		if _, err := os.Lstat(lock); err == nil {
			return lock
		}
	}
	return ""
}

// checkFilters refuses to write files for which the user has set a filter, as Git LFS has: only the user's own
// git knows its program.
func (at place) checkFilters(ctx context.Context, changed []changedFile) error {
	var paths, out bytes.Buffer
	for _, f := range changed {
		paths.WriteString(f.path + "\x00")
	}
	r := git.Repo{Dir: at.root}
	err := r.Do(ctx, git.Command{Args: []string{"check-attr", "-z", "--stdin", "filter"}, Stdin: &paths, Stdout: &out})
	fields := strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00")
	for i := 0; i+2 < len(fields); i += 3 {
		if value := fields[i+2]; value != "unspecified" && value != "unset" {
			return fmt.Errorf("%q goes through the filter %q, which only your own git runs: switch to another branch, merge with --into, and switch back", fields[i], value)
		}
	}
	return err
}

// mergedTip returns the tip of the commits by which the run's head was merged into the branch at tip: the head
// itself, or the last commit that names it. It is empty if there are none.
func (at place) mergedTip(ctx context.Context, id run.ID, head, tip run.Commit) (run.Commit, error) {
	_, err := at.repo.Run(ctx, "merge-base", "--is-ancestor", string(head), string(tip))
	if err == nil {
		return head, nil
	}
	if git.ExitCode(err) != 1 {
		return "", err
	}
	out, err := at.repo.Run(ctx, "log", "--format=%H%x00%(trailers:key=Ratchet-Head,valueonly,separator=%x2C)%x00%(trailers:key=Ratchet-Run,valueonly,separator=%x2C)",
		"--fixed-strings", "--grep="+headTrailer+": "+string(head), string(tip), "--")
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(f) == 3 && f[1] == string(head) && slices.Contains(strings.Split(f[2], ","), string(id)) {
			return run.Commit(f[0]), err
		}
	}
	return "", err
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
		return fmt.Errorf("branch %s is at %.12s by now, not at %.12s", branch, tip, head)
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
