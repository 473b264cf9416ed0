// Package cancel is the command `starter cancel`.
package cancel

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// cancelPatience is the time that `cancel` waits for the end. The processes of a run are gone
// within 10 s.
const cancelPatience = 20 * time.Second

func New(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run",
		Long: `Cancels the run and waits until it has ended: its processes are gone and its
worktree is removed; its branch and its record stay.`,
		Example:           "  starter cancel slug#14",
		Args:              usage.Args(1, usage.WantsRun),
		ValidArgsFunction: runref.CompleteOf(c, runref.Open),
		RunE: runref.On(c, func(ctx context.Context, r runref.Found, _ []string) error {
			if err := r.Cancel(ctx, r.ID); err != nil {
				return err
			}
			wait, stop := context.WithTimeout(ctx, cancelPatience)
			defer stop()
			res, err := r.Result(wait, r.ID)
			if wait.Err() != nil && ctx.Err() == nil {
				return fmt.Errorf("run %s is not canceled yet, but will be when a worker runs: start one with `starter up` or `worker`", r.ShownName())
			}
			if err != nil {
				return err
			}
			if res.Status != run.Canceled {
				return fmt.Errorf("run %s ended before the cancellation reached it: it is %s", r.ShownName(), res.Status)
			}
			if c.JSON {
				return c.PrintJSON(res)
			}
			c.Printf("run %s: canceled; its branch %s has %s\n", r.ShownName(), res.Branch, display.Count(res.Commits, "commit", "commits"))
			return nil
		}),
	}
}
