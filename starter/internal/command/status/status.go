// Package status is the command `starter status`.
package status

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/runrows"
	"github.com/ratchet-dev/ratchet/starter/internal/standing"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	"github.com/ratchet-dev/ratchet/starter/internal/waits"
)

func New(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:               "status [RUN]",
		Short:             "Show where a run stands and what it waits for",
		Example:           "  starter status slug#14\n  starter status slug#14 --json | jq -r .status",
		Args:              usage.ArgsBetween(0, 1, usage.MayHaveRun),
		ValidArgsFunction: runref.Complete(c),
		RunE: runref.OnOr(c, 0, func(ctx context.Context, r runref.Found, _ []string) error {
			st, err := standing.Of(ctx, c, r)
			if err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(st)
			}
			printStatus(c, st)
			return nil
		}, runref.BothWaits...),
	}
}

func printStatus(c *factory.Factory, st standing.Standing) {
	s := c.Style()
	var rows [][]string
	row := func(name, format string, args ...any) {
		rows = append(rows, []string{s.Dim(name), fmt.Sprintf(format, args...)})
	}
	row("run", "%s", s.Bold(st.Facts.Name.Shown(st.RunID)))
	if st.Facts.Name != "" {
		row("id", "%s", s.Dim(string(st.RunID)))
	}
	row("status", "%s", runrows.StatusText(s, st.Status, ""))
	if st.CurrentPhase != nil {
		row("phase", "%s, iteration %d, at most %s", *st.CurrentPhase, st.Iteration, display.Count(st.MaxFixIterations, "automatic fix", "automatic fixes"))
	}
	for i, line := range story.Lines(st.Facts.Goal, 4) {
		row([]string{"goal", ""}[min(i, 1)], "%s", line)
	}
	row("repository", "%s %s", story.OneLine(st.Facts.Repository.Shown(), 120), s.Dim(fmt.Sprintf("at %.10s", st.Facts.Repository.Base)))
	if st.Host != "" {
		row("host", "%s", story.OneLine(st.Host, 63))
	}
	if st.Facts.Commits > 0 {
		row("head", "%s", st.Facts.Head)
	}
	row("branch", "%s, %s, %s", st.Facts.Branch, display.Count(st.Facts.Commits, "commit", "commits"), st.Facts.Stat)
	if st.Facts.Moved != "" {
		row("branch moved", "%s", s.Wait(story.OneLine(st.Facts.Moved, 400)))
	}
	if id := st.Facts.Session; id != "" {
		row("started by", "the agent of session %s", id)
	}
	for _, line := range story.Providers(st.Facts.Providers) {
		row(line[0], "%s", line[1])
	}
	if from := newrun.SettingsFrom(st.Facts.Origins); from != "" {
		row("settings", "%s", from)
	}
	if st.Facts.Sandbox.Off() {
		row("sandbox", "%s, %s", s.Wait("off"), run.Unboxed)
	}
	if b := st.Facts.Baseline; b != nil {
		row("baseline", "%s", story.OneLine(b.Summary(), 300))
	}
	if list := st.Facts.CheckNetwork; len(list) > 0 {
		row("network", "of the checks: %s", story.OneLine(strings.Join(list, ", "), 200))
	}
	if st.Facts.Network != "" {
		row("reached", "%s", story.OneLine(st.Facts.Network, 300))
	}
	if n := st.Facts.Usage.TotalTokens; n > 0 {
		row("tokens", "%d", n)
	}
	if n := st.Facts.Usage.Cost; n > 0 {
		row("cost", "%v", n)
	}
	row("began", "%s ago, last event %s ago", c.Ago(st.CreatedAt), c.Ago(st.UpdatedAt))
	if e := st.LastError; e != nil {
		row("last error", "%s %s", story.Message(e.Message, 300), s.Dim("("+story.OneLine(e.Code, 40)+")"))
	}
	for _, line := range st.Record.Lines() {
		row("record", "%s", s.Wait(story.OneLine(line, 400)))
	}
	c.Printf("%s", terminal.TableWithin(rows, c.Columns()))
	printActivities(c, st.Activities)
	if st.Pending != nil {
		printPending(c, *st.Pending)
	}
}

func printActivities(c *factory.Factory, list []runs.Activity) {
	s := c.Style()
	for _, a := range list {
		c.PrintWrapped("\n%s", follow.ActivityText(runs.Execution{Activities: []runs.Activity{a}}, c.Now()))
		if a.Failure != "" {
			c.PrintWrapped("  %s %s", s.Bad("last attempt failed:"), story.Message(a.Failure, 300))
		}
		if !a.Next.IsZero() {
			c.Printf("  next attempt in %s\n", terminal.Duration(a.Next.Sub(c.Now())))
		}
	}
}

func printPending(c *factory.Factory, p run.Pending) {
	waits.PrintRefused(c, p.RefusedSignals)
	if p.Approval == nil && p.Question == nil && p.Limited == nil {
		return
	}
	if a := p.Approval; a != nil {
		about := story.OneLine(a.Summary, 200)
		if a.Permission == nil {
			about += ", " + a.Stat.String()
		} else if a.Excerpt != "" {
			about += "\n" + strings.Join(story.Lines(a.Excerpt, 20), "\n")
			if strings.HasSuffix(a.Excerpt, "…") {
				about += "\n" + c.Style().Dim("this is its head, all of it: "+c.Hint("diff %s", p.Name.Shown(p.RunID)))
			}
		}
		c.PrintWrapped("\n%s  %s", c.Style().Wait(a.ApprovalID), about)
		for _, f := range a.Files {
			c.PrintWrapped("  %s", story.OneLine(f, 160))
		}
		for _, o := range a.Choices {
			c.PrintWrapped("  or %s, attempt %d by %s: %s, %s", c.Style().Wait(o.ApprovalID), o.Candidate, story.OneLine(o.Provider, 60), story.OneLine(o.Summary, 160), o.Stat)
			for _, r := range o.Risks {
				c.PrintWrapped("    %s %s", c.Style().Wait("risk:"), story.OneLine(r, 300))
			}
		}
		for _, r := range a.Reasons {
			c.PrintWrapped("  %s %s", c.Style().Wait("risk:"), story.OneLine(r, 300))
		}
		for _, line := range waits.Baseline(*a) {
			c.PrintWrapped("  %s", line)
		}
	}
	if q := p.Question; q != nil {
		c.PrintWrapped("\n%s  %s", c.Style().Wait(q.QuestionID), story.OneLine(q.Question.Question, 600))
		for _, n := range q.NeededInput {
			c.PrintWrapped("  needed: %s", story.OneLine(n, 300))
		}
	}
	waits.Print(c, p)
}
