package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// runFlags holds the flags of `run`.
type runFlags struct {
	repo, base      string
	goal, goalFile  string
	provider        string
	roles           run.Providers // named one by one, without developers
	developers      []string
	attempts        int
	checks, env     []string
	noBaseline      bool
	quick           bool
	checkNetwork    []string
	policy          string
	sandbox         string
	maxFix          int
	limits          run.Limit
	maxTokens       int64
	maxCost         float64
	tools           string
	network, fresh  bool
	options         optionFlags
	limitGiven      bool // --timeout
	patches         run.Size
	detach          bool
	id              string
	goalGiven, file bool
	branch, message string // templates
	tell            string // a standing session
	// origins says who chose what, by the names of the settings.
	origins map[string]run.Origin
}

const runExample = `  # any program can be the provider: it gets the request as JSON on standard input
  starter run 'Total() must not lose cents' --repo ~/src/shop --provider 'command:./agent.py'

  # recorded answers: plan-1.md, execute-1.md, fix-2.md
  starter run --goal-file goal.md --provider replay:answers --check 'go test ./...' --check 'go vet ./...'

  # Claude Code plans, it and Codex compete for the best patch, Claude Code fixes
  starter run 'Make the tests pass' --provider claude --developer claude --developer codex --check 'go test ./...'

  # ask only about risky patches, run in the background, decide later
  id=$(starter run 'Update the licence headers' --provider 'command:./agent.py' --approve risky --detach)
  starter watch $id`

func runCommand(c *factory.Factory) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [GOAL] --provider SPEC",
		Short: "Start a run and follow it live",
		Long: `Starts a run and follows it live: plan, execute, evaluate, fix, until the checks
pass. The work happens in a worktree of its own; the result is the branch
ratchet/<number>-<goal>. On a terminal you are asked for approvals and answers, and
without a GOAL your editor opens to write one; elsewhere
the command ends with exit code 3 or 4 when the run waits. An interrupt ends the
following, never the run.

What no flag says is taken from your own file, then from .ratchet.toml in the
repository's last commit (` + "`starter init`" + ` writes one), then from the defaults.`,
		Example: runExample,
		Args:    usage.ArgsBetween(0, 1, "the goal as one argument, in quotes"),
	}
	f.registerFlags(cmd.Flags())
	follow.AddVerbose(c, cmd)
	cmd.RunE = c.Handle(func(ctx context.Context, args []string) error {
		f.takeGoal(cmd.Flags(), args)
		return startRun(ctx, c, cmd.Flags(), &f)
	})
	return cmd
}

// agentLimit is the default limit of a call that an agent serves. It is long because an agent
// works, while a model only answers.
const agentLimit = 45 * time.Minute

