// Package watch is the command `starter watch`.
package watch

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/starter/internal/command/session"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/sessionref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	var verbose bool
	ofRun := runref.OnOr(c, 0, func(ctx context.Context, r runref.Found, _ []string) error {
		return follow.Run(ctx, c, r, verbose)
	}, runref.BothWaits...)
	ofSession := sessionref.On(c, func(ctx context.Context, s sessionref.Found, _ []string) error { return session.Watch(ctx, c, s) })
	cmd := &cobra.Command{
		Use:   "watch [RUN|SESSION]",
		Short: "Follow a run or a session live",
		Long: `Tells the run from its beginning and follows it live. On a terminal it asks for
approvals and answers; elsewhere it ends with exit code 3 or 4 when the run
waits. An interrupt ends the watching, never the run. Of a session it is
` + "`starter session watch`" + `.`,
		Example:           "  starter watch slug#14\n  starter watch slug#14 --json | jq -r .type",
		Args:              usage.ArgsBetween(0, 1, usage.MayHaveRun),
		ValidArgsFunction: runref.Complete(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := ofRun(cmd, args)
			if _, none := errors.AsType[*runs.NotFoundError](err); none && len(args) > 0 {
				if other := ofSession(cmd, args); !errors.As(other, new(*sessions.NotFoundError)) {
					return other
				}
			}
			return err
		},
	}
	follow.AddVerbose(cmd, &verbose)
	return cmd
}
