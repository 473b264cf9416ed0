// Package merge brings the commits of a completed run to a branch of the user's, by the user's own git. Prepare makes the
// new commits in a temporary work tree and moves nothing. Plan.Apply moves the branch: by `git merge --ff-only` in the
// user's work tree, or by `git update-ref` where no work tree has the branch checked out. So attributes, filters, sparse
// checkouts, hooks, identity and signatures work as in the user's own git, and `git status` explains the state after a
// merge that was killed.
//
// The run's branch is hostile content. Until the branch has moved none of its files is written, except for those in
// conflict and those named .gitattributes, and hooks run in the user's work tree.
//
// The commits themselves tell that a run was merged, by their trailers: nothing else records it.
package merge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// The reasons why nothing is merged. Each is wrapped in one line that says what to do.
var (
	ErrMoved    = errors.New("the branch has changed meanwhile: nothing was merged, try again")
	ErrSwitched = errors.New("a work tree was switched to another branch meanwhile: nothing was merged, try again")
	ErrDetached = errors.New("no branch is checked out: name one with --into BRANCH")
	ErrTarget   = errors.New("no such branch: `git branch` lists the branches for --into")
)

// ConflictError reports files that the run and the branch have both changed. Nothing was changed.
type ConflictError struct {
	Into   string     // the branch
	Commit run.Commit // of the run
	Head   run.Commit // of the run: its last
	Paths  []string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("commit %.12s conflicts with the branch in %s; nothing was changed: resolve it by hand, with `git merge %.12s`", e.Commit, shortList(e.Paths), e.Head)
}

