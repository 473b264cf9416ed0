package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/starter/internal/agentlist"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func agentsCommand(c *factory.Factory) *cobra.Command {
	var worker bool
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the coding agents that are there, or why not",
		Long: `Says of every agent that Ratchet can have work whether it is installed, its version,
models and modes, and what it can do; or why it cannot be used. It looks on this
machine, and with --worker on that of the worker, which is where agents run.`,
		Example: "  starter agents\n  starter agents --worker --json | jq '.[] | select(.installed).kind'",
		Args:    usage.Args(0, "no arguments"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error {
			list, err := agentlist.List(ctx, c, worker)
			if err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(list)
			}
			agentlist.Print(c, list)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&worker, "worker", false, "ask the worker")
	return cmd
}
