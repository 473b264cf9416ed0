// Package note is the command `starter note`.
package note

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/byflag"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	"github.com/ratchet-dev/ratchet/starter/internal/waits"
)

func New(c *factory.Factory) *cobra.Command {
	var n run.Note
	cmd := &cobra.Command{
		Use:               "note RUN TEXT",
		Short:             "Leave guidance for the run's next prompt, or for the agent while it works",
		Example:           "  starter note slug#14 'the money package has a rounding helper, use it'",
		Args:              usage.Args(2, "a RUN and the note as one argument"),
		ValidArgsFunction: runref.CompleteOf(c, runref.Open),
		RunE: runref.On(c, func(ctx context.Context, f runref.Found, args []string) error {
			n.Text = args[0]
			if err := f.Note(ctx, f.ID, n); err != nil {
				return err
			}
			return waits.PrintAccepted(c, f, "", "noted: the next prompt carries it, and an agent that takes notes during its turn gets it now")
		}),
	}
	byflag.Add(c, cmd.Flags(), &n.By, "`name` of who says it")
	return cmd
}
