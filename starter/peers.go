package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/citizen/peers"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/display"
)

func (c *cli) peersCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "peers",
		Short: "List the agent sessions of this host that can be addressed",
		Long: `Lists the sessions that have a garden id, whichever program made them: backend,
directory and whether they live, and what was wrong while looking. Facts only: what
can be done with one is decided when it is asked for.`,
		Example: "  starter peers\n  starter peers --json | jq -r '.peers[] | select(.liveness == \"alive\").gardenId'",
		Args:    exactArgs(0, "no arguments"),
		RunE: c.handleWith(func(ctx context.Context, _ []string) error {
			dirs, err := c.findRegistry()
			if err != nil {
				return err
			}
			list, err := peers.Scan(ctx, dirs, controlsocket.Look)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(list)
			}
			c.printf("%s", display.Text([]byte(list.Text())))
			return nil
		}),
	}
}

func (c *cli) inboxCommand() *cobra.Command {
	const example = "  starter inbox read 20260612T101500-3f2a9c"
	cmd := &cobra.Command{Use: "inbox", Short: "The mailbox of a session", Example: example}
	cmd.AddCommand(&cobra.Command{
		Use:   "read GARDEN_ID",
		Short: "Take the unread mail of a session, and stamp the read receipt",
		Long: `Prints the unread mail of a session and marks it as read. Mail that could not be
printed stays unread.`,
		Example: example,
		Args:    exactArgs(1, "one garden id"),
		RunE: c.handleWith(func(ctx context.Context, args []string) error {
			id := dispatch.GardenID(args[0])
			if err := id.Validate(); err != nil {
				return &usageError{err}
			}
			dirs, err := c.findRegistry()
			if err != nil {
				return err
			}
			drained, err := mailbox.Mailboxes{Dirs: dirs}.Drain(ctx, id, c.printMail)
			for _, bad := range drained.Unreadable {
				fmt.Fprintln(c.err, "starter:", bad)
			}
			return err
		}),
	})
	return cmd
}

func (c *cli) printMail(d mailbox.Drained) error {
	if c.json {
		return c.printJSON(d)
	}
	if len(d.Messages) == 0 {
		c.printf("no unread mail\n")
	}
	for _, m := range d.Messages {
		c.printf("%s\n%s\n\n", c.style().Dim(m.File), display.Text([]byte(m.Body)))
	}
	if d.Left > 0 {
		c.printf("%d more are unread: read again\n", d.Left)
	}
	return nil
}
