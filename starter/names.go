package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// beginRun gives the run a name and the branch that goes with it, and starts it. The template is the
// branch's; empty means run.DefaultBranch.
func beginRun(ctx context.Context, c *factory.Factory, client *runs.Client, in *run.Input, template string) error {
	return explainTaken(client.Begin(ctx, in, c.RunsDir, template), template)
}

// explainTaken says what to do about a branch that is not free.
func explainTaken(err error, template string) error {
	if errors.Is(err, workspace.ErrBranchTaken) {
		return fmt.Errorf("%w: choose another branch in the file or flag that names it (%s), or rename the one that is there", err, template)
	}
	return err
}

// pickRun returns the only run that waits as the kinds say; with no kind, for anything. Where none or several
// wait it prints those that can be chosen, and returns a usage error.
func pickRun(ctx context.Context, c *factory.Factory, client *runs.Client, kinds ...run.Status) (run.ID, error) {
	waiting, err := client.Waiting(ctx, kinds...)
	if err != nil {
		return "", err
	}
	if len(waiting) == 1 {
		return waiting[0].ID, nil
	}
	if len(waiting) == 0 {
		return "", usage.Errorf("no run waits: name one of `%s`", c.Hint("list"))
	}
	if err := printList(ctx, c, client, waiting); err != nil {
		return "", err
	}
	return "", usage.Errorf("%d runs wait: say which", len(waiting))
}
