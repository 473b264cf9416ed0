// Package report is the command `starter report`, which sums up runs by their events: how many, how they ended, what they
// cost, for each repository and for each provider.
package report

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runrecords"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

func New(c *factory.Factory) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Sum up the runs: how they ended, what they cost",
		Long: `Sums up the runs of this host by their records, for each repository and each
provider. A run counts from its start. first try is the share of the runs that
completed or failed which took one patch, without a fix or a rejection; sent back
are patches that a person refused. A run is merged when a branch of yours has its
commits, whoever has merged them. The row of a provider has the runs whose
developer it was, and what it used in any phase.`,
		Example: "  starter report\n  starter report --since 30d --json | jq .total",
		Args:    usage.Args(0, "no arguments"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error {
			span, err := usage.Span(since)
			if err != nil {
				return usage.Errorf("--since: %w", err)
			}
			return reportRuns(ctx, c, c.Now().Add(-span))
		}),
	}
	cmd.Flags().StringVar(&since, "since", "7d", "`span` of time, such as 36h, 7d or 4w")
	return cmd
}

func reportRuns(ctx context.Context, c *factory.Factory, since time.Time) error {
	records, err := runrecords.Read(c)
	if err != nil {
		return err
	}
	landed := runrecords.FindLanded(ctx, c, records)
	var stories []Story
	for _, r := range records {
		stories = append(stories, Story{Events: r.Events, Merged: landed[r.Input.Repository.Path].Runs[r.Input.RunID]})
	}
	out, err := Of(stories, since)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(out)
	}
	printReport(c, out)
	return nil
}

func printReport(c *factory.Factory, r Report) {
	if r.Total.Runs == 0 {
		c.Printf("No run since %s.\n", r.Since.Local().Format(time.DateTime))
		return
	}
	rows := shortNames(r.Repositories)
	if len(rows) > 1 {
		rows = append(rows, Row{Name: "all", Figures: r.Total})
	}
	c.Printf("%s\n%s", drawFigures(c, "repository", rows), drawFigures(c, "provider", r.Providers))
}

// shortNames names repositories by the last parts of their paths, as the names of runs do, unless two have the same.
func shortNames(rows []Row) []Row {
	count := map[string]int{}
	for _, row := range rows {
		count[filepath.Base(row.Name)]++
	}
	rows = slices.Clone(rows)
	for i, row := range rows {
		if base := filepath.Base(row.Name); count[base] == 1 {
			rows[i].Name = base
		}
	}
	return rows
}

// leastName is the least width of a name in a table of figures. On a screen that has no room for it the figures stand
// below the name, as sentences.
const leastName = 12

// drawFigures draws the figures of repositories or providers.
func drawFigures(c *factory.Factory, first string, rows []Row) string {
	s := c.Style()
	table := [][]string{{first, "runs", "done", "sent back", "fixes", "first try", "merged", "tokens", "cost", "cost/merged"}}
	for _, row := range rows {
		table = append(table, figuresRow(story.OneLine(row.Name, 200), row.Figures))
	}
	room := mostName
	if columns := c.Columns(); columns > 0 {
		figures := 0
		for line := range strings.Lines(terminal.Table(withoutName(table))) {
			figures = max(figures, terminal.Width(strings.TrimRight(line, "\n")))
		}
		room = min(room, columns-1-2-figures)
	}
	if room < leastName {
		return figuresText(c, rows)
	}
	for i := range table {
		table[i][0] = endOf(table[i][0], room)
	}
	for i := range table[0] {
		table[0][i] = s.Dim(table[0][i])
	}
	return terminal.Table(table)
}

func withoutName(table [][]string) (figures [][]string) {
	for _, row := range table {
		figures = append(figures, row[1:])
	}
	return figures
}

// figuresText gives the figures of each row as a sentence below its name.
func figuresText(c *factory.Factory, rows []Row) string {
	var b strings.Builder
	for _, row := range rows {
		cells := figuresRow("", row.Figures)
		facts := []string{display.Count(row.Runs, "run", "runs"), cells[2] + " done", cells[3] + " sent back", display.Count(row.Fixes, "fix", "fixes"), cells[6] + " merged", cells[7] + " tokens"}
		if row.FirstTryShare() >= 0 {
			facts = append(facts, "first try "+cells[5])
		}
		if row.Cost > 0 {
			facts = append(facts, cells[8])
		}
		if row.MicrosPerMerged > 0 {
			facts = append(facts, cells[9]+" for each merged")
		}
		b.WriteString(endOf(story.OneLine(row.Name, 200), c.Columns()-1) + "\n")
		for _, line := range foldList(facts, c.Columns()-3) {
			b.WriteString("  " + c.Style().Dim(line) + "\n")
		}
	}
	return b.String()
}

// foldList joins the items of a list, and breaks it between them into lines of at most so many columns.
func foldList(items []string, columns int) (lines []string) {
	line := ""
	for i, item := range items {
		if i < len(items)-1 {
			item += ","
		}
		if line != "" && terminal.Width(line)+1+terminal.Width(item) > columns {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + item)
	}
	return append(lines, line)
}

// mostName is the most columns of a name in a table of figures.
const mostName = 48

// endOf returns the end of a long name, which distinguishes paths better than the beginning.
func endOf(name string, columns int) string {
	if terminal.Width(name) <= columns {
		return name
	}
	r := []rune(name)
	for len(r) > 0 && terminal.Width(string(r)) >= columns {
		r = r[1:]
	}
	return "…" + string(r)
}

func figuresRow(name string, f Figures) []string {
	share, perMerged := "-", "-"
	if n := f.FirstTryShare(); n >= 0 {
		share = fmt.Sprintf("%d %%", n)
	}
	if f.Merged > 0 && f.Cost > 0 {
		perMerged = fmt.Sprint(f.MicrosPerMerged)
	}
	cost := "-"
	if f.Cost > 0 {
		cost = fmt.Sprint(f.Cost)
	}
	return []string{name, strconv.Itoa(f.Runs), strconv.Itoa(f.Done), strconv.Itoa(f.SentBack), strconv.Itoa(f.Fixes), share, strconv.Itoa(f.Merged), strconv.FormatInt(f.TotalTokens, 10), cost, perMerged}
}
