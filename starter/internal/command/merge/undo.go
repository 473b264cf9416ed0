package merge

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/byflag"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

type undoFlags struct {
	from, by string
}

// UndoReport is the output of `undo --json`.
type UndoReport struct {
	RunID  run.ID     `json:"runId"`
	Name   run.Name   `json:"name,omitempty"`
	Branch string     `json:"branch"`
	Before run.Commit `json:"before"`
	After  run.Commit `json:"after"`
	// Already is set if the branch did not have the changes any more: nothing was done.
	Already bool `json:"already,omitempty"`
}

// NewUndo returns `undo`.
func NewUndo(c *factory.Factory) *cobra.Command {
	var f undoFlags
	cmd := &cobra.Command{
		Use:   "undo RUN",
		Short: "Take a merged run's changes back, by a commit that reverts them",
		Long: `Makes one commit that reverts all that the merge of a run brought to the branch that
its repository has checked out, or to --from. Other commits stay. Your own git makes
the commit, with your identity, signature and hooks for messages, as for merge.
No checks run. A run that was undone can be merged again.

If later commits changed the same lines, or changes of yours are in the way, nothing
changes. If the run is undone already, the command says so and ends with 0.`,
		Example:           "  starter undo slug#14\n  starter undo 14 --from release",
		Args:              usage.Args(1, usage.WantsRun),
		ValidArgsFunction: runref.Complete(c),
		RunE:              runref.On(c, func(ctx context.Context, r runref.Found, _ []string) error { return undoRun(ctx, c, r, f) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "`branch` to take the changes from; default: the one that is checked out")
	flags.Var(&byflag.Name{Name: &f.by, User: c.UserName()}, "by", "`name` of who undoes; default: the identity of your git")
	return cmd
}

func undoRun(ctx context.Context, c *factory.Factory, r runref.Found, f undoFlags) error {
	if err := c.MayDecide(); err != nil {
		return err
	}
	state, err := r.State(ctx, r.ID)
	if err != nil {
		return err
	}
	if state.Status != run.Completed {
		return fmt.Errorf("run %s is %s and not merged: there is nothing to undo", r.ShownName(), state.Status)
	}
	in, work, err := mergeInput(ctx, c, r, mergeFlags{into: f.from, by: f.by})
	if err == nil {
		err = runref.CheckRepository(r, in.Repository)
	}
	if err != nil {
		return err
	}
	eachBefore(ctx, c, r, work.Input, func(id run.ID, _ []run.Event) { in.Earlier = append(in.Earlier, id) })
	plan, err := merge.PrepareUndo(ctx, in)
	if err != nil {
		return fmt.Errorf("%s is not undone: %w", r.ShownName(), err)
	}
	warnOfMerge(c, plan)
	if err := plan.Apply(ctx); err != nil {
		return fmt.Errorf("%s is not undone on %s: %w", r.ShownName(), display.Line(plan.Into), err)
	}
	if c.JSON {
		return c.PrintJSON(UndoReport{RunID: r.ID, Name: r.Name, Branch: plan.Into, Before: plan.Old, After: plan.New, Already: plan.Commits == 0})
	}
	s := c.Style()
	name, branch := s.Bold(r.ShownName()), story.OneLine(plan.Into, 100)
	switch {
	case plan.Already != "":
		c.Printf("Nothing to undo: commit %.12s of %s has undone %s.\n", plan.Already, branch, name)
	case plan.Commits == 0:
		c.Printf("Nothing to undo: %s no longer has the changes of %s.\n", branch, name)
	default:
		c.Printf("%s %s undone on %s, now at %.12s\n  `%s` brings it back\n", s.Good("✓"), name, branch, plan.New, c.Hint("merge %s", r.ShownName()))
	}
	return nil
}
