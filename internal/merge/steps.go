package merge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// maxCommits bounds the commits of a run that are merged.
const maxCommits = 1000

// step is a change that becomes one commit.
type step struct {
	commit, parent      run.Commit // the change is from the parent to the commit
	of                  run.Commit // of the run: commit, or the last of those that it joins
	author, email, date string
	text                string   // of the message of the run's commit
	own                 []string // trailers there, which name the run
	joins               []step   // of a squash
}

// readSteps returns the changes to make: one for each of the run's commits that the branch does not have, in order, or one
// for all of them.
func (p *Plan) readSteps(ctx context.Context) ([]step, error) {
	in := p.in
	out, err := p.at.repo.Run(ctx, "log", "-z", "--reverse", "--first-parent", fmt.Sprintf("--max-count=%d", maxCommits+1),
		"--format=%H %P%n%an%n%ae%n%aI%n%B", string(in.Base)+".."+string(in.Head), "--")
	if err != nil {
		return nil, err
	}
	var steps []step
	parent := in.Base
	for item := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		f := strings.SplitN(item, "\n", 5)
		id, parents, _ := strings.Cut(f[0], " ")
		if len(f) != 5 || run.Commit(parents) != parent || len(steps) == maxCommits {
			return nil, fmt.Errorf("the commits from %.12s to %.12s are not a linear chain of at most %d: merge them with git", in.Base, in.Head, maxCommits)
		}
		s := step{commit: run.Commit(id), parent: parent, of: run.Commit(id), author: f[1], email: f[2], date: f[3]}
		if name := in.WrittenBy[s.of]; name != "" {
			s.author = name + " via " + git.Name
		}
		s.text, s.own = splitMessage(f[4])
		steps, parent = append(steps, s), s.commit
	}
	if parent != in.Head {
		return nil, errors.New("the run has no commits")
	}
	landed, err := p.countLanded(ctx, steps)
	if err != nil {
		return nil, err
	}
	if steps = steps[landed:]; in.Squash {
		return p.joinSteps(ctx, steps)
	}
	return steps, nil
}

// joinSteps returns the changes as one.
func (p *Plan) joinSteps(ctx context.Context, steps []step) ([]step, error) {
	all := steps[len(steps)-1]
	out, err := p.at.repo.Run(ctx, "commit-tree", string(all.commit)+"^{tree}", "-p", string(steps[0].parent), "-m", "all changes of the run")
	all.commit, all.joins = run.Commit(strings.TrimSpace(string(out))), steps
	return []step{all}, err
}

// countLanded returns how many of the first steps the branch has, because a run before this one ends there and is on
// the branch: by its own commits, or by its merge. Done again, such a step would conflict with the steps after it.
func (p *Plan) countLanded(ctx context.Context, steps []step) (int, error) {
	for n := len(steps) - 1; n > 0; n-- {
		id := runOf(steps[n-1].own)
		if id == runOf(steps[n].own) {
			continue
		}
		tip, _, err := p.at.lastMerge(ctx, id, steps[n-1].commit, p.Old)
		if err != nil || tip != "" {
			return n, err
		}
	}
	return 0, nil
}
