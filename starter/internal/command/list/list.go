// Package list is the command `starter list`.
package list

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runrows"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	var f runs.Filter
	var status, repo string
	var mine bool
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:        "list",
		SuggestFor: []string{"ls", "ps", "runs"},
		Short:      "List the runs: those that need you, those that work, those that are over",
		Long: `Lists the runs by whose turn it is: those that wait for a person, the longest wait
first, then those that work, then those that are over. Sessions and tickets that ask
are among them. As JSON it prints the runs alone; ` + "`starter review --json`" + ` prints all
that waits.`,
		Example: "  starter list\n  starter list --repo . --mine\n  starter list --status awaiting_approval\n  starter list --json | jq -r '.[].runId'",
		Args:    usage.Args(0, "no arguments"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error {
			if status != "" && !slices.Contains(run.Statuses, run.Status(status)) {
				return usage.Errorf("unknown status %q: want one of %v", status, run.Statuses)
			}
			if f.Max < 1 {
				return usage.Errorf("--max %d: want at least 1", f.Max)
			}
			f.Status = run.Status(status)
			if mine {
				f.By = c.UserName()
			}
			if url, err := run.ParseURL(repo); err == nil && run.IsURL(repo) {
				f.Repository = url
			} else if repo != "" {
				top, err := workspace.Root(ctx, repo)
				if err != nil {
					return fmt.Errorf("--repo %s: %w", repo, err)
				}
				f.Repository = top
			}
			client, closeClient, err := c.Dial(ctx)
			if err != nil {
				return err
			}
			defer closeClient()
			found, err := listRuns(ctx, client, f, cmd.Flags().Changed("max"))
			if err != nil {
				return err
			}
			review.NewDisk(c.RunsDir).MarkMerged(ctx, found)
			if c.JSON {
				return c.PrintJSON(found)
			}
			rows := inbox.Of(found)
			if f.Status == "" && !mine {
				others, err := inbox.New(client).Others(ctx)
				if err != nil {
					return err
				}
				rows = append(rows, slices.DeleteFunc(others, func(i inbox.Item) bool { return f.Repository != "" && i.Repository != f.Repository })...)
			}
			runrows.Print(ctx, c, client, rows)
			return nil
		}),
	}
	cmd.Flags().StringVar(&status, "status", "", "only runs of this `status`")
	cmd.Flags().StringVar(&repo, "repo", "", "only runs on the git repository of this `directory`, or of this URL")
	cmd.Flags().BoolVar(&mine, "mine", false, "only runs that this user has started")
	cmd.Flags().IntVar(&f.Max, "max", 100, "at most so `many`; unless it or --status is given, all that wait besides")
	return cmd
}

// listRuns lists the runs that match, and unless the user has set a bound or a status all that wait among them.
func listRuns(ctx context.Context, client *runs.Client, f runs.Filter, bounded bool) ([]runs.Listed, error) {
	if bounded || f.Status != "" {
		return client.List(ctx, f)
	}
	return runs.ListWithWaits(ctx, client, f)
}
