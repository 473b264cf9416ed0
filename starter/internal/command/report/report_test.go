package report

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// No line of a report is left to the terminal to wrap, however long the names are.
func TestAReportFitsTheScreen(t *testing.T) {
	figures := Figures{Runs: 14, Done: 11, Failed: 1, FirstTry: 9, SentBack: 5, Fixes: 9, Merged: 11, Usage: run.Usage{TotalTokens: 3_100_000, Cost: 6_200_000}, MicrosPerMerged: 560_000}
	r := Report{
		Repositories: []Row{{Name: "/home/kim/src/a/very/long/way/to/the/repository/slug", Figures: figures}, {Name: "/日本語/日本語/日本語/日本語/日本語/日本語/日本語", Figures: figures}},
		Providers:    []Row{{Name: "command:/opt/agents/a-wrapper-with-a-long-name.py --model some-vendor/some-model-2026-11-01", Figures: figures}},
		Total:        figures,
	}
	for _, columns := range []int{0, 40, 58, 80, 110, 200} {
		c, out := clitest.AtScreen(columns, "NO_COLOR=1")
		printReport(c, r)
		for line := range strings.Lines(out.String()) {
			if columns > 0 && terminal.Width(strings.TrimRight(line, "\n")) >= columns {
				t.Errorf("%d columns: %q", columns, line)
			}
		}
		for _, want := range []string{"slug", "3100000", "$6.20", "11"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%d columns: no %q in\n%s", columns, want, out.String())
			}
		}
		if table := strings.Contains(out.String(), "cost/merged"); table != (columns == 0 || columns > 100) {
			t.Errorf("%d columns: a table is %v:\n%s", columns, table, out.String())
		}
	}
}