func (f *runFlags) registerFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.repo, "repo", ".", "`directory` in the git repository to work on")
	flags.StringVar(&f.base, "base", "", "`commit` to start from; default: the last one, with nothing uncommitted beside it")
	flags.StringVar(&f.goal, "goal", "", "`text` of what the run shall reach, in place of GOAL")
	flags.StringVar(&f.goalFile, "goal-file", "", "`file` that holds the goal; - is standard input")
	flags.StringVar(&f.provider, "provider", "", "`spec` of the provider of planner, developer and fixer, such as claude, codex, anthropic:<model>, acp:<program and arguments>, command:<program and arguments>")
	flags.StringVar(&f.roles.Planner, "planner", "", "`spec` of the planner's provider")
	flags.StringArrayVar(&f.developers, "developer", nil, "`spec` of the developer's provider; several compete, see --attempts")
	flags.IntVar(&f.attempts, "attempts", 0, "how many attempts at the execute phase compete, at most "+strconv.Itoa(run.MaxCandidates)+"; default: one for each developer")
	flags.StringVar(&f.roles.Fixer, "fixer", "", "`spec` of the fixer's provider")
	flags.StringVar(&f.roles.Evaluator, "evaluator", "", "`spec` of a provider that judges what the checks let pass; default: the checks alone decide")
	flags.StringArrayVar(&f.checks, "check", nil, "`command` that judges the result, for /bin/sh; repeat it for more; default: found in the repository")
	flags.BoolVar(&f.noBaseline, "no-baseline", false, "do not run the checks on the base commit before the planner is called")
	flags.BoolVar(&f.quick, "quick", false, "begin with the developer: no plan, and no checks on the base commit where the settings or flags name the checks")
	flags.StringArrayVar(&f.env, "env", nil, "`name` of a variable of the worker that the checks may see; repeat it for more")
	flags.StringArrayVar(&f.checkNetwork, "check-network", nil, "`host:port` that the checks may reach, or registry, or registry:go, npm, pip or cargo; repeat it for more; default: none")
	flags.StringVar(&f.policy, "approve", string(run.Always), "which patches wait for a person: `always`, risky or never")
	flags.StringVar(&f.sandbox, "sandbox", "", "`required` or off: hold what the run executes in the box, or let it do what the worker's user can; off must be said by the worker, too; default: required, unless your settings say off")
	flags.IntVar(&f.maxFix, "max-fix", run.DefaultMaxFix, "most fixes that are tried unasked; those that you ask for by a rejection or an answer do not count")
	defaults := run.Limit{}.WithDefaults()
	flags.DurationVar(&f.limits.Provider, "timeout", defaults.Provider, "limit of each provider call; of an agent's, unless given, "+agentLimit.String())
	flags.DurationVar(&f.limits.Check, "check-timeout", defaults.Check, "limit of each check")
	flags.DurationVar(&f.limits.Approval, "approval-timeout", 0, "limit of each wait for an approval, after which the run is canceled; 0 waits for ever")
	flags.DurationVar(&f.limits.Answer, "answer-timeout", 0, "limit of each wait for an answer, after which the run is canceled; 0 waits for ever")
	flags.IntVar(&f.patches.Files, "max-patch-files", 0, "most files that a patch may change; 0 is 500")
	flags.IntVar(&f.patches.Bytes, "max-patch-bytes", 0, "most bytes that a diff may have; 0 is 8 MiB")
	flags.Int64Var(&f.maxTokens, "max-tokens", 0, "token budget, after which the run asks; 0 is none")
	flags.StringVar(&f.branch, "branch", "", "`template` of the branch's name, such as agents/{slug}-{short}; placeholders {number}, {slug}, {run}, {short}; default: "+run.DefaultBranch)
	flags.StringVar(&f.message, "commit-message", "", "`template` of the commits' messages; placeholders {summary}, {goal}, {slug}, {run}, {short}, {name}, {number}, {iteration}; default: {summary}")
	flags.StringVar(&f.tell, "tell", "", "`session` that is told when the run waits and when it ends: see starter deliveries")
	flags.BoolVar(&f.detach, "detach", false, "print the run id and do not follow")
	flags.StringVar(&f.id, "id", "", "`id` of the run; default: a new UUID")
	flags.Float64Var(&f.maxCost, "max-cost", 0, "budget in dollars, where prices are known, after which the run asks; 0 is none")
	flags.StringVar(&f.tools, "tools", string(run.AskTools), "who lets agents use tools beyond changing files: `ask` a person, allow, deny")
	flags.BoolVar(&f.network, "network", false, "let the tools of agents reach the network, where their sandbox can tell")
	flags.BoolVar(&f.fresh, "fresh-fixer", false, "give the fixer a session of its own, not the developer's")
	f.options.register(flags)
}

