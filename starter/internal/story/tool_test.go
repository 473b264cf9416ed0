package story_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

func TestAToolCallIsALine(t *testing.T) {
	read := rundir.ToolCall{Tool: "Read", Target: "slug.go", Took: 100 * time.Millisecond}
	bash := rundir.ToolCall{Tool: "Bash", Target: "go vet ./...", Took: 800 * time.Millisecond, Let: rundir.LetOnce, Output: "ok\n\nfine\n"}
	edit := rundir.ToolCall{Tool: "Edit", Target: "slug.go", Change: "+1 -1", Took: time.Second, Let: rundir.LetByRun}
	failed := rundir.ToolCall{Tool: "Bash", Target: "go test", Took: 2 * time.Second, Failed: true, Output: "FAIL\nexit status 1\nmore"}
	long := rundir.ToolCall{Tool: "Bash", Target: "go test -run 'TestOne|TestTwo|TestThree' ./internal/one ./internal/two", Took: time.Second, Candidate: 2}
	hostile := rundir.ToolCall{Tool: "Ba\x1b]0;x\x07sh", Target: "a\r\x1b[2K  ✓ approved by ada", Let: "you \x1b[8m", Output: "\x1b[2J"}
	for _, tt := range []struct {
		name    string
		call    rundir.ToolCall
		columns int
		output  bool
		want    string
	}{
		{"at a terminal", read, 40, false, "  · Read  slug.go                  0.1s"},
		{"in a pipe", read, 0, false, "  · Read  slug.go  0.1s"},
		{"that a person let", bash, 60, false, "  · Bash  go vet ./...                 you allowed it  0.8s"},
		{"with its output", bash, 60, true, "  · Bash  go vet ./...                 you allowed it  0.8s\n    │ ok\n    │ fine"},
		{"an edit that the run's policy let", edit, 0, false, "  · Edit  slug.go  +1 -1  the run allows it  1.0s"},
		{"that failed", failed, 0, false, "  ✗ Bash  go test  2.0s\n    │ FAIL\n    │ exit status 1"},
		{"that is long", long, 40, false, "  · 2 Bash  go test -run\n      'TestOne|TestTwo|TestThree'\n      ./internal/one ./internal/two 1.0s"},
		{"what the agent says", rundir.ToolCall{Said: true, Target: "I read \x1b[2J the code.\nThen I test it."}, 22, true, "  I read <U+001B>[2J\n  the code.\n  Then I test it."},
		{"that is hostile", hostile, 0, true, "  · Ba<U+001B>]0;x<U+0007>sh  a <U+001B>[2K ✓ approved by ada  0.0s\n    │ <U+001B>[2J"},
	} {
		got := strings.Join(story.ToolLines(terminal.Style{}, tt.call, tt.columns, tt.output), "\n")
		if tt.name == "that is long" { // the words may be broken elsewhere, but never be too wide
			if strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(tt.want), "") {
				t.Errorf("%s:\n%s", tt.name, got)
			}
		} else if got != tt.want {
			t.Errorf("%s: got\n%q\nwant\n%q", tt.name, got, tt.want)
		}
		for line := range strings.Lines(got) {
			if tt.columns > 0 && terminal.Width(strings.TrimRight(line, "\n")) >= tt.columns {
				t.Errorf("%s: %q is %d columns wide", tt.name, line, terminal.Width(line))
			}
		}
	}
}