// shortList returns the first of some paths, and how many more there are.
func shortList(paths []string) string {
	const most = 5
	text := strings.Join(paths[:min(len(paths), most)], ", ")
	if more := len(paths) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Input names the commits to merge and the branch that they go to.
type Input struct {
	Repository string // its work tree, or the git directory of a bare one
	RunID      run.ID
	Name       run.Name
	Goal       string
	Base, Head run.Commit // the run's commits are those after Base up to Head
	Earlier    []run.ID   // the runs before it, whose commits are among these; only PrepareUndo asks
	Into       string     // the branch; empty: the one that the work tree has checked out
	Squash     bool       // one commit instead of the run's commits
	By         string     // who merges; empty: the committer
	Checks     []string
	// ApprovedBy holds who approved each of the run's commits. A commit without an approval is not there.
	ApprovedBy map[run.Commit]string
	// WrittenBy names the agent or model that wrote each of the run's commits, their author then. One of whom nothing is
	// known is not there, and keeps its author.
	WrittenBy map[run.Commit]string
}

// Plan is a merge whose commits are made. Nothing refers to them yet.
type Plan struct {
	Into    string     // the branch
	Old     run.Commit // its tip
	New     run.Commit // its tip afterwards
	Commits int        // between Old and New; zero: the branch has all changes of the run already
	// Checked reports that the files of New are those on which the checks of the run passed.
	Checked bool
	// Already is the tip of the commits on the branch by which the run was merged before, or the commit that undid its
	// merge; empty: there is none.
	Already run.Commit
	// Unnamed reports that the user's git knows no identity: Ratchet is the committer.
	Unnamed bool
	// HooksOff is the directory of the work tree in which the merge changes the user's hooks; empty: it does not. Apply
	// runs no hook then.
	HooksOff string

	in   Input
	at   place
	mine bool // the work tree at the place has the branch checked out
	undo bool // the commits take a merge back
}

// Prepare makes the commits of a merge. A merge that was made before is no error: see Plan.Already and Plan.Commits.
func Prepare(ctx context.Context, in Input) (*Plan, error) {
	return prepare(ctx, &Plan{in: in}, func(p *Plan, merged, _ run.Commit) error {
		if p.Already = merged; merged != "" {
			return nil
		}
		return p.makeCommits(ctx)
	})
}

// prepare makes the commits of a plan: commit gets the tip of an earlier merge, or the commit that has undone it.
func prepare(ctx context.Context, p *Plan, commit func(p *Plan, merged, undone run.Commit) error) (_ *Plan, err error) {
	if p.at, err = locate(p.in.Repository, func(args ...string) (string, error) { return git.User{Dir: p.in.Repository}.Run(ctx, args...) }); err != nil {
		return nil, err
	}
	unlock, err := p.at.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := p.findTarget(ctx); err != nil {
		return nil, fmt.Errorf("%s %s: %w", p.verb(), p.in.Repository, err)
	}
	p.New = p.Old
	merged, undone, err := p.at.lastMerge(ctx, p.in.RunID, p.in.Head, p.Old)
	if err != nil {
		return nil, err
	}
	if err = commit(p, merged, undone); err == nil && p.Commits > 0 {
		failpoint.Hit("merge.after-commits")
		err = p.tryTree(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s branch %s: %w", p.verb(), p.Into, err)
	}
	return p, nil
}

func (p *Plan) verb() string {
	if p.undo {
		return "undo on"
	}
	return "merge into"
}

// makeCommits makes the new commits on the tip of the branch.
func (p *Plan) makeCommits(ctx context.Context) error {
	steps, err := p.readSteps(ctx)
	if err != nil {
		return err
	}
	d, err := p.openDraft(ctx)
	if err != nil {
		return err
	}
	defer d.close(context.WithoutCancel(ctx))
	tree, err := p.at.treeOf(ctx, p.Old)
	if err != nil {
		return err
	}
	for _, s := range steps {
		next, err := d.pick(ctx, s, p.in.Head, p.Into)
		if err != nil {
			return err
		}
		if next == tree {
			continue
		}
		if p.New, err = d.commit(ctx, s, p.in.messageOf(s)); err != nil {
			return err
		}
		tree = next
		p.Commits++
	}
	checked, err := p.at.treeOf(ctx, p.in.Head)
	p.Checked = checked == tree
	return err
}

// openDraft makes the temporary work tree at the tip of the branch, and learns who commits.
func (p *Plan) openDraft(ctx context.Context) (*draft, error) {
	d, err := p.at.openDraft(ctx, p.Old)
	if err != nil {
		return nil, err
	}
	failpoint.Hit("merge.in-draft")
	committer, err := d.identify(ctx)
	if err != nil {
		d.close(context.WithoutCancel(ctx))
		return nil, err
	}
	p.Unnamed = committer == ""
	p.in.By = cmp.Or(p.in.By, committer)
	return d, nil
}

// findTarget finds the branch, its tip, and whether the work tree has it checked out.
func (p *Plan) findTarget(ctx context.Context) error {
	head, err := p.at.headBranch(ctx)
	if err != nil {
		return err
	}
	if p.Into = p.in.Into; p.Into == "" {
		p.Into = head
	}
	if p.Into == "" {
		return ErrDetached
	}
	p.mine = head == p.Into && p.at.root != ""
	refs, err := p.at.repo.Run(ctx, "for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", p.ref())
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(refs)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(f) == 3 && f[0] == p.ref() && f[2] == "" {
			p.Old = run.Commit(f[1])
		}
	}
	if p.Old == "" {
		return fmt.Errorf("branch %s: %w", p.Into, ErrTarget)
	}
	if p.mine {
		return nil
	}
	return p.at.repo.CheckUnused(ctx, p.ref())
}

func (p *Plan) ref() string { return "refs/heads/" + p.Into }

// tryTree refuses to merge into a work tree whose files are in the way, before checks take their time.
func (p *Plan) tryTree(ctx context.Context) (err error) {
	if !p.mine {
		return nil
	}
	u := p.at.user()
	_, _ = u.Run(ctx, "update-index", "-q", "--refresh") // read-tree takes a file with another time for changed
	if _, err := u.Run(ctx, "read-tree", "-m", "-u", "--dry-run", "--no-recurse-submodules", string(p.Old), string(p.New)); err != nil {
		return fmt.Errorf("the work tree %s: %w: commit, stash or move the files in the way, then try again", p.at.root, err)
	}
	p.HooksOff, err = p.at.changedHooks(ctx, p.Old, p.New)
	return err
}

// changedHooks returns the directory of the work tree that holds the user's hooks, if a merge changes files in it.
func (at place) changedHooks(ctx context.Context, from, to run.Commit) (string, error) {
	hooks := at.hooks
	if real, err := filepath.EvalSymlinks(hooks); err == nil {
		hooks = real
	}
	rel, err := filepath.Rel(at.root, hooks)
	top, _, _ := strings.Cut(filepath.ToSlash(rel), "/") // hooks call the scripts beside them
	if err != nil || top == ".." {
		return "", nil
	}
	_, err = at.repo.Run(ctx, "diff-tree", "-r", "--quiet", "--no-ext-diff", string(from), string(to), "--", top)
	if git.ExitCode(err) == 1 {
		return top, nil
	}
	return "", err
}

// Apply moves the branch, and the files of the work tree that has it checked out. The error matches ErrMoved
// when the branch has moved since Prepare. It does nothing for a merge that was made before.
func (p *Plan) Apply(ctx context.Context) error {
	if p.Commits == 0 {
		return nil
	}
	failpoint.Hit("merge.before-apply")
	unlock, err := p.at.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	now := &Plan{in: p.in, at: p.at}
	now.in.Into = p.Into
	err = now.findTarget(ctx)
	switch {
	case err == nil && now.Old != p.Old:
		return ErrMoved
	case now.mine != p.mine:
		return ErrSwitched
	case err != nil:
		return err
	}
	ctx = context.WithoutCancel(ctx) // git has the interrupt of the terminal, too, and says what came of it
	u := p.at.user()
	action := "ratchet: merge " // in the log of the branch
	if p.undo {
		action = "ratchet: undo "
	}
	action += string(p.in.RunID)
	u.Environ = []string{"GIT_REFLOG_ACTION=" + action}
	if p.HooksOff != "" {
		u.Config = append(u.Config, noHooks)
	}
	if p.mine {
		_, err = u.Run(ctx, "merge", "--ff-only", "--no-squash", "--no-overwrite-ignore", "--quiet", string(p.New))
	} else {
		_, err = u.Run(ctx, "update-ref", "--no-deref", "-m", action, p.ref(), string(p.New), string(p.Old))
	}
	failpoint.Hit("merge.after-apply")
	return err
}
