package merge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// maxCommits bounds the commits of a run that are merged.
const maxCommits = 1000

// step is a change that becomes one commit: from a tree to a tree.
type step struct {
	commit   run.Commit // of the run; the last of those that a squash joins
	run      run.ID     // as the commit's trailers name it
	from, to git.ID     // trees
	message  string
}

// makeCommits makes the new commits on the tip of the branch.
func (p *Plan) makeCommits(ctx context.Context, w work) error {
	s, err := w.shadow(p.at, w.tree(), git.ID(p.Old))
	if err != nil {
		return err
	}
	steps, err := p.readSteps(ctx)
	if err == nil {
		steps, err = p.messageSteps(ctx, steps)
	}
	if err != nil {
		return err
	}
	maker := maker{s, p.in.Head}
	tree, err := p.at.treeOf(ctx, p.Old)
	if err != nil {
		return err
	}
	p.New = p.Old
	for _, step := range steps {
		next, err := maker.replayStep(ctx, step, tree)
		if err != nil {
			return err
		}
		if next == tree {
			continue
		}
		if p.New, err = maker.makeCommit(ctx, next, p.New, step.message); err != nil {
			return err
		}
		tree = next
		p.Commits++
	}
	if p.Commits == 0 {
		return ErrNothing
	}
	checked, err := p.at.treeOf(ctx, p.in.Head)
	p.Checked = checked == tree
	return err
}

// readSteps returns the changes of the run's commits, in their order, with their messages.
func (p *Plan) readSteps(ctx context.Context) ([]step, error) {
	in := p.in
	out, err := p.at.repo.Run(ctx, "log", "-z", "--reverse", "--first-parent", fmt.Sprintf("--max-count=%d", maxCommits+1),
		"--format=%H %T %P%n%B", string(in.Base)+".."+string(in.Head), "--")
	if err != nil {
		return nil, err
	}
	from, err := p.at.treeOf(ctx, in.Base)
	if err != nil {
		return nil, err
	}
	var steps []step
	parent := in.Base
	for item := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, message, _ := strings.Cut(item, "\n")
		f := strings.Fields(head)
		if len(f) != 3 || run.Commit(f[2]) != parent || len(steps) == maxCommits {
			return nil, fmt.Errorf("the commits from %.12s to %.12s are no chain of at most %d: merge them by git", in.Base, in.Head, maxCommits)
		}
		parent = run.Commit(f[0])
		_, own := splitMessage(message)
		steps = append(steps, step{commit: parent, run: runOf(own), from: from, to: git.ID(f[1]), message: message})
		from = git.ID(f[1])
	}
	if parent != in.Head {
		return nil, errors.New("the run has no commits")
	}
	return steps, nil
}

// messageSteps leaves out the steps that the branch has, joins the others if one commit is wanted, and gives them their
// messages.
func (p *Plan) messageSteps(ctx context.Context, steps []step) ([]step, error) {
	landed, err := p.countLanded(ctx, steps)
	if err != nil {
		return nil, err
	}
	if steps = steps[landed:]; len(steps) == 0 {
		return nil, ErrNothing
	}
	last := len(steps) - 1
	if p.in.Squash {
		return []step{{commit: p.in.Head, from: steps[0].from, to: steps[last].to, message: squashMessage(p.in, steps)}}, nil
	}
	for i := range steps {
		steps[i].message = commitMessage(p.in, steps[i], i == last)
	}
	return steps, nil
}

// countLanded returns how many of the first steps the branch has, because a run before this one ends there and is on
// the branch: by its own commits, or by its merge. Done again, such a step would conflict with the steps after it.
func (p *Plan) countLanded(ctx context.Context, steps []step) (int, error) {
	for n := len(steps) - 1; n > 0; n-- {
		ends := steps[n-1]
		if ends.run == steps[n].run {
			continue
		}
		tip, err := p.at.mergedTip(ctx, ends.run, ends.commit, p.Old)
		if err != nil || tip != "" {
			return n, err
		}
	}
	return 0, nil
}

// treeOf returns the tree of a commit.
func (at place) treeOf(ctx context.Context, c run.Commit) (git.ID, error) {
	out, err := at.repo.Run(ctx, "rev-parse", "--verify", "-q", string(c)+"^{tree}")
	return git.ID(strings.TrimSpace(string(out))), err
}

// maker makes objects in the user's object store, by a git without the user's configuration.
type maker struct {
	repo git.Repo
	head run.Commit // of the run
}

// replayStep returns the tree that results from doing the step's change on another tree. The error is a
// *ConflictError when both have changed the same lines.
func (m maker) replayStep(ctx context.Context, s step, onto git.ID) (git.ID, error) {
	switch onto {
	case s.from:
		return s.to, nil
	case s.to:
		return onto, nil
	}
	// Git finds the base of a merge by commits: these three have the trees and nothing else.
	base, err := m.makeCommit(ctx, s.from, "", "base")
	if err != nil {
		return "", err
	}
	ours, err := m.makeCommit(ctx, onto, base, "ours")
	if err != nil {
		return "", err
	}
	theirs, err := m.makeCommit(ctx, s.to, base, "theirs")
	if err != nil {
		return "", err
	}
	out, err := m.repo.Run(ctx, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", string(ours), string(theirs))
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if err == nil {
		return git.ID(strings.TrimSpace(fields[0])), nil
	}
	switch git.ExitCode(err) {
	case 1:
		return "", &ConflictError{Commit: s.commit, Head: m.head, Paths: fields[1:]}
	case 129: // an unknown option
		return "", ErrTooOld
	}
	return "", err
}

// makeCommit makes a commit. An empty parent makes one without.
func (m maker) makeCommit(ctx context.Context, tree git.ID, parent run.Commit, message string) (run.Commit, error) {
	args := []string{"commit-tree", string(tree), "-F", "-"}
	if parent != "" {
		args = append(args, "-p", string(parent))
	}
	var out bytes.Buffer
	err := m.repo.Do(ctx, git.Command{Args: args, Stdin: strings.NewReader(message), Stdout: &out})
	return run.Commit(strings.TrimSpace(out.String())), err
}
