package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/report"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// atScreen returns a command at a screen of that width, and its output. Zero columns are a pipe.
func atScreen(columns int, env ...string) (*factory.Factory, *bytes.Buffer) {
	var out bytes.Buffer
	return newFactory(console.Console{Out: &out, Err: &out, Environ: append(env, "TERM=xterm"), Now: time.Now, Screen: columns > 0, Width: func() int { return columns }}), &out
}

// No line of a report is left to the terminal to wrap, however long the names are.
func TestAReportFitsTheScreen(t *testing.T) {
	figures := report.Figures{Runs: 14, Done: 11, Failed: 1, FirstTry: 9, SentBack: 5, Fixes: 9, Merged: 11, Usage: run.Usage{TotalTokens: 3_100_000, Cost: 6_200_000}, MicrosPerMerged: 560_000}
	r := report.Report{
		Repositories: []report.Row{{Name: "/home/kim/src/a/very/long/way/to/the/repository/slug", Figures: figures}, {Name: "/日本語/日本語/日本語/日本語/日本語/日本語/日本語", Figures: figures}},
		Providers:    []report.Row{{Name: "command:/opt/agents/a-wrapper-with-a-long-name.py --model some-vendor/some-model-2026-11-01", Figures: figures}},
		Total:        figures,
	}
	for _, columns := range []int{0, 40, 58, 80, 110, 200} {
		c, out := atScreen(columns, "NO_COLOR=1")
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

func TestTheUsersFileSilencesTheBell(t *testing.T) {
	dir := t.TempDir()
	clitest.Must(t, os.MkdirAll(filepath.Join(dir, "ratchet"), 0o700))
	call := func() string {
		c, out := atScreen(80, "XDG_CONFIG_HOME="+dir, "HOME="+dir)
		c.ScreenOn(c.Out).Call("it waits")
		return out.String()
	}
	if got := call(); !strings.HasPrefix(got, "\a\x1b]9;") {
		t.Errorf("without a file the terminal gets %q", got)
	}
	clitest.Must(t, os.WriteFile(filepath.Join(dir, "ratchet", "config.toml"), []byte("[notify]\nbell = false\n"), 0o600))
	if got := call(); got != "" {
		t.Errorf("the terminal gets %q", got)
	}
	c, out := atScreen(0)
	c.ScreenOn(c.Out).Call("it waits")
	if out.Len() > 0 {
		t.Errorf("a pipe gets %q", out.String())
	}
}
