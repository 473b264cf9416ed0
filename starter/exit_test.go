package main

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// A command line that cannot be understood gets one line, which says what to write instead.
func TestWhatIsWrongWithACommandLine(t *testing.T) {
	for line, says := range map[string]string{
		"ls":                     "did you mean list? See `starter --help`",
		"stauts":                 "did you mean status? See `starter --help`",
		"xyzzy":                  `unknown command "xyzzy" for "starter": see`,
		"retry x --max-fix many": "want a whole number: see `starter retry --help`",
		"run x --timeout soon":   "want a time such as 90s, 10m or 2h: see `starter run --help`",
		"run x --max-cost lots":  "want a number: see `starter run --help`",
		"clean --older soon":     "want one such as 36h, 7d or 4w",
		"report --since -1d":     "want one such as 36h, 7d or 4w",
		"merge":                  "merge wants one RUN",
		"merge slug#1 slug#2":    "merge wants one RUN",
		"merge x --into":         "flag needs an argument: --into: see `starter merge --help`",
	} {
		got := starter(t.Context(), "", strings.Fields(line)...)
		if got.code != exit.Usage || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, says) || strings.Contains(got.err, "strconv") {
			t.Errorf("%s: code %d, %s%s", line, got.code, got.out, got.err)
		}
	}
	if got := starter(t.Context(), "", "run", "x", "--repo", "/nowhere"); got.code != exit.Failed || !strings.Contains(got.err, "/nowhere: no such file or directory: name another with --repo") {
		t.Errorf("a repository that is not there: %+v", got)
	}
}
