// Package merge is the command `starter merge`.
package merge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/byflag"
	"github.com/ratchet-dev/ratchet/starter/internal/checkouts"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

type mergeFlags struct {
	into             string
	squash, keep     bool
	noChecks, dryRun bool
	by               string
	toolchains       []string
}

// Report is the output of `merge --json`.
type Report struct {
	RunID   run.ID     `json:"runId"`
	Name    run.Name   `json:"name,omitempty"`
	Into    string     `json:"into"`
	Before  run.Commit `json:"before"`
	After   run.Commit `json:"after"`
	Commits int        `json:"commits"`
	Rebased bool       `json:"rebased"`           // the branch had moved on: the checks ran again, unless Unchecked
	Already bool       `json:"already,omitempty"` // the branch has the changes: nothing was merged
	// Unchecked is set if no checks ran on what the branch holds now.
	Unchecked bool           `json:"unchecked,omitempty"`
	Checks    []check.Result `json:"checks,omitempty"` // of the branch as it is now
	// BranchRemoved is set if the run's own branch is gone.
	BranchRemoved bool `json:"branchRemoved"`
	DryRun        bool `json:"dryRun,omitempty"`
}

func New(c *factory.Factory) *cobra.Command {
	var f mergeFlags
	cmd := &cobra.Command{
		Use:   "merge RUN",
		Short: "Bring a completed run's commits to your branch",
		Long: `Brings the commits of a completed run to the branch that its repository has checked
out, or to --into, and removes the run's own branch. Their messages say the goal,
who approved, what checked, and the run.

Your own git makes the commits, in a temporary work tree, with your identity,
signature and hooks for messages. Where the branch has moved on, the run's checks
run on the result, in the sandbox, before anything is moved. They run on this machine,
with your variables: give it the --toolchain of the worker's. Then git merge
--ff-only moves the branch. A conflict, a check that fails, a branch that moved, or
changes of yours that are in the way leave everything as it was.`,
		Example:           "  starter merge slug#14\n  starter merge 14 --squash\n  starter merge 14 --into release --dry-run",
		Args:              usage.Args(1, usage.WantsRun),
		ValidArgsFunction: runref.CompleteOf(c, runref.Unmerged),
		RunE:              runref.On(c, func(ctx context.Context, r runref.Found, _ []string) error { return mergeRun(ctx, c, r, f) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.into, "into", "", "`branch` to merge into; default: the one that is checked out")
	flags.BoolVar(&f.squash, "squash", false, "make one commit of the run's")
	flags.BoolVar(&f.keep, "keep-branch", false, "leave the run's own branch")
	flags.BoolVar(&f.noChecks, "no-checks", false, "run no checks where the branch has moved on")
	flags.BoolVar(&f.dryRun, "dry-run", false, "do everything but move the branch")
	flags.StringArrayVar(&f.toolchains, "toolchain", nil, host.ToolchainUsage)
	flags.Var(&byflag.Name{Name: &f.by, User: c.UserName()}, "by", "`name` of who merges; default: the identity of your git")
	return cmd
}

// mergeRun refuses what a run has started, as every decision does.
func mergeRun(ctx context.Context, c *factory.Factory, r runref.Found, f mergeFlags) error {
	if err := c.MayDecide(); err != nil {
		return err
	}
	config, err := sandboxing.Host(c, f.toolchains)
	if err != nil {
		return err
	}
	in, work, err := mergeInput(ctx, c, r, f)
	if url := work.Repository.URL; err == nil && url != "" {
		return fmt.Errorf("%s is not merged: the branch %s is at %s: open its pull request with `%s`, or merge it there", r.ShownName(), work.branch, display.Line(url), c.Hint("pr %s", r.ShownName()))
	}
	if err == nil {
		err = runref.CheckRepository(r, in.Repository)
	}
	if err != nil {
		return err
	}
	plan, err := merge.Prepare(ctx, in)
	if conflict, ok := errors.AsType[*merge.ConflictError](err); ok {
		return fmt.Errorf("%s is not merged: %w, or let the agent do it again with `%s`", r.ShownName(), err, c.Hint("retry %s --onto %s", r.ShownName(), conflict.Into))
	}
	if err != nil {
		return fmt.Errorf("%s is not merged: %w", r.ShownName(), err)
	}
	if plan.Into == work.branch {
		return usage.Errorf("%s is the run's own branch: switch to the branch to merge into, or name it with --into", display.Line(plan.Into))
	}
	out := Report{RunID: r.ID, Name: r.Name, Into: plan.Into, Before: plan.Old, After: plan.New, Commits: plan.Commits, Already: plan.Commits == 0, DryRun: f.dryRun}
	out.Rebased = !out.Already && !plan.Checked
	warnOfMerge(c, plan)
	if out.Rebased && !f.noChecks {
		if out.Checks, err = checkMerged(ctx, c, config, work.Input, plan.New); err != nil {
			return fmt.Errorf("%s is not merged into %s, nothing was changed: %w", r.ShownName(), display.Line(plan.Into), err)
		}
	}
	out.Unchecked = out.Rebased && len(out.Checks) == 0
	if f.dryRun {
		return printMerge(c, out)
	}
	if err := plan.Apply(ctx); err != nil {
		return fmt.Errorf("%s is not merged into %s: %w", r.ShownName(), display.Line(plan.Into), err)
	}
	if !f.keep && (plan.Commits > 0 || plan.Already != "") { // else its commits are nowhere but there
		err := merge.RemoveBranch(ctx, in.Repository, work.branch, in.Head)
		if out.BranchRemoved = err == nil; err != nil {
			fmt.Fprintf(c.Err, "starter: the run's branch %s stays: %s\n", work.branch, display.Line(err.Error()))
		}
	}
	return printMerge(c, out)
}

// warnOfMerge says what the user may not expect of the commits.
func warnOfMerge(c *factory.Factory, plan *merge.Plan) {
	if plan.Unnamed {
		fmt.Fprintf(c.Err, "starter: git has no name and address for you, so the committer is %s: set user.name and user.email\n", git.Name)
	}
	if plan.HooksOff != "" {
		fmt.Fprintf(c.Err, "starter: the merge changes %s, where your hooks are, so none of them runs after it: look at them before your next git command\n", display.Line(plan.HooksOff))
	}
}

// mergedRun is a completed run as its events describe it.
type mergedRun struct {
	run.Input
	branch string
}

// mergeInput reads the commits to merge from the engine, which is the truth about a run.
func mergeInput(ctx context.Context, c *factory.Factory, r runref.Found, f mergeFlags) (in merge.Input, work mergedRun, err error) {
	facts, err := r.Facts(ctx, r.ID)
	if err != nil {
		return in, work, err
	}
	state, err := r.State(ctx, r.ID)
	switch {
	case err != nil:
		return in, work, err
	case !state.Status.Terminal():
		return in, work, fmt.Errorf("run %s is %s: only a completed run is merged: see `%s`", r.ShownName(), state.Status, c.Hint("status %s", r.ShownName()))
	case state.Status != run.Completed:
		return in, work, fmt.Errorf("run %s is %s: only a completed run is merged", r.ShownName(), state.Status)
	case facts.Commits == 0:
		return in, work, fmt.Errorf("run %s has no commits: there is nothing to merge", r.ShownName())
	}
	events, err := r.Events(ctx, r.ID, "")
	if err != nil {
		return in, work, err
	}
	if len(events) > 0 {
		if created, ok := events[0].Payload.(run.RunCreated); ok {
			work = mergedRun{created.Input, facts.Branch}
		}
	}
	if work.RunID != r.ID {
		return in, work, fmt.Errorf("the first event of run %s is missing: name its runs directory with --runs-dir", r.ShownName())
	}
	made := makersOf(events)
	made.addBefore(ctx, c, r, work.Input)
	return merge.Input{
		Repository: facts.Repository.Path, RunID: r.ID, Name: r.Name, Goal: facts.Goal, Base: work.FirstBase(), Head: facts.Head,
		Into: f.into, Squash: f.squash, By: f.by, Checks: facts.Checks, ApprovedBy: made.approved, WrittenBy: made.wrote,
	}, work, nil
}

// maxChain bounds the runs before one.
const maxChain = 50

// addBefore adds who made the commits of the runs before a run, as far as their events are at hand.
func (m makers) addBefore(ctx context.Context, c *factory.Factory, r runref.Found, in run.Input) {
	eachBefore(ctx, c, r, in, func(_ run.ID, events []run.Event) {
		before := makersOf(events)
		maps.Copy(m.approved, before.approved)
		maps.Copy(m.wrote, before.wrote)
	})
}

// eachBefore calls use with the runs before a run, the last first, and with their events as far as they are at hand.
func eachBefore(ctx context.Context, c *factory.Factory, r runref.Found, in run.Input, use func(run.ID, []run.Event)) {
	for range maxChain {
		if in.Before == nil {
			return
		}
		id := in.Before.RunID
		events, err := r.Events(ctx, id, "")
		if err != nil && recordedOnly(c, id, &events) != nil {
			events = nil
		}
		use(id, events)
		if len(events) == 0 {
			return
		}
		created, ok := events[0].Payload.(run.RunCreated)
		if !ok {
			return
		}
		in = created.Input
	}
}

// recordedOnly reads the events of a run that the engine no longer knows.
func recordedOnly(c *factory.Factory, id run.ID, events *[]run.Event) (err error) {
	*events, err = c.RecordedEvents(id)
	return err
}

// checkMerged runs the checks of the run on a commit that nothing refers to yet. The error says which failed.
func checkMerged(ctx context.Context, c *factory.Factory, config host.Config, of run.Input, commit run.Commit) ([]check.Result, error) {
	if len(of.Checks) == 0 {
		return nil, nil
	}
	runsDir, err := filepath.Abs(c.RunsDir)
	if err != nil {
		return nil, err
	}
	config.Sandbox, config.RunsDir = of.Sandbox, runsDir
	in := activities.CheckInput{Timeout: of.Timeouts.WithDefaults().Check, Commands: of.Checks, Env: of.CheckEnv, Network: of.CheckNetwork, CacheReadOnly: of.CacheReadOnly}
	in.RunID, in.Sandbox, in.Repository = run.ID(checkouts.MergeChecks+string(of.RunID)), of.Sandbox, of.Repository
	in.Repository.Base = commit
	work := c.ErrorScreen().Work("runs the checks on the merged state")
	defer work.Stop()
	doing := ""
	report, err := config.CheckOnce(ctx, in, func(now string) {
		if now != doing {
			work.Step(display.Line(now))
		}
		doing = now
	})
	if refused, ok := errors.AsType[*activities.NotBoxed](err); ok {
		return nil, fmt.Errorf("cannot run the checks here: %s; --no-checks merges without them", refused.Reason)
	}
	if err != nil {
		return nil, fmt.Errorf("run the checks: %w", err)
	}
	var failed []string
	for _, result := range report.Checks {
		if result.Status != check.Pass {
			failed = append(failed, strings.TrimSpace(result.Command+" "+result.Reason))
		}
	}
	if len(failed) > 0 {
		return nil, fmt.Errorf("a check failed on the merged result: %s", strings.Join(failed, ", "))
	}
	return report.Checks, nil
}

func printMerge(c *factory.Factory, out Report) error {
	if c.JSON {
		return c.PrintJSON(out)
	}
	s := c.Style()
	name, into := s.Bold(out.Name.Shown(out.RunID)), story.OneLine(out.Into, 100)
	switch {
	case out.Already:
		c.Printf("Nothing to merge: %s already has these changes.\n", into)
	case out.DryRun:
		c.Printf("%s would be %s on %s; nothing was changed\n", name, display.Count(out.Commits, "commit", "commits"), into)
	default:
		c.Printf("%s %s onto %s, now at %.12s: %s\n", s.Good("✓"), name, into, out.After, display.Count(out.Commits, "commit", "commits"))
	}
	switch {
	case out.Rebased && out.Unchecked:
		c.Printf("  %s\n", s.Wait(into+" had moved on, and no checks ran on the result"))
	case out.Rebased:
		c.Printf("  %s had moved on; the checks ran again:\n", into)
		for _, r := range out.Checks {
			c.Printf("  %s %s  %s\n", s.Good("✓"), story.OneLine(r.Command, 120), s.Dim(terminal.Duration(time.Duration(r.DurationMs)*time.Millisecond)))
		}
	}
	if out.BranchRemoved {
		c.Printf("  the run's branch is removed, its record stays\n")
	}
	return nil
}
