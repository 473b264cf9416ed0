package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/board"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func listCommand(c *factory.Factory) *cobra.Command {
	var f runs.Filter
	var status, repo string
	var mine bool
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:        "list",
		SuggestFor: []string{"ls", "ps", "runs"},
		Short:      "List the runs: those that need you, those that work, those that are over",
		Long: `Lists the runs by whose turn it is: those that wait for a person, the longest wait
first, then those that work, then those that are over.`,
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
			if repo != "" {
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
			markMerged(ctx, c, found)
			return printList(ctx, c, client, found)
		}),
	}
	cmd.Flags().StringVar(&status, "status", "", "only runs of this `status`")
	cmd.Flags().StringVar(&repo, "repo", "", "only runs on the git repository of this `directory`")
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

// mergedPatience bounds the look into the repositories of a list.
const mergedPatience = 2 * time.Second

// markMerged marks the completed runs whose commits a branch of the user's has, in the repositories that are on this
// host and answer soon. It marks no run without a record on this host: the run's own branch has the commits, too, and
// may have any name.
func markMerged(ctx context.Context, c *factory.Factory, found []runs.Listed) {
	ctx, cancel := context.WithTimeout(ctx, mergedPatience)
	defer cancel()
	branches := map[string][]string{} // of runs, by repository
	for _, l := range found {
		if l.Status == run.Completed && l.Repository != "" {
			branches[l.Repository] = nil
		}
	}
	if len(branches) == 0 {
		return
	}
	recorded := map[run.ID]bool{}
	ids, _ := recordedRuns(c)
	for _, id := range ids {
		if ctx.Err() != nil { // of some runs' branches alone nothing is known: one of another run may have the commits
			return
		}
		facts, err := recordedFacts(c, id)
		own, wanted := branches[facts.Repository.Path]
		if err != nil || !wanted {
			continue
		}
		branches[facts.Repository.Path] = append(own, facts.Branch)
		recorded[id] = true
	}
	landed := landedBeside(ctx, branches)
	for i, l := range found {
		found[i].Merged = l.Status == run.Completed && recorded[l.ID] && landed[l.Repository].Runs[l.ID]
	}
}

func printList(ctx context.Context, c *factory.Factory, client *runs.Client, found []runs.Listed) error {
	if c.JSON {
		return c.PrintJSON(found)
	}
	if len(found) == 0 {
		c.Printf("No runs. `%s` starts one.\n", c.Hint("run --help"))
		return nil
	}
	rows := listedRows(found)
	describeRows(ctx, client, rows)
	board.Sort(rows)
	c.Printf("%s\n", strings.Join(board.Lines(c.Style(), rows, c.Now(), c.Columns()), "\n"))
	return nil
}

// statusIn returns a status in its colour.
func statusIn(s terminal.Style, status run.Status, outcome string) string {
	text := string(status)
	if outcome != "" {
		text += " (" + outcome + ")"
	}
	switch {
	case status == run.Completed:
		return s.Good(text)
	case status == run.Failed:
		return s.Bad(text)
	case status.Waiting():
		return s.Wait(text)
	}
	return text
}

// completeRun completes the id of a run for the shell.
func completeRun(c *factory.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		client, closeClient, err := c.Dial(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer closeClient()
		found, err := client.List(cmd.Context(), runs.Filter{Max: 50})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var ids []string
		for _, l := range found {
			ids = append(ids, cobra.CompletionWithDesc(l.Name.Shown(l.ID), string(l.Status)+" "+story.OneLine(l.Goal, 40)))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