// startRun starts the run of the flags, which the files of the user and of the repository complete. The
// fields of f are the values of the flag set.
func startRun(ctx context.Context, c *factory.Factory, flags *pflag.FlagSet, f *runFlags) error {
	drafts := draftsGoal(c, *f)
	if !drafts {
		if err := readGoalOf(c, f); err != nil {
			return err
		}
	}
	src, err := workspace.Inspect(ctx, f.repo, f.base)
	if err != nil {
		return err
	}
	if f.origins, err = configure(ctx, c, flags, src, f.base); err != nil {
		return err
	}
	f.limitGiven = flags.Changed("timeout")
	f.hurry()
	if drafts {
		return startDrafted(ctx, c, *f, src)
	}
	return startFrom(ctx, c, *f, src, func() {})
}

// hurry applies --quick. A planner that is named stays.
func (f *runFlags) hurry() {
	if !f.quick {
		return
	}
	if f.roles.Planner == "" {
		f.roles.Planner = run.NoPlanner
	}
	f.noBaseline = f.noBaseline || len(f.checks) > 0
}

// startDrafted starts a run whose goal the person writes in the editor. It refuses before the editor opens what it can,
// and keeps the goal if the run does not start. The run starts from the source whatever is committed meanwhile.
func startDrafted(ctx context.Context, c *factory.Factory, f runFlags, src workspace.Source) error {
	if err := checkBeforeGoal(ctx, c, f); err != nil {
		return err
	}
	goal, err := draftGoal(c, &f)
	if err != nil {
		return err
	}
	begun := false
	err = startFrom(ctx, c, f, src, func() { begun = true; goal.Remove() })
	if !begun {
		tellKeptGoal(c, goal)
	}
	return err
}

// checkBeforeGoal refuses flags with which no run starts, whatever its goal is: for their words, their providers, or the
// engine.
func checkBeforeGoal(ctx context.Context, c *factory.Factory, f runFlags) error {
	var in run.Input
	if err := f.readWords(&in); err != nil {
		return err
	}
	specs, rivals, err := f.providerSpecs()
	if err != nil {
		return err
	}
	if in.Providers, err = checkProviders(specs, rivals); err != nil {
		return err
	}
	_, closeClient, err := dialFor(ctx, c, in.Providers, f.sandbox)
	if err != nil {
		return err
	}
	closeClient()
	return checkSandbox(c, in.Sandbox, false) // startFrom remembers a flag
}

// dialFor reaches the engine for a run. Where there is none it says first which provider is missing.
func dialFor(ctx context.Context, c *factory.Factory, p run.Providers, sandbox string) (*runs.Client, func(), error) {
	client, closeClient, err := c.Dial(ctx)
	if err != nil && startIfAway(ctx, c, err, sandbox) == nil {
		client, closeClient, err = c.Dial(ctx)
	}
	if err != nil {
		return nil, nil, cmp.Or(missingHere(err, p), err)
	}
	return client, closeClient, nil
}

// startFrom starts the run of the flags, whose goal is read, and follows it. It calls begun once the run has started.
func startFrom(ctx context.Context, c *factory.Factory, f runFlags, src workspace.Source, begun func()) error {
	in, err := inputFrom(ctx, c, f, src)
	if err != nil {
		return err
	}
	if dir, err := c.OpenRecord(in.RunID); err == nil {
		return fmt.Errorf("run %s has a record in %s: follow it with `%s`, resume it with `%s`, or start one under another --id",
			in.RunID, dir.Path(), c.Hint("watch %s", in.RunID), c.Hint("resume %s", dir.Path()))
	}
	client, closeClient, err := dialFor(ctx, c, in.Providers, f.sandbox)
	if err != nil {
		return err
	}
	defer closeClient()
	if err := findTold(ctx, c, &in); err != nil {
		return err
	}
	if err := checkSandbox(c, in.Sandbox, f.origins["sandbox"] == run.FromFlag); err != nil {
		return err
	}
	if err := probeProviders(ctx, c, client, &in); err != nil {
		return err
	}
	if err := beginRun(ctx, c, client, &in, f.branch); err != nil {
		return err
	}
	begun()
	return follow.Started(ctx, c, runref.Found{Client: client, ID: in.RunID, Name: in.Name}, f.detach)
}
