package dispatch

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func NewList(c *factory.Factory) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "dispatches [GARDEN_ID]",
		Short: "List recent dispatches and their outcomes",
		Long: `Lists the last dispatches, to one session or to all, and what came of each: also of
those whose sender did not wait for it.`,
		Example: "  starter dispatches\n  starter dispatches 20260612T101500-3f2a9c --json | jq '.[0].result.outcome'",
		Args:    usage.ArgsBetween(0, 1, "at most one garden id"),
		RunE: c.Handle(func(ctx context.Context, args []string) error {
			var target dispatch.GardenID
			if len(args) > 0 {
				if target = dispatch.GardenID(args[0]); target.Validate() != nil {
					return &usage.Error{Err: target.Validate()}
				}
			}
			if limit < 1 {
				return usage.Errorf("--max %d: want at least 1", limit)
			}
			t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.RunsDir})
			if err != nil {
				return err
			}
			defer t.Close()
			found, unknown := dispatches.Client{Temporal: t, Queue: c.Queue}.Past(ctx, target, limit)
			if len(found) > 0 || unknown == nil {
				err = printPast(c, found)
			}
			return cmp.Or(err, unknown)
		}),
	}
	cmd.Flags().IntVar(&limit, "max", 20, "at most so `many`")
	return cmd
}

func printPast(c *factory.Factory, found []dispatches.Past) error {
	if c.JSON {
		return c.PrintJSON(found)
	}
	if len(found) == 0 {
		c.Printf("No dispatches yet.\n")
		return nil
	}
	s := c.Style()
	rows := [][]string{{s.Dim("AGE"), s.Dim("TARGET"), s.Dim("INTENT"), s.Dim("ID"), s.Dim("OUTCOME"), ""}}
	for _, p := range found {
		rows = append(rows, []string{display.Age(c.Now().Sub(p.At)), string(p.Target), string(p.Intent), p.ID[:min(8, len(p.ID))], outcomeIn(s, p), resultGist(p)})
	}
	c.Printf("%s", terminal.Table(rows))
	return nil
}

// outcomeIn returns the outcome of a dispatch, in its colour.
func outcomeIn(s terminal.Style, p dispatches.Past) string {
	res := p.Result
	switch {
	case p.Lost != "":
		return s.Bad(string(dispatch.Unknown))
	case res == nil:
		return s.Wait("in progress")
	case res.Succeeded():
		return s.Good(string(res.Outcome.Kind))
	case res.Outcome == nil:
		return s.Bad(string(res.Receipt.Reason()))
	}
	return s.Bad(string(res.Outcome.Kind))
}

// resultGist returns the text of a result in one line.
func resultGist(p dispatches.Past) string {
	res := p.Result
	if res == nil {
		return p.Lost
	}
	text := res.Diagnostic
	if res.Outcome != nil {
		text = res.Outcome.Error + res.Outcome.Answer
	}
	return story.OneLine(text, 80)
}
