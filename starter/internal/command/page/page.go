// Package page is the command `starter page`.
package page

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/links"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	var name string
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "page [RUN]",
		Short: "Print a link that opens the review page, at a run",
		Long: `Prints a link that opens the review page in a browser: what waits for you, with the
diff of each patch, to approve, send back and answer. The link can be used once,
within ten minutes; the browser that has used it stays in for 14 days, or until
the page's server ends. It opens Temporal's Web UI, too. What is decided there is by
the name of --by; a link with --by is for another person, and opens the page alone.`,
		Example:           "  starter page\n  starter page 0198c5e2\n  starter page --by kim",
		Args:              usage.ArgsBetween(0, 1, "at most one RUN"),
		ValidArgsFunction: runref.Complete(c),
		RunE: c.Handle(func(ctx context.Context, args []string) error {
			return linkPage(ctx, c, name, cmd.Flags().Changed("by"), args)
		}),
	}
	cmd.Flags().StringVar(&name, "by", c.UserName(), "`name` of the person whom the link is for")
	return cmd
}

func linkPage(ctx context.Context, c *factory.Factory, name string, another bool, args []string) error {
	if err := c.MayDecide(); err != nil {
		return err
	}
	if err := review.CheckName(name); err != nil {
		return usage.Errorf("--by: %w", err)
	}
	place, err := review.ReadPlace(ctx, c.RunsDir)
	if err != nil {
		return err
	}
	path, err := links.Path(ctx, c, args, review.RunPath)
	if err != nil {
		return err
	}
	login := place.LoginOwner
	if another {
		login = place.Login
	}
	return links.Print(c, "page", place.Short(ctx, login(name, path, time.Now())))
}
