package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func (c *cli) pageCommand() *cobra.Command {
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
		Args:              argsBetween(0, 1, "at most one RUN"),
		ValidArgsFunction: c.completeRun(),
		RunE: c.handleWith(func(ctx context.Context, args []string) error {
			return c.linkPage(ctx, name, cmd.Flags().Changed("by"), args)
		}),
	}
	cmd.Flags().StringVar(&name, "by", c.userName(), "`name` of the person whom the link is for")
	return cmd
}

func (c *cli) linkPage(ctx context.Context, name string, another bool, args []string) error {
	if err := c.mayDecide(); err != nil {
		return err
	}
	if err := review.CheckName(name); err != nil {
		return usageErrorf("--by: %w", err)
	}
	place, err := review.ReadPlace(ctx, c.runsDir)
	if err != nil {
		return err
	}
	path, err := c.pathAt(ctx, args, review.RunPath)
	if err != nil {
		return err
	}
	login := place.LoginOwner
	if another {
		login = place.Login
	}
	return c.printLink("page", login(name, path, time.Now()))
}

// pathAt returns the path of the run that args name, by function of; without one, the path of all runs.
func (c *cli) pathAt(ctx context.Context, args []string, of func(run.ID) string) (string, error) {
	if len(args) == 0 {
		return "/", nil
	}
	runs, closeClient, err := c.dialEngine(ctx)
	if err != nil {
		return "", err
	}
	defer closeClient()
	id, err := runs.Find(ctx, args[0])
	if err != nil {
		return "", err
	}
	return of(id), nil
}

// printLink prints a link, under the name where the answer is JSON.
func (c *cli) printLink(name, link string) error {
	if c.json {
		return c.printJSON(map[string]string{name: link})
	}
	c.printf("%s\n", link)
	return nil
}
