package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessionruns"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// newGrant returns what lets the agent of a session start runs: the input that `starter run` would make of the settings
// of the user and of the repository, and of the session's provider where they name none, tightened. Only a person gives
// it.
func newGrant(ctx context.Context, c *factory.Factory, in session.Input, src workspace.Source, agent catalog.Spec) (*session.Grant, error) {
	if err := c.MayDecide(); err != nil {
		return nil, err
	}
	if !agent.Kind.Supports(setup.ServersOption) {
		able := setup.ListKinds(func(t setup.Traits) bool { return slices.Contains(t.Options, setup.ServersOption) }, "or")
		return nil, usage.Errorf("--mcp %s: %s takes no MCP servers: use %s", sessionruns.ServerName, agent.Kind, able)
	}
	if _, taken := in.Setup.Servers[sessionruns.ServerName]; taken {
		return nil, usage.Errorf("--mcp: two servers have the name %s", sessionruns.ServerName)
	}
	var f newrun.Flags
	flags := pflag.NewFlagSet("grant", pflag.ContinueOnError)
	f.Register(flags)
	if err := f.Configure(ctx, c, flags, src, string(src.Base)); err != nil {
		return nil, err
	}
	f.Detach = true
	if f.Provider == "" && f.Origins["planner"] == run.FromDefault && f.Origins["developer"] == run.FromDefault {
		f.Provider = agent.String()
	}
	f.Goal, f.Id = "what the agent says", "trial"
	template := f.Branch
	made, err := newrun.InputFrom(ctx, c, f, src)
	if err != nil {
		return nil, fmt.Errorf("the runs that the session may start: %w", err)
	}
	made = session.Tighten(made)
	made.RunID, made.Goal, made.Naming.Branch, made.Repository.Base = "", "", "", ""
	return &session.Grant{Run: made, Branch: template, Total: session.DefaultTotal, AtOnce: session.DefaultAtOnce, By: c.UserName()}, nil
}

// readyGrant asks the worker whether the runs of the grant can work there, and prints the grant. A nil grant is none.
func readyGrant(ctx context.Context, c *factory.Factory, client *runs.Client, g *session.Grant) error {
	if g == nil {
		return nil
	}
	if err := sandboxing.Check(c, g.Run.Sandbox, false); err != nil {
		return err
	}
	if err := newrun.Probe(ctx, c, client, &g.Run); err != nil {
		return err
	}
	checks := cmp.Or(strings.Join(g.Run.Checks, "; "), "evaluator "+g.Run.Providers.Evaluator)
	fmt.Fprintf(c.Err, "starter: the agent may start runs on %s, %d at once and %d in all: by %s, judged by %s; you approve each patch\n",
		display.Line(g.Run.Repository.Path), g.AtOnce, g.Total, display.OneLine(g.Run.Providers.Developer, 60), display.OneLine(checks, 200))
	return nil
}
