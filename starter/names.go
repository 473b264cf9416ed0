package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// maxClaims bounds the numbers that a start tries. A number is tried again when its branch is taken.
const maxClaims = 20

// beginRun gives the run a name and the branch that goes with it, and starts it. The template is the
// branch's; empty means run.DefaultBranch. A start that fails leaves no branch.
func (c *cli) beginRun(ctx context.Context, client *runs.Client, in *run.Input, template string) error {
	if err := c.nameRun(ctx, client, in, template); err != nil {
		return err
	}
	repository, branch, base := in.Repository.Path, in.BranchName(), in.Repository.Base
	err := client.Start(ctx, *in)
	if err != nil {
		_ = workspace.Unreserve(context.WithoutCancel(ctx), repository, branch, base)
	}
	return err
}

// nameRun claims names until the branch of one is free, and makes that branch.
func (c *cli) nameRun(ctx context.Context, client *runs.Client, in *run.Input, template string) error {
	label := run.Label(in.Repository.Path)
	above, err := workspace.LastNumber(ctx, in.Repository.Path)
	if err != nil {
		return err
	}
	claim := run.Claim{RunID: in.RunID, Above: max(above, rundir.LastNumber(c.runsDir, label))}
	numbered := template == "" || strings.Contains(template, "{number}")
	for range maxClaims {
		if _, err := client.Describe(ctx, in.RunID); err == nil {
			return &runs.ExistsError{ID: in.RunID}
		}
		name, err := client.ClaimName(ctx, label, claim)
		if err != nil {
			return err
		}
		claim.Above = name.Number()
		if err := c.keepName(ctx, name, in.RunID); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return err
		}
		in.Name = name
		if in.Naming.Branch, err = run.ExpandBranch(cmp.Or(template, run.DefaultBranch), in.RunID, name, in.Goal); err != nil {
			return usageErrorf("--branch: %w", err)
		}
		err = workspace.Reserve(ctx, in.Repository.Path, in.Naming.Branch, in.Repository.Base)
		if err == nil || !numbered || !errors.Is(err, workspace.ErrBranchTaken) {
			return explainTaken(err, template)
		}
	}
	return fmt.Errorf("the branches of %d numbers are taken in %s: name another with --branch", maxClaims, in.Repository.Path)
}

// explainTaken says what to do about a branch that is not free.
func explainTaken(err error, template string) error {
	if errors.Is(err, workspace.ErrBranchTaken) {
		return fmt.Errorf("%w: choose another branch in the file or flag that names it (%s), or rename the one that is there", err, template)
	}
	return err
}

// keepName notes the name in the runs directory, where there is one on this host. The error matches
// fs.ErrExist if another run has it there.
func (c *cli) keepName(ctx context.Context, name run.Name, id run.ID) error {
	err := rundir.Check(ctx, c.runsDir)
	if err == nil {
		err = rundir.KeepName(c.runsDir, name, id)
	}
	if errors.Is(err, fs.ErrNotExist) { // the runs are on another host
		return nil
	}
	return err
}

// hereLabel returns the label of the repository around the working directory; empty if there is none.
func hereLabel(ctx context.Context) string {
	root, err := workspace.Root(ctx, ".")
	if err != nil {
		return ""
	}
	return run.Label(root)
}

// pickRun returns the only run that waits as the kinds say; with no kind, for anything. Where none or several
// wait it prints those that can be chosen, and returns a usage error.
func (c *cli) pickRun(ctx context.Context, client *runs.Client, kinds ...run.Status) (run.ID, error) {
	waiting, err := client.Waiting(ctx, kinds...)
	if err != nil {
		return "", err
	}
	if len(waiting) == 1 {
		return waiting[0].ID, nil
	}
	if len(waiting) == 0 {
		return "", usageErrorf("no run waits: name one of `%s`", c.hintCommand("list"))
	}
	if err := c.printList(ctx, client, waiting); err != nil {
		return "", err
	}
	return "", usageErrorf("%d runs wait: say which", len(waiting))
}
