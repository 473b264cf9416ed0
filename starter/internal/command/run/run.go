// Package run is the command `starter run`.
package run

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/background"
	"github.com/ratchet-dev/ratchet/starter/internal/deliveries"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

const runExample = `  # any program can be the provider: it gets the request as JSON on standard input
  starter run 'Total() must not lose cents' --repo ~/src/shop --provider 'command:./agent.py'

  # recorded answers: plan-1.md, execute-1.md, fix-2.md
  starter run --goal-file goal.md --provider replay:answers --check 'go test ./...' --check 'go vet ./...'

  # Claude Code plans, it and Codex compete for the best patch, Claude Code fixes
  starter run 'Make the tests pass' --provider claude --developer claude --developer codex --check 'go test ./...'

  # a saved goal, with its parameter
  starter run @licence-headers --set year=2026

  # ask only about risky patches, run in the background, decide later
  id=$(starter run 'Update the licence headers' --provider 'command:./agent.py' --approve risky --detach)
  starter watch $id`

func New(c *factory.Factory) *cobra.Command {
	var f newrun.Flags
	var goals bool
	cmd := &cobra.Command{
		Use:   "run [GOAL] --provider SPEC",
		Short: "Start a run and follow it live",
		Long: `Starts a run and follows it live: plan, execute, evaluate, fix, until the checks
pass. The work happens in a worktree of its own; the result is the branch
ratchet/<number>-<goal>, of a repository named by a URL on its server. On a terminal you are asked for approvals and answers, and
without a GOAL your editor opens to write one; elsewhere
the command ends with exit code 3 or 4 when the run waits. An interrupt ends the
following, never the run.

A GOAL such as @licence-headers is a saved one: goals/licence-headers.md beside your
own settings, or .ratchet/goals/licence-headers.md in the repository's last commit.
--set year=2026 fills in its {{year}}.

What no flag says is taken from your own file, then from .ratchet.toml in the
repository's last commit (` + "`starter init`" + ` writes one), then from the defaults.`,
		Example: runExample,
		Args:    usage.ArgsBetween(0, 1, "the goal as one argument, in quotes"),
	}
	f.Register(cmd.Flags())
	newrun.AddCompletion(c, cmd, &f)
	cmd.ValidArgsFunction = newrun.CompleteGoal(c, &f)
	cmd.Flags().BoolVar(&goals, "goals", false, "list the saved goals, and start nothing")
	cmd.Flags().StringVar(&f.Issue, "issue", "", "`URL` of an issue, whose text is the goal as it is now: see docs/tickets.md")
	cmd.Flags().StringVar(&f.Host, "host", "", "`name` of a joined host that does the run, which needs the URL of a repository: see docs/hosts.md")
	follow.AddVerbose(cmd, &f.Verbose)
	cmd.Flags().BoolVar(&f.ByAgent, newrun.ByAgentFlag, false, "an agent, not a person, starts the run")
	_ = cmd.Flags().MarkHidden(newrun.ByAgentFlag)
	cmd.RunE = c.Handle(func(ctx context.Context, args []string) error {
		if goals {
			return newrun.PrintGoals(ctx, c, f.Repo)
		}
		f.TakeGoal(cmd.Flags(), args)
		return startRun(ctx, c, cmd.Flags(), &f)
	})
	usage.FewFlags(cmd, "goal-file", "provider", "check", "approve", "base", "branch", "attempts", "max-cost", "max-fix", "detach", "sandbox", "tools")
	return cmd
}

// startRun starts the run of the flags, which the files of the user and of the repository complete. The
// fields of f are the values of the flag set.
func startRun(ctx context.Context, c *factory.Factory, flags *pflag.FlagSet, f *newrun.Flags) error {
	drafts := newrun.DraftsGoal(c, *f)
	if !drafts {
		if err := newrun.ReadGoal(c, f); err != nil {
			return err
		}
	}
	if f.Issue != "" {
		if err := c.MayDecide(); err != nil {
			return err
		}
		if _, _, err := forge.ParseIssue(f.Issue); err != nil {
			return &usage.Error{Err: err}
		}
	}
	dial := func(ctx context.Context) (*runs.Client, func(), error) {
		return dialFor(ctx, c, run.Providers{}, f.Sandbox)
	}
	if f.Host != "" { // the worker here may be away
		dial = nil
	}
	src, err := newrun.Source(ctx, c, f.Repo, f.Base, f.ByAgent, dial)
	if err != nil {
		return err
	}
	if err := newrun.ReadSaved(ctx, c, f, src); err != nil {
		return err
	}
	if err := f.Configure(ctx, c, flags, src, f.Base); err != nil {
		return err
	}
	if drafts {
		return startDrafted(ctx, c, *f, src)
	}
	return startFrom(ctx, c, *f, src, func() {})
}

