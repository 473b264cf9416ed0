// Package watch is the command `starter watch`.
package watch

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow a run live",
		Long: `Tells the run from its beginning and follows it live. On a terminal it asks for
approvals and answers; elsewhere it ends with exit code 3 or 4 when the run
waits. An interrupt ends the watching, never the run.`,
		Example:           "  starter watch slug#14\n  starter watch slug#14 --json | jq -r .type",
		Args:              usage.ArgsBetween(0, 1, usage.MayHaveRun),
		ValidArgsFunction: runref.Complete(c),
		RunE: runref.OnOr(c, 0, func(ctx context.Context, r runref.Found, _ []string) error {
			return follow.Run(ctx, c, r, verbose)
		}, runref.BothWaits...),
	}
	follow.AddVerbose(cmd, &verbose)
	return cmd
}
