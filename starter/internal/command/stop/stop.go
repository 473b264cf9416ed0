// Package stop is the command `starter stop`.
package stop

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/starter/internal/background"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Stop the engine and the worker of the runs directory",
		Long: `Stops the ` + "`starter up`" + ` of the runs directory, in the background or in another
terminal, and waits until it has ended. Runs continue at the next start.`,
		Example: "  starter stop",
		Args:    usage.Args(0, "no arguments"),
		RunE:    c.Handle(func(ctx context.Context, _ []string) error { return background.Stop(ctx, c) }),
	}
}
