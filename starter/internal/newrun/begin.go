package newrun

import (
	"context"
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// Begin gives the run a name and the branch that goes with it, and starts it. The template is the
// branch's; empty means run.DefaultBranch.
func Begin(ctx context.Context, c *factory.Factory, client *runs.Client, in *run.Input, template string) error {
	return explainTaken(client.Begin(ctx, in, c.RunsDir, template), template)
}

// explainTaken says what to do about a branch that is not free.
func explainTaken(err error, template string) error {
	if errors.Is(err, workspace.ErrBranchTaken) {
		return fmt.Errorf("%w: choose another branch in the file or flag that names it (%s), or rename the one that is there", err, template)
	}
	return err
}
