// Package pr is the command `starter pr`.
package pr

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	forgeflow "github.com/ratchet-dev/ratchet/workflows/forge"
)

// prReport is the output of `pr --json`.
type prReport struct {
	RunID run.ID   `json:"runId"`
	Name  run.Name `json:"name,omitempty"`
	forgeflow.Result
}

func New(c *factory.Factory) *cobra.Command {
	var in forge.Target
	cmd := &cobra.Command{
		Use:   "pr RUN",
		Short: "Push a run's branch and open its pull request",
		Long: `Pushes the branch of a run to the server of its repository (GitHub, Gitea or
Forgejo), opens a pull request, and sets the status "ratchet" on its commit: which
patches were approved and by whom, and which checks passed. The worker does it, with
its own token: see docs/forge.md.

The pull request of a run that is not completed is a draft. Call pr again to bring
branch, text and status up to date: there is one pull request for each branch. A
branch with commits that are not the run's is never overwritten.`,
		Example:           "  starter pr slug#14\n  starter pr 14 --base release --title 'Trim titles'",
		Args:              usage.Args(1, usage.WantsRun),
		ValidArgsFunction: runref.CompleteOf(c, runref.Completed),
		RunE:              runref.On(c, func(ctx context.Context, r runref.Found, _ []string) error { return openPullRequest(ctx, c, r, in) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&in.Remote, "remote", "", "`name` of the git remote to push to; default: origin")
	flags.StringVar(&in.Base, "base", "", "`branch` to merge into; default: the one that is checked out, if the server has it, or the server's default branch")
	flags.StringVar(&in.Title, "title", "", "`text` of the title of a new pull request; default: the first line of the goal")
	flags.BoolVar(&in.Draft, "draft", false, "open the pull request of a completed run as a draft, too")
	return cmd
}

func openPullRequest(ctx context.Context, c *factory.Factory, r runref.Found, in forge.Target) error {
	if err := c.MayDecide(); err != nil {
		return err
	}
	in.RunID = r.ID
	out, err := r.PullRequest(ctx, in, func(reason string) {
		fmt.Fprintf(c.Err, "starter: %s; trying again\n", display.Line(reason))
	})
	if ctx.Err() != nil {
		fmt.Fprintf(c.Err, "starter: the worker continues; `%s` shows the result\n", c.Hint("pr %s", r.ShownName()))
	}
	if err != nil {
		return fmt.Errorf("no pull request for %s: %w", r.ShownName(), err)
	}
	if c.JSON {
		return c.PrintJSON(prReport{r.ID, r.Name, out})
	}
	s := c.Style()
	word := "is up to date"
	switch {
	case out.Merged:
		word = "is merged already"
	case out.Created && out.Draft:
		word = "is open, as a draft"
	case out.Created:
		word = "is open"
	}
	c.Printf("%s pull request #%d of %s %s: %s\n", s.Good("✓"), out.Number, s.Bold(r.ShownName()), word, display.Line(out.URL))
	if out.Unpushed > 0 {
		c.Printf("  %s\n", s.Wait(fmt.Sprintf("it also shows %s of yours that %s there does not have: push them", display.Count(out.Unpushed, "commit", "commits"), display.Line(out.Base))))
	}
	return nil
}
