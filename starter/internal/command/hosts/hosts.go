// Package hosts has the commands `starter host` and `starter hosts`.
package hosts

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// New returns the command with its subcommands.
func New(c *factory.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Let workers on your other machines take runs",
		Long: `Other machines of yours can serve the engine of this one. ` + "`starter host join`" + ` prints
one line to paste there; ` + "`starter host remove`" + ` ends it. A run on the URL of a
repository goes there with ` + "`starter run --host NAME`" + `; a run on a directory stays here.
See docs/hosts.md.`,
		Example: "  starter host join\n  starter host remove laptop",
		Args:    usage.Args(0, "a subcommand: join or remove"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newJoin(c), newRemove(c))
	return cmd
}

// NewList returns the command that lists the hosts.
func NewList(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "hosts",
		Short: "List the machines whose workers serve the engine",
		Long: `Lists the machines that serve the engine: whether their workers report, what they do,
and what they have and lack.`,
		Example: "  starter hosts\n  starter hosts --json | jq -r '.[] | select(.serving | not).name'",
		Args:    usage.Args(0, "no arguments"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error {
			client, closeClient, err := c.Dial(ctx)
			if err != nil {
				return err
			}
			defer closeClient()
			list, err := client.Hosts(ctx)
			if err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(append([]runs.HostView{}, list...))
			}
			return print(c, list)
		}),
	}
}

func print(c *factory.Factory, list []runs.HostView) error {
	if len(list) == 0 {
		c.Printf("no worker serves the engine: start one with `%s` or `worker`\n", c.Hint("up"))
		return nil
	}
	s := c.Style()
	var rows [][]string
	for _, h := range list {
		sign := s.Good("✓")
		if !h.Serving {
			sign = s.Bad("✗")
		}
		about := ""
		switch {
		case h.Home:
			about = "this engine's machine"
		case h.Survey != nil:
			about = h.Survey.Version + "; " + h.Survey.String()
		}
		if h.Skew != "" {
			about = "CLOCK " + h.Skew + "; " + about
		}
		rows = append(rows, []string{sign + " " + story.OneLine(h.Name, 63), h.State(c.Now()), story.OneLine(about, 300)})
	}
	c.Printf("%s", terminal.Table(rows))
	return nil
}
