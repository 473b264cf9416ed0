// Package mcp is the command `starter mcp`.
package mcp

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/tools"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	var decide, start bool
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve peers, dispatches and runs to an agent as MCP tools",
		Long: `Serves tools on standard input and output, over the Model Context Protocol, to the
agent that starts it: entwurf_v2, entwurf_peers, entwurf_self and
entwurf_inbox_read for the sessions of this host, ratchet_dispatches for what came
of dispatches, ratchet_runs and ratchet_run for the runs, ratchet_run_wait to wait
until one needs you, ratchet_waiting for all that waits for you, and ratchet_tickets
for the tickets. With --allow-starts it also starts runs: in the sandbox, with
your approval of each patch and tool, and by agents and models, not by programs that
the agent names. Its runs take from your settings only the providers and what the
file of a repository could say: their checks have none of your variables and no
network. With --allow-decisions it also approves, rejects and answers for what runs
wait for: the agent decides then in your place. Give that to a session that you
watch, for its time, never to every agent by your user's configuration.

An agent starts it in a directory of its own choice, so name the runs directory by
its absolute path. The engine is reached when a tool needs it.`,
		Example: "  claude mcp add ratchet -- starter mcp\n" +
			"  codex mcp add ratchet -- starter mcp",
		Args: usage.Args(0, "no arguments, only flags"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error {
			dirs, err := dispatches.Registry(c)
			if err != nil {
				return err
			}
			return tools.Serve(ctx, tools.Config{
				Dirs: dirs, Caller: func() citizen.Caller { return dispatches.Caller(c) }, Engine: &remote{c}, AllowDecisions: decide, AllowStarts: start,
				Log: slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn})),
			}, c.In, c.Out)
		}),
	}
	cmd.Flags().BoolVar(&decide, "allow-decisions", false, "let the agent approve, reject and answer what runs wait for")
	cmd.Flags().BoolVar(&start, "allow-starts", false, "let the agent start runs, in the sandbox, whose patches and tools a person approves")
	return cmd
}
