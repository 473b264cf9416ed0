// Package peers has the commands `starter peers` and `starter inbox`.
package peers

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/citizen/peers"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "List the agent sessions of this host that can be addressed",
		Long: `Lists the agent sessions of this host that a message reaches now, of all programs: your own Claude Code sessions once starter register has been used, the
agents of runs while they work, and pi with its control socket. With --all also
those that do not run. The id in front is what starter dispatch wants.`,
		Example: "  starter peers\n  starter peers --json | jq -r '.peers[] | select(.liveness == \"alive\").gardenId'",
		Args:    usage.Args(0, "no arguments"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error {
			dirs, err := dispatches.Registry(c)
			if err != nil {
				return err
			}
			if _, err := (citizen.Host{Dirs: dirs}).Sweep(ctx); err != nil {
				fmt.Fprintln(c.Err, "starter:", display.Line(err.Error()))
			}
			list, err := peers.Scan(ctx, dirs, controlsocket.Look)
			if err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(list)
			}
			readsMail := func(p peers.Peer) bool {
				who := marker.Citizen{GardenID: p.GardenID, Backend: p.Backend, NativeSessionID: p.NativeSessionID}
				return mailbox.DecideDelivery(p.Backend.Capability(), marker.PresenceOf(dirs.Receivers, dirs.Senders, who)).Deliverable
			}
			c.Printf("%s", display.Text([]byte(list.People(readsMail, all))))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "also list the sessions that do not run")
	return cmd
}

func NewInbox(c *factory.Factory) *cobra.Command {
	const example = "  starter inbox read 20260612T101500-3f2a9c"
	cmd := &cobra.Command{
		Use: "inbox", Short: "The mailbox of a session", Example: example,
		Args: usage.Args(0, "read, and a garden id"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "read GARDEN_ID",
		Short: "Take the unread mail of a session, and stamp the read receipt",
		Long: `Prints the unread mail of a session and marks it as read. Mail that could not be
printed stays unread.`,
		Example: example,
		Args:    usage.Args(1, "one garden id"),
		RunE: c.Handle(func(ctx context.Context, args []string) error {
			id := dispatch.GardenID(args[0])
			if err := id.Validate(); err != nil {
				return &usage.Error{Err: err}
			}
			dirs, err := dispatches.Registry(c)
			if err != nil {
				return err
			}
			drained, err := mailbox.Mailboxes{Dirs: dirs}.Drain(ctx, id, func(d mailbox.Drained) error { return printMail(c, d) })
			for _, bad := range drained.Unreadable {
				fmt.Fprintln(c.Err, "starter:", display.Line(bad))
			}
			return err
		}),
	})
	return cmd
}

// printMail returns an error unless all of the mail was printed, and with the error the mail stays unread.
func printMail(c *factory.Factory, d mailbox.Drained) error {
	if c.JSON {
		return c.PrintJSON(d)
	}
	if len(d.Messages) == 0 {
		c.Printf("no unread mail\n")
	}
	for _, m := range d.Messages {
		c.Printf("%s\n%s\n\n", c.Style().Dim(display.Line(m.File)), display.Text([]byte(m.Body)))
	}
	if d.Left > 0 {
		c.Printf("%d more are unread: read again\n", d.Left)
	}
	if err := c.Stdout.Failed(); err != nil {
		return fmt.Errorf("what could not be printed stays unread: %w", err)
	}
	return nil
}
