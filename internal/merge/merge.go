// Package merge brings the commits of a completed run to a branch of the user's. Prepare makes the new commits
// and changes nothing that can be seen: neither a reference nor a file. Plan.Apply moves the branch in one
// compare-and-swap, and then, where the user's work tree has that branch checked out, brings its files up.
// After a kill at any point the branch is at the old commit or at the new one, and Finish brings up a work tree
// that was left behind.
//
// The commits themselves tell that a run was merged, by their trailers: nothing else records it.
package merge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// The reasons why nothing is merged. Each is wrapped in one line that says what to do.
var (
	ErrMoved    = errors.New("the branch has moved on meanwhile: nothing was changed, merge again")
	ErrSwitched = errors.New("a work tree was switched to another branch meanwhile: nothing was changed, merge again")
	ErrDirty    = errors.New("changes are not committed: commit or stash them, then merge again")
	ErrDetached = errors.New("no branch is checked out: name one with --into BRANCH")
	ErrTarget   = errors.New("no such branch: --into wants one that `git branch` lists")
	ErrNothing  = errors.New("the branch holds all changes of the run already")
	ErrTooOld   = errors.New("git 2.38 or newer is needed to merge onto a branch that has moved on")
	ErrCutOff   = errors.New("a merge was cut off before it had written the files: merge again without a dry run, which finishes it")
)

// ConflictError reports files that the run and the branch have both changed. Nothing was changed.
type ConflictError struct {
	Commit run.Commit // of the run
	Head   run.Commit // of the run: its last
	Paths  []string
}