// startDrafted starts a run whose goal the person writes in the editor. It refuses before the editor opens what it can,
// and keeps the goal if the run does not start. The run starts from the source whatever is committed meanwhile.
func startDrafted(ctx context.Context, c *factory.Factory, f newrun.Flags, src workspace.Source) error {
	if err := checkBeforeGoal(ctx, c, f); err != nil {
		return err
	}
	goal, err := newrun.DraftGoal(c, &f)
	if err != nil {
		return err
	}
	begun := false
	err = startFrom(ctx, c, f, src, func() { begun = true; goal.Remove() })
	if !begun {
		newrun.ReportKeptGoal(c, goal)
	}
	return err
}

// checkBeforeGoal refuses flags with which no run starts, whatever its goal is: for their words, their providers, or the
// engine.
func checkBeforeGoal(ctx context.Context, c *factory.Factory, f newrun.Flags) error {
	var in run.Input
	if err := f.ReadWords(&in); err != nil {
		return err
	}
	specs, rivals, err := f.ProviderSpecs()
	if err != nil {
		return err
	}
	if in.Providers, err = newrun.CheckProviders(specs, rivals); err != nil {
		return err
	}
	_, closeClient, err := dialFor(ctx, c, in.Providers, f.Sandbox)
	if err != nil {
		return err
	}
	closeClient()
	if f.Host != "" {
		return nil
	}
	return sandboxing.Check(c, in.Sandbox, false) // startFrom remembers a flag
}

// dialFor reaches the engine for a run. Where there is none it says first which provider is missing.
func dialFor(ctx context.Context, c *factory.Factory, p run.Providers, sandbox string) (*runs.Client, func(), error) {
	client, closeClient, err := c.Dial(ctx)
	if err != nil && background.StartIfAway(ctx, c, err, sandbox) == nil {
		client, closeClient, err = c.Dial(ctx)
	}
	if err != nil {
		return nil, nil, cmp.Or(newrun.MissingHere(err, p), err)
	}
	return client, closeClient, nil
}

// startFrom starts the run of the flags, whose goal is read, and follows it. It calls begun once the run has started.
func startFrom(ctx context.Context, c *factory.Factory, f newrun.Flags, src workspace.Source, begun func()) error {
	in, err := newrun.InputFrom(ctx, c, f, src)
	if err != nil {
		return err
	}
	if dir, err := c.OpenRecord(in.RunID); err == nil {
		return fmt.Errorf("run %s has a record in %s: follow it with `%s`, resume it with `%s`, or start one under another --id",
			in.RunID, dir.Path(), c.Hint("watch %s", in.RunID), c.Hint("resume %s", dir.Path()))
	}
	client, closeClient, err := dialFor(ctx, c, in.Providers, f.Sandbox)
	if err != nil {
		return err
	}
	defer closeClient()
	if err := deliveries.CompleteSession(ctx, c, &in); err != nil {
		return err
	}
	if f.Host == "" {
		err = sandboxing.Check(c, in.Sandbox, f.Origins["sandbox"] == run.FromFlag)
	} else {
		client, err = newrun.Send(ctx, c, client, f.Host, &in)
	}
	if err != nil {
		return err
	}
	if err := newrun.Probe(ctx, c, client, &in); err != nil {
		return err
	}
	if f.Issue != "" {
		var issue run.Issue
		if in.Goal, issue, err = client.ReadIssue(ctx, f.Issue); err != nil {
			return fmt.Errorf("--issue: %w", err)
		}
		in.Issue = &issue
	}
	if err := newrun.Begin(ctx, c, client, &in, f.Branch); err != nil {
		return err
	}
	begun()
	return follow.Started(ctx, c, runref.Found{Client: client, ID: in.RunID, Name: in.Name}, f.Detach, f.Verbose)
}
