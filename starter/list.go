package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

func (c *cli) listCommand() *cobra.Command {
	var status string
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the runs, the newest first",
		Example: "  starter list\n  starter list --status awaiting_approval\n  starter list --json | jq -r '.[].runId'",
		Args:    exactArgs(0, "no arguments"),
		RunE: c.handleWith(func(ctx context.Context, _ []string) error {
			if status != "" && !slices.Contains(run.Statuses, run.Status(status)) {
				return usageErrorf("unknown status %q: want one of %v", status, run.Statuses)
			}
			if limit < 1 {
				return usageErrorf("--max %d: want at least 1", limit)
			}
			client, closeClient, err := c.dialEngine(ctx)
			if err != nil {
				return err
			}
			defer closeClient()
			found, err := client.List(ctx, runs.Filter{Status: run.Status(status), Max: limit})
			if err != nil {
				return err
			}
			return c.printList(found)
		}),
	}
	cmd.Flags().StringVar(&status, "status", "", "only runs of this `status`")
	cmd.Flags().IntVar(&limit, "max", 100, "at most so `many`")
	return cmd
}

func (c *cli) printList(found []runs.Listed) error {
	if c.json {
		return c.printJSON(found)
	}
	if len(found) == 0 {
		c.printf("No runs yet. `%s` starts one.\n", c.hintCommand("run --help"))
		return nil
	}
	s := c.style()
	rows := [][]string{{s.Dim("RUN"), s.Dim("STATUS"), s.Dim("PHASE"), s.Dim("AGE"), s.Dim("GOAL")}}
	for _, l := range found {
		phase := "-"
		if l.Phase != "" {
			phase = fmt.Sprintf("%s %d", l.Phase, l.Iteration)
		}
		rows = append(rows, []string{
			l.Name.Shown(l.ID), statusIn(s, l.Status, l.Outcome) + unboxedIn(s, l.Sandbox), phase,
			terminal.Age(c.now().Sub(l.Started)), story.OneLine(l.Goal, 60),
		})
	}
	c.printf("%s", terminal.Table(rows))
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

// unboxedIn returns what a list adds to the status of a run without the box.
func unboxedIn(s terminal.Style, policy run.Sandbox) string {
	if !policy.Off() {
		return ""
	}
	return " " + s.Wait("unboxed")
}

// completeRun completes the id of a run for the shell.
func (c *cli) completeRun(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	client, closeClient, err := c.dialEngine(cmd.Context())
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
