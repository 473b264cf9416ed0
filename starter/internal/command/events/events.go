// Package events is the command `starter events`.
package events

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	var after string
	cmd := &cobra.Command{
		Use:               "events RUN",
		Short:             "List what happened in a run, one line an event",
		Example:           "  starter events slug#14\n  starter events slug#14 --after evt-000007 --json",
		Args:              usage.Args(1, usage.WantsRun),
		ValidArgsFunction: runref.Complete(c),
		RunE: runref.On(c, func(ctx context.Context, r runref.Found, _ []string) error {
			if after != "" && (run.Event{ID: after}).Seq() == 0 {
				return usage.Errorf("--after %q: event ids look like evt-000001", after)
			}
			events, err := r.Events(ctx, r.ID, after)
			if err != nil {
				return err
			}
			var rows [][]string
			for _, e := range events {
				if c.JSON {
					if err := c.PrintJSON(e); err != nil {
						return err
					}
				}
				rows = append(rows, story.Gist(c.Style(), e))
			}
			if !c.JSON {
				c.Printf("%s", terminal.Table(rows))
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&after, "after", "", "only those after this event `id`")
	return cmd
}
