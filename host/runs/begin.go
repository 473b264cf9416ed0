package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// maxBranches bounds the numbers that a start tries because a branch is taken.
const maxBranches = 20

// Begin gives the run a name and the branch that goes with it, and starts it. The template is the branch's; empty means
// run.DefaultBranch. The name is noted in the runs directory, where that is on this host. A start that surely failed
// leaves no branch. If the answer to a start was lost, the engine is asked whether it has the run. The branch stays if
// this cannot be learned.
func (c *Client) Begin(ctx context.Context, in *run.Input, runsDir, template string) error {
	if err := c.NameRun(ctx, in, runsDir, template); err != nil {
		return err
	}
	err := c.Start(ctx, *in)
	if err == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	there, look := c.Describe(ctx, in.RunID)
	_, none := errors.AsType[*NotFoundError](look)
	switch {
	case look == nil && there.Name == in.Name: // no other start of the run has made this branch
		return nil
	case look != nil && !none:
		return fmt.Errorf("%w; the run may have started: see `starter status %s` once the engine answers", err, in.RunID)
	}
	_ = workspace.Unreserve(ctx, in.Repository.Path, in.BranchName(), in.Repository.Base)
	return err
}

// NameRun gives the run the first name above those in use that is free in the runs directory and whose branch is free, and
// makes that branch. The file of the name in the runs directory is the claim: no two runs of a host have one name. Hosts
// that share a server see each other's names in its list, and have one twice at most where they start at the same moment.
// The error matches workspace.ErrBranchTaken if the template names a branch that is not free, and is an *ExistsError if
// the engine has the run.
func (c *Client) NameRun(ctx context.Context, in *run.Input, runsDir, template string) error {
	label := run.Label(in.Repository.Shown())
	branches, err := workspace.LastNumber(ctx, in.Repository.Path)
	if err != nil {
		return err
	}
	listed, err := c.lastNumber(ctx, label)
	if err != nil {
		return err
	}
	numbered := template == "" || strings.Contains(template, "{number}")
	number := max(branches, listed, rundir.LastNumber(runsDir, label))
	for range maxBranches {
		if _, err := c.Describe(ctx, in.RunID); err == nil {
			return &ExistsError{ID: in.RunID}
		}
		name, err := claimName(ctx, runsDir, label, number, in.RunID)
		if err != nil {
			return err
		}
		number = name.Number()
		if err := setName(in, name, template); err != nil {
			return err
		}
		err = workspace.Reserve(ctx, in.Repository.Path, in.Naming.Branch, in.Repository.Base)
		if err == nil || !numbered || !errors.Is(err, workspace.ErrBranchTaken) {
			return err
		}
	}
	return fmt.Errorf("the branches of %d numbers exist in %s already: name another with --branch", maxBranches, in.Repository.Shown())
}

// DropNames removes the branches that earlier calls of NameRun have made for a run that was never started, while they
// are at the run's base. Its numbers stay taken.
func DropNames(ctx context.Context, in run.Input, runsDir, template string) error {
	for _, name := range rundir.NamesOf(runsDir, run.Label(in.Repository.Shown()), in.RunID) {
		if err := setName(&in, name, template); err != nil {
			return err
		}
		_ = workspace.Unreserve(ctx, in.Repository.Path, in.Naming.Branch, in.Repository.Base) // none, or one that was moved
	}
	return ctx.Err()
}

// setName gives the input a name, and the branch that follows from it.
func setName(in *run.Input, name run.Name, template string) (err error) {
	in.Name = name
	if in.Naming.Branch, err = run.ExpandBranch(cmp.Or(template, run.DefaultBranch), in.RunID, name, in.Goal); err != nil {
		return fmt.Errorf("the template of the branch: %w", err)
	}
	return nil
}

// claimName returns the first name above the number that no other run of this host has, and keeps it for the run.
func claimName(ctx context.Context, runsDir, label string, above int, id run.ID) (run.Name, error) {
	for number := above + 1; number <= run.MaxNumber; number++ {
		name := run.NewName(label, number)
		if err := keepName(ctx, runsDir, name, id); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
	return "", fmt.Errorf("no number is left for the run under %s: a run or a branch has number %d", label, run.MaxNumber)
}

// keepName notes the name in the runs directory, where there is one on this host. The error matches fs.ErrExist if
// another run has it there.
func keepName(ctx context.Context, runsDir string, name run.Name, id run.ID) error {
	err := rundir.Check(ctx, runsDir)
	if err == nil {
		err = rundir.KeepName(runsDir, name, id)
	}
	if errors.Is(err, fs.ErrNotExist) { // the runs are on another host
		return nil
	}
	return err
}
