package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

func (c *cli) eventsCommand() *cobra.Command {
	var after string
	cmd := &cobra.Command{
		Use:               "events RUN",
		Short:             "List what happened in a run, one line an event",
		Example:           "  starter events slug#14\n  starter events slug#14 --after evt-000007 --json",
		Args:              exactArgs(1, wantsRun),
		ValidArgsFunction: c.completeRun(),
		RunE: c.onRun(func(ctx context.Context, r found, _ []string) error {
			if after != "" && (run.Event{ID: after}).Seq() == 0 {
				return usageErrorf("--after %q: event ids look like evt-000001", after)
			}
			events, err := r.Events(ctx, r.id, after)
			if err != nil {
				return err
			}
			var rows [][]string
			for _, e := range events {
				if c.json {
					if err := c.printJSON(e); err != nil {
						return err
					}
				}
				rows = append(rows, story.Gist(c.style(), e))
			}
			if !c.json {
				c.printf("%s", terminal.Table(rows))
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&after, "after", "", "only those after this event `id`")
	return cmd
}