func (e *ConflictError) Error() string {
	const most = 5
	paths := strings.Join(e.Paths[:min(len(e.Paths), most)], ", ")
	if more := len(e.Paths) - most; more > 0 {
		paths += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("commit %.12s conflicts with the branch in %s; nothing was changed: settle it by hand, as with `git merge %.12s`", e.Commit, paths, e.Head)
}

// Input names the commits to merge and the branch that they go to.
type Input struct {
	Repository string // its work tree, or the git directory of a bare one
	RunID      run.ID
	Name       run.Name
	Goal       string
	Base, Head run.Commit // the run's commits are those after Base up to Head
	Into       string     // the branch; empty: the one that the work tree has checked out
	Squash     bool       // one commit instead of the run's commits
	By         string     // who merges
	Checks     []string
	// ApprovedBy holds who approved each of the run's commits. A commit without an approval is not there.
	ApprovedBy map[run.Commit]string
}

// Plan is a merge whose commits are made. Nothing refers to them yet.
type Plan struct {
	Into    string     // the branch
	Old     run.Commit // its tip
	New     run.Commit // its tip afterwards
	Commits int        // between Old and New
	// Checked reports that the files of New are those on which the checks of the run passed.
	Checked bool
	// Already is the tip of the commits on the branch by which the run was merged before; empty: it was not.
	Already run.Commit

	in   Input
	at   place
	mine bool // the work tree at the place has the branch checked out
}

// Prepare makes the commits of a merge. A merge that was made before is no error: see Plan.Already. Call Finish
// before: a work tree that a killed merge has left behind is refused.
func Prepare(ctx context.Context, in Input) (*Plan, error) {
	at, err := locateRepository(ctx, in.Repository)
	if err != nil {
		return nil, err
	}
	w, err := at.lockWork(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close()
	p := &Plan{in: in, at: at}
	defer p.keepLock(w)()
	if err := p.findTarget(ctx); err != nil {
		return nil, fmt.Errorf("merge into %s: %w", in.Repository, err)
	}
	if p.Already, err = at.mergedTip(ctx, in.RunID, in.Head, p.Old); err != nil || p.Already != "" {
		return p, err
	}
	failpoint.Hit("merge.before-commits")
	if err := p.checkTree(ctx, w); err != nil {
		return nil, fmt.Errorf("merge into branch %s: %w", p.Into, err)
	}
	if err := p.makeCommits(ctx, w); err != nil {
		return nil, fmt.Errorf("merge into branch %s: %w", p.Into, err)
	}
	failpoint.Hit("merge.after-commits")
	return p, nil
}

// keepLock has the gits of the plan keep the lock until drop is called.
func (p *Plan) keepLock(w work) (drop func()) {
	p.at.repo.Keep = w.lock
	return func() { p.at.repo.Keep = nil }
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
	p.mine = head == p.Into && p.at.root != ""
	if p.mine {
		return nil
	}
	return p.at.repo.CheckUnused(ctx, p.ref())
}

func (p *Plan) ref() string { return "refs/heads/" + p.Into }

// Apply moves the branch, and the files of the work tree that has it checked out. The error matches ErrMoved
// when the branch has moved since Prepare. It does nothing for a merge that was made before.
func (p *Plan) Apply(ctx context.Context) error {
	if p.Already != "" {
		return nil
	}
	failpoint.Hit("merge.before-apply")
	w, err := p.at.lockWork(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	defer p.keepLock(w)()
	if err := p.checkSwitch(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // an interrupt would leave branch or files half-way
	if !p.mine {
		failpoint.Hit("merge.before-swap")
		return p.swapBranch(ctx, p.Old, p.New)
	}
	if err := w.checkFinished(); err != nil { // another merge was killed while the checks ran
		return err
	}
	if err := p.at.tryTree(ctx, w, p.Old, p.New); err != nil {
		return err
	}
	if err := w.keepNote(swap{p.ref(), p.Old, p.New, p.at.root}); err != nil {
		return err
	}
	return p.applyNoted(ctx, w)
}

// checkSwitch refuses a work tree that has gone over to or from the branch since Prepare: its files are not those that
// the merge would bring up.
func (p *Plan) checkSwitch(ctx context.Context) error {
	head, err := p.at.headBranch(ctx)
	if err != nil {
		return err
	}
	if mine := head == p.Into && p.at.root != ""; mine != p.mine || !mine && p.at.repo.CheckUnused(ctx, p.ref()) != nil {
		return ErrSwitched
	}
	return nil
}

// applyNoted moves the branch and then the files. If it returns, nothing is left to be finished, unless files were
// written and others could not be: see swapBack.
func (p *Plan) applyNoted(ctx context.Context, w work) error {
	failpoint.Hit("merge.before-swap")
	if err := p.swapBranch(ctx, p.Old, p.New); err != nil {
		return errors.Join(err, w.removeNote())
	}
	failpoint.Hit("merge.after-swap")
	if begun, err := p.at.updateTree(ctx, w, p.Old, p.New); err != nil {
		return p.swapBack(ctx, w, begun, err)
	}
	failpoint.Hit("merge.after-files")
	return w.removeNote()
}

// swapBack puts the branch back when its files could not be brought up. A git that has begun to write them may have
// failed half-way. Branch and note stay then, and the next merge brings up the rest.
func (p *Plan) swapBack(ctx context.Context, w work, begun bool, why error) error {
	if begun {
		if untouched, err := p.isUntouched(ctx, w); err != nil || !untouched {
			return fmt.Errorf("the branch is at %.12s, but not all of its files are written: %w; mend that and merge again, which finishes it", p.New, why)
		}
	}
	switch err := p.swapBranch(ctx, p.New, p.Old); {
	case errors.Is(err, ErrMoved): // the note is no longer true
		return errors.Join(fmt.Errorf("the branch was moved to %.12s and then by another git, and its files are not written: %w; compare `git log` and `git status` before you commit", p.New, why), w.removeNote())
	case err != nil:
		return fmt.Errorf("the branch is at %.12s, but its files are not written: %w; %w; mend that and merge again, which finishes it", p.New, why, err)
	}
	return errors.Join(why, w.removeNote())
}

// isUntouched reports whether the work tree has each file of the merge as it was before.
func (p *Plan) isUntouched(ctx context.Context, w work) (bool, error) {
	changed, err := p.at.changedFiles(ctx, p.New, p.Old)
	if err != nil {
		return false, err
	}
	same, err := p.at.filesAt(ctx, w, p.Old, changed)
	return len(same) == len(changed), err
}

// swapBranch moves the branch if it is where it is expected.
func (p *Plan) swapBranch(ctx context.Context, from, to run.Commit) error {
	err := p.at.repo.UpdateRef(ctx, git.RefMove{Name: p.ref(), Old: git.ID(from), New: git.ID(to), Message: "ratchet: merge " + string(p.in.RunID)})
	if err == nil {
		return nil
	}
	now, other := p.at.repo.Run(ctx, "rev-parse", "--verify", "-q", p.ref())
	if other == nil && strings.TrimSpace(string(now)) != string(from) {
		return ErrMoved
	}
	if lock := p.at.refLock(p.ref()); lock != "" {
		return fmt.Errorf("branch %s is locked: wait for the git that works there, or remove %s if none does; then merge again", p.Into, lock)
	}
	return fmt.Errorf("move branch %s: %w", p.Into, err)
}

// checkTree refuses to merge into a work tree with changes, or one whose files cannot be brought up here.
func (p *Plan) checkTree(ctx context.Context, w work) error {
	if !p.mine {
		return nil
	}
	if err := w.checkFinished(); err != nil {
		return err
	}
	clean, err := p.at.isAt(ctx, w, p.Old)
	if err == nil && !clean {
		err = ErrDirty
	}
	return err
}
