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

// isUsed reports whether a work tree has the branch checked out, or may have. A bare repository by itself is none.
func (at place) isUsed(ref string) bool {
	if entries, err := os.ReadDir(filepath.Join(at.common, "worktrees")); at.root == "" && at.gitDir == at.common && (errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0) {
		return false
	}
	used, ok := git.CheckedOut(at.common)
	return !ok || slices.Contains(used, ref)
}

// shadowGit returns a git for the user's work tree and index without the user's hooks, filters and drivers. It
// refuses a work tree whose index only the user's own git can write.
func (at place) shadowGit(ctx context.Context, dir string, head run.Commit) (git.Repo, error) {
	for name, what := range map[string]string{"info/sparse-checkout": "a sparse checkout", "sharedindex.*": "a split index", "MERGE_HEAD": "a merge under way", "rebase-merge": "a rebase under way", "rebase-apply": "a rebase under way", "CHERRY_PICK_HEAD": "a cherry-pick under way"} {
		if found, _ := filepath.Glob(filepath.Join(at.gitDir, name)); len(found) > 0 {
			return git.Repo{}, fmt.Errorf("the work tree %s has %s: finish it, or switch to another branch and merge with --into", at.root, what)
		}
	}
	rules, err := at.repo.FileRules(ctx)
	if err != nil {
		return git.Repo{}, err
	}
	s, err := git.Shadow(filepath.Join(dir, "git"), at.common, at.root, git.ID(head), rules...)
	s.Index = filepath.Join(at.gitDir, "index")
	return s, err
}

// isAt reports whether index and tracked files of the work tree match the commit.
func (at place) isAt(ctx context.Context, commit run.Commit) (bool, error) {
	dir, remove, err := scratchDir()
	if err != nil {
		return false, err
	}
	defer remove()
	s, err := at.shadowGit(ctx, dir, commit)
	if err != nil {
		return false, err
	}
	out, err := s.Run(ctx, "status", "-z", "--porcelain=v1", "--untracked-files=no", "--ignore-submodules=all", "--no-renames")
	return len(out) == 0, err
}

// updateTree brings index and files of the work tree from one commit to another; dry only tries whether it can. Git
// changes nothing unless it can change all: no file that the user has changed or put in the way is written.
func (at place) updateTree(ctx context.Context, from, to run.Commit, dry bool) error {
	if err := at.checkFilters(ctx, from, to); err != nil {
		return err
	}
	dir, remove, err := scratchDir()
	if err != nil {
		return err
	}
	defer remove()
	s, err := at.shadowGit(ctx, dir, to)
	if err != nil {
		return err
	}
	args := []string{"read-tree", "-m", "-u"}
	if dry {
		args = append(args, "-n")
	} else if _, err := s.Run(ctx, "update-index", "-q", "--refresh", "--ignore-submodules"); err != nil && git.ExitCode(err) != 1 {
		return fmt.Errorf("read the index of %s: %w", at.root, err)
	}
	if _, err := s.Run(ctx, append(args, string(from), string(to))...); err != nil {
		return fmt.Errorf("bring the work tree %s to %.12s: %w", at.root, to, err)
	}
	return nil
}

// checkFilters refuses to write files for which the user has set a filter, as Git LFS has: only the user's own
// git knows its program.
func (at place) checkFilters(ctx context.Context, from, to run.Commit) error {
	paths, err := at.repo.Run(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", string(from), string(to))
	if err != nil || len(paths) == 0 {
		return err
	}
	var out bytes.Buffer
	r := git.Repo{Dir: at.root}
	err = r.Do(ctx, git.Command{Args: []string{"check-attr", "-z", "--stdin", "filter"}, Stdin: bytes.NewReader(paths), Stdout: &out})
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

// maxBefore bounds the commits that parentsBefore returns.
const maxBefore = 50

// parentsBefore returns the commits before tip that the merge may have begun at: the parents of the commits of runs
// that end at tip, the nearest first.
func (at place) parentsBefore(ctx context.Context, tip run.Commit) (parents []run.Commit, err error) {
	out, err := at.repo.Run(ctx, "log", "--first-parent", fmt.Sprintf("--max-count=%d", maxBefore), "--format=%(trailers:key=Ratchet-Run,valueonly,separator=%x2C)%x00%P", string(tip), "--")
	for line := range strings.Lines(string(out)) {
		owner, parent, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
		if owner == "" || strings.Contains(parent, " ") || parent == "" {
			break
		}
		parents = append(parents, run.Commit(parent))
	}
	return parents, err
}

// RemoveBranch removes the branch of a run that was merged, unless it is not at the run's head or is checked
// out. It reports whether the branch is gone.
func RemoveBranch(ctx context.Context, repository, branch string, head run.Commit) (bool, error) {
	at, err := locateRepository(ctx, repository)
	if err != nil {
		return false, err
	}
	ref := "refs/heads/" + branch
	if at.isUsed(ref) {
		return false, nil
	}
	now, err := at.repo.Run(ctx, "rev-parse", "--verify", "-q", ref)
	if git.ExitCode(err) == 1 {
		return true, nil
	}
	if err != nil || strings.TrimSpace(string(now)) != string(head) {
		return false, err
	}
	_, err = at.repo.Run(ctx, "update-ref", "--no-deref", "-d", ref, string(head))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	_ = os.Remove(filepath.Join(at.common, "logs", filepath.FromSlash(ref))) // an empty reflog that git may leave
	return err == nil, err
}
