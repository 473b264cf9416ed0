// Package ticket is the command `starter ticket`.
package ticket

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	forgeflow "github.com/ratchet-dev/ratchet/workflows/forge"
)

// ticketFlags are the flags of `starter ticket`.
type ticketFlags struct {
	run          newrun.Flags
	remote, into string
	label        string
	rounds       int
	reviews      int
	patience     time.Duration
}

// registerFlags registers the flags of tickets.
func (f *ticketFlags) registerFlags(flags *pflag.FlagSet) {
	f.run.Register(flags)
	flags.VisitAll(func(flag *pflag.Flag) { flag.Hidden = !slices.Contains(ticketRunFlags, flag.Name) })
	flags.StringVar(&f.remote, "remote", "", "`name` of the git remote to push to; default: origin")
	flags.StringVar(&f.into, "into", "", "`branch` of the server to merge into; default: the one that is checked out, if the server has it, or the server's default branch")
	flags.IntVar(&f.rounds, "rounds", 3, "most runs after the first, for what checks and reviewers say")
	flags.IntVar(&f.reviews, "reviews", 0, "approvals of the last commit on the server that its status waits for, by people with write permission")
	flags.DurationVar(&f.patience, "patience", 14*24*time.Hour, "`duration` of a wait for checks and people, after which the ticket ends")
}

func (f *ticketFlags) check() error {
	switch {
	case f.rounds < 0:
		return usage.Errorf("--rounds is negative")
	case f.reviews < 0:
		return usage.Errorf("--reviews is negative")
	case f.patience < time.Hour:
		return usage.Errorf("--patience %s: want an hour or more", f.patience)
	}
	return nil
}

// ticketRunFlags are the flags of run that `ticket --help` shows. It takes the others, too.
var ticketRunFlags = []string{"repo", "base", "provider", "planner", "developer", "fixer", "evaluator", "check", "check-network", "approve", "sandbox", "max-fix", "max-cost", "max-tokens", "tools", "timeout"}

func New(c *factory.Factory) *cobra.Command {
	var f ticketFlags
	cmd := &cobra.Command{
		Use:   "ticket URL [flags of run]",
		Short: "Work on an issue until its pull request is merged",
		Long: `Works on an issue of GitHub, Gitea or Forgejo: a run, its pull request, and further
runs on the same branch for failed checks and for reviews by people with write
permission, until the pull request is merged or closed, or a bound is reached. One
comment on the issue says how it stands. See docs/tickets.md.

There is one ticket for each issue, whatever is killed or asked for twice. The text of
the issue counts as it is now; later edits are asked about. --max-cost bounds all
runs together.`,
		Example: "  starter ticket https://github.com/acme/shop/issues/7 --provider claude --check 'go test ./...' --max-cost 20\n  starter ticket list",
		Args:    usage.Args(1, "the URL of an issue, as https://HOST/OWNER/NAME/issues/NUMBER"),
	}
	flags := cmd.Flags()
	f.registerFlags(flags)
	cmd.RunE = c.Handle(func(ctx context.Context, args []string) error { return startTicket(ctx, c, flags, args[0], &f) })
	cmd.AddCommand(ticketList(c), ticketShow(c), ticketAnswer(c), ticketRetry(c), ticketStop(c), ticketWatch(c))
	return cmd
}

func startTicket(ctx context.Context, c *factory.Factory, flags *pflag.FlagSet, url string, f *ticketFlags) error {
	if err := c.MayDecide(); err != nil {
		return err
	}
	repo, number, err := forge.ParseIssue(url)
	if err != nil {
		return &usage.Error{Err: err}
	}
	if err := f.check(); err != nil {
		return err
	}
	f.run.Goal, f.run.GoalGiven = "Resolve "+url, true
	in, err := ticketInput(ctx, c, flags, f)
	if err != nil {
		return err
	}
	in.Repository, in.Issue, in.Page = repo, number, url
	client, closeClient, err := c.Dial(ctx)
	if err != nil {
		return err
	}
	defer closeClient()
	if err := sandboxing.Check(c, in.Input.Sandbox, false); err != nil {
		return err
	}
	if err := newrun.Probe(ctx, c, client, &in.Input); err != nil {
		return err
	}
	created, err := client.StartTicket(ctx, in)
	if err != nil {
		return err
	}
	v, err := client.AwaitTicket(ctx, in.Name(), func(reason string) {
		fmt.Fprintf(c.Err, "starter: %s; trying again\n", display.Line(reason))
	})
	switch {
	case err != nil:
		return err
	case !v.Open && v.Problem != "":
		return fmt.Errorf("no ticket for %s: %s", display.Line(in.Name()), display.Line(v.Problem))
	case !created && !c.JSON:
		fmt.Fprintf(c.Err, "starter: the ticket was there already; the flags of this call change nothing\n")
	}
	return printTicket(c, v)
}

// ticketInput returns the input of a ticket by the flags, without the issue.
func ticketInput(ctx context.Context, c *factory.Factory, flags *pflag.FlagSet, f *ticketFlags) (in forgeflow.TicketInput, err error) {
	input, base, err := f.run.PlannedInput(ctx, c, flags)
	if err != nil {
		return in, err
	}
	input.RunID, input.Repository.Base, input.Goal = "", "", ""
	in.Ticket = forgeacts.Ticket{Input: input, Base: base, Template: f.run.Branch, Remote: f.remote, Into: f.into}
	in.Bounds = ticket.Bounds{Rounds: f.rounds, Cost: input.MaxCost, Patience: f.patience, Reviews: f.reviews}
	return in, nil
}
