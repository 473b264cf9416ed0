package ticket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func ticketWatch(c *factory.Factory) *cobra.Command {
	var f ticketFlags
	var off bool
	cmd := &cobra.Command{
		Use:   "watch [flags of ticket]",
		Short: "Start tickets by a label, or show what the server is asked",
		Long: `With --label the worker starts a ticket for each open issue of the repository that
has the label, if a person with write permission has set it and the issue's text has
not been edited since. The other flags are those of the tickets. --off ends that;
tickets that have begun continue. Without both it shows the label, how many tickets
wait, what is left of the server's limit of calls, and which labels do not count.`,
		Example: "  starter ticket watch --label ratchet --provider claude --max-cost 20\n  starter ticket watch\n  starter ticket watch --off",
		Args:    usage.Args(0, "no arguments, only flags"),
	}
	flags := cmd.Flags()
	f.registerFlags(flags)
	flags.StringVar(&f.label, "label", "", "`name` of the label that starts tickets")
	flags.BoolVar(&off, "off", false, "start no more tickets by a label")
	cmd.RunE = c.Handle(func(ctx context.Context, _ []string) error {
		repo, err := repositoryOf(ctx, f.run.Repo, f.remote)
		if err != nil {
			return err
		}
		client, closeClient, err := c.Dial(ctx)
		if err != nil {
			return err
		}
		defer closeClient()
		switch {
		case off && f.label != "":
			return usage.Errorf("give --label or --off")
		case off:
			if err := client.SetRule(ctx, repo, nil); err != nil {
				return err
			}
			return saidOfWatch(c, repo, "no label starts tickets any more")
		case f.label != "":
			return startWatch(ctx, c, client, flags, &f, repo)
		}
		return showWatch(ctx, c, client, repo)
	})
	return cmd
}

// repositoryOf returns the repository on a server that a remote of a directory names.
func repositoryOf(ctx context.Context, dir, remote string) (forge.Repo, error) {
	remote = cmp.Or(remote, "origin")
	out, err := git.Repo{Dir: dir}.Run(ctx, "config", "--get", "remote."+remote+".url")
	if git.ExitCode(err) == 1 {
		return forge.Repo{}, fmt.Errorf("the repository has no remote %s: add it, or name another with --remote", remote)
	}
	if err != nil {
		return forge.Repo{}, err
	}
	repo, err := forge.ParseRemote(strings.TrimSpace(string(out)))
	if errors.Is(err, forge.ErrNoServer) {
		err = fmt.Errorf("the remote %s: %w", remote, err)
	}
	return repo, err
}

func startWatch(ctx context.Context, c *factory.Factory, client *runs.Client, flags *pflag.FlagSet, f *ticketFlags, repo forge.Repo) error {
	if err := c.MayDecide(); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	f.run.Goal, f.run.GoalGiven = "Resolve an issue", true
	in, err := ticketInput(ctx, c, flags, f)
	if err != nil {
		return err
	}
	in.Repository = repo
	if err := sandboxing.Check(c, in.Input.Sandbox, false); err != nil {
		return err
	}
	if err := newrun.Probe(ctx, c, client, &in.Input); err != nil {
		return err
	}
	if err := client.SetRule(ctx, repo, &forgeacts.Rule{Label: f.label, Ticket: in.Ticket, Bounds: in.Bounds}); err != nil {
		return err
	}
	return saidOfWatch(c, repo, "the label "+f.label+" starts tickets")
}

func saidOfWatch(c *factory.Factory, repo forge.Repo, what string) error {
	if c.JSON {
		return c.PrintJSON(map[string]string{"repository": repo.String()})
	}
	c.Printf("%s: %s\n", display.Line(repo.String()), display.Line(what))
	return nil
}

func showWatch(ctx context.Context, c *factory.Factory, client *runs.Client, repo forge.Repo) error {
	w, ok := client.Watch(ctx, repo, "")
	if c.JSON {
		return c.PrintJSON(w)
	}
	if !ok {
		c.Printf("%s: not watched. `%s` starts tickets by a label.\n", display.Line(repo.String()), c.Hint("ticket watch --label ratchet"))
		return nil
	}
	c.Printf("%s\n", c.Style().Bold(display.Line(repo.String())))
	line := func(label, text string) {
		if text != "" {
			c.Printf("  %-8s %s\n", label, display.Line(text))
		}
	}
	line("label", w.Label)
	line("tickets", display.Count(w.Tickets, "waits", "wait"))
	line("calls", rateWords(w.Rate))
	line("problem", w.Problem)
	for _, n := range slices.Sorted(maps.Keys(w.Refused)) {
		line(fmt.Sprintf("#%d", n), w.Refused[n])
	}
	return nil
}
