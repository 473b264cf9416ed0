// Package show is the command `starter show`.
package show

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/pullrequest"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/artifacts"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "Print a run that is over as a page of Markdown, for a pull request",
		Long: `Prints the goal, the commits with who approved them, the checks, the decisions and
the cost of a run that is over, as Markdown. What people and models wrote stands in
code: it mentions no account and closes no issue.`,
		Example:           "  starter show slug#14\n  gh pr create --title 'Trim titles' --body \"$(starter show 14)\"",
		Args:              usage.Args(1, usage.WantsRun),
		ValidArgsFunction: runref.CompleteOf(c, runref.Over),
		RunE:              runref.On(c, func(ctx context.Context, r runref.Found, _ []string) error { return showRun(ctx, c, r) }),
	}
}

func showRun(ctx context.Context, c *factory.Factory, r runref.Found) error {
	events, err := r.Events(ctx, r.ID, "")
	if err != nil {
		return err
	}
	s, err := run.Fold(events)
	if err != nil {
		return fmt.Errorf("the first events of run %s are missing: name its runs directory with --runs-dir: %w", r.ShownName(), err)
	}
	if !s.State.Status.Terminal() {
		return fmt.Errorf("run %s is %s: only a run that has ended can be shown; see `%s`", r.ShownName(), s.State.Status, c.Hint("status %s", r.ShownName()))
	}
	var report *check.Report
	if s.Report != nil {
		if read, ok := artifacts.Reports(c, r.ID)(*s.Report); ok {
			report = &read
		}
	}
	page, err := pullrequest.Page(events, report)
	if err != nil {
		return err
	}
	undone := ""
	if facts, err := r.Facts(ctx, r.ID); err == nil && s.State.Status == run.Completed {
		if stands, err := review.NewDisk(c.RunsDir).Standing(ctx, facts); err == nil && stands.Undone != "" {
			undone = stands.Undone
			page += "\n" + pullrequest.Undone(undone, stands.At) + "\n"
		}
	}
	if c.JSON {
		return c.PrintJSON(struct {
			RunID    run.ID   `json:"runId"`
			Name     run.Name `json:"name,omitempty"`
			Undone   string   `json:"undone,omitempty"` // the branch
			Markdown string   `json:"markdown"`
		}{r.ID, r.Name, undone, page})
	}
	c.Printf("%s", page)
	return nil
}
