package merge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// draftName is the temporary work tree in the shared git directory. A merge that is killed leaves it, and the next one
// removes it.
const draftName = "ratchet-merge"

const noHooks = "core.hooksPath=" + os.DevNull

// draft is the temporary work tree. It is a sparse checkout that holds the files named .gitattributes alone: git reads
// them from there, and merges all others without writing them.
type draft struct {
	at     place
	dir    string
	gitDir string
	env    []string // the identity, if the user's git knows none
}

// openDraft makes the temporary work tree, with a commit checked out. It needs the lock of the place.
func (at place) openDraft(ctx context.Context, commit run.Commit) (*draft, error) {
	d := &draft{at: at, dir: filepath.Join(at.common, draftName)}
	if err := d.checkOut(ctx, commit); err != nil {
		d.close(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("make a temporary work tree: %w", err)
	}
	return d, nil
}

func (d *draft) checkOut(ctx context.Context, commit run.Commit) error {
	if err := os.RemoveAll(d.dir); err != nil { // of a merge that was killed; --force has git forget that it was there
		return err
	}
	if _, err := d.common().Run(ctx, "worktree", "add", "--force", "--force", "--detach", "--no-checkout", d.dir, string(commit)); err != nil {
		return err
	}
	own, err := git.User{Dir: d.dir}.Run(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return err
	}
	d.gitDir = strings.TrimSuffix(own, "\n")
	patterns := filepath.Join(d.gitDir, "info", "sparse-checkout")
	if err := errors.Join(os.MkdirAll(filepath.Dir(patterns), 0o700), os.WriteFile(patterns, []byte(".gitattributes\n"), 0o600), d.passHooks()); err != nil {
		return err
	}
	_, err = d.git().Run(ctx, "read-tree", "-m", "-u", "HEAD")
	return err
}

// passHooks has the user's hooks for messages run for the commits of a merge. Git runs no other hook for a commit that it
// picks.
func (d *draft) passHooks() error {
	own := filepath.Join(d.gitDir, "hooks")
	errs := os.Mkdir(own, 0o700)
	for _, name := range []string{"prepare-commit-msg", "commit-msg"} {
		hook := filepath.Join(d.at.hooks, name)
		if info, err := os.Stat(hook); err == nil && info.Mode()&0o111 != 0 {
			script := "#!/bin/sh\nexec " + shellquote.Join(hook) + " \"$@\"\n"
			errs = errors.Join(errs, os.WriteFile(filepath.Join(own, name), []byte(script), 0o700))
		}
	}
	return errs
}

// git returns the user's git in the temporary work tree.
func (d *draft) git() git.User {
	return git.User{Dir: d.dir, GitDir: d.gitDir, WorkTree: d.dir, Environ: d.env, Config: []string{
		noHooks, "core.sparseCheckout=true", "core.sparseCheckoutCone=false", "core.fsmonitor=false", "submodule.recurse=false", "gc.auto=0", "maintenance.auto=false",
	}}
}

// identify returns the committer as "name <address>"; empty if the user's git knows no identity, and Ratchet's is taken.
func (d *draft) identify(ctx context.Context) (string, error) {
	ident, err := d.git().Run(ctx, "var", "GIT_COMMITTER_IDENT")
	if err == nil {
		return ident[:strings.LastIndexByte(ident, '>')+1], nil
	}
	if git.ExitCode(err) != 128 {
		return "", err
	}
	d.env = []string{"GIT_COMMITTER_NAME=" + git.Name, "GIT_COMMITTER_EMAIL=" + git.Email, "GIT_AUTHOR_NAME=" + git.Name, "GIT_AUTHOR_EMAIL=" + git.Email}
	return "", nil
}

// pick does the change of a step on the draft and returns the tree that results. The error is a *ConflictError where both
// sides have changed the same lines.
func (d *draft) pick(ctx context.Context, s step, head run.Commit, into string) (git.ID, error) {
	u := d.git()
	if _, err := u.Run(ctx, "cherry-pick", "--no-commit", string(s.commit)); err != nil {
		paths, other := u.Run(ctx, "diff", "--name-only", "--diff-filter=U", "-z")
		if other == nil && paths != "" {
			err = &ConflictError{Into: into, Commit: s.of, Head: head, Paths: strings.Split(strings.TrimSuffix(paths, "\x00"), "\x00")}
		}
		return "", err
	}
	tree, err := u.Run(ctx, "write-tree")
	return git.ID(strings.TrimSpace(tree)), err
}

// commit commits the picked changes. The hooks run in the user's work tree, not beside the files of the run.
func (d *draft) commit(ctx context.Context, s step, message string) (run.Commit, error) {
	u := d.git()
	u.Config = append(u.Config, "core.sparseCheckout=false", "core.hooksPath="+filepath.Join(d.gitDir, "hooks"))
	if s.author != "" { // else the committer is
		u.Environ = append(u.Environ, "GIT_AUTHOR_NAME="+s.author, "GIT_AUTHOR_EMAIL="+s.email, "GIT_AUTHOR_DATE="+s.date)
	}
	if d.at.root != "" {
		u.Dir, u.WorkTree = d.at.root, d.at.root
	}
	if _, err := u.Run(ctx, "commit", "--quiet", "--cleanup=whitespace", "--message="+message); err != nil {
		return "", err
	}
	head, err := u.Run(ctx, "rev-parse", "HEAD")
	return run.Commit(strings.TrimSpace(head)), err
}

// common returns the user's git in the shared git directory.
func (d *draft) common() git.User {
	return git.User{Dir: d.at.common, GitDir: d.at.common, Config: []string{noHooks}}
}

// close removes the temporary work tree. What stays is removed by the next merge.
func (d *draft) close(ctx context.Context) {
	_ = os.RemoveAll(d.dir)
	_, _ = d.common().Run(ctx, "worktree", "remove", "--force", "--force", d.dir)
}
