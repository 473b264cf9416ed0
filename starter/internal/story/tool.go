package story

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// outputLines is the number of lines shown of a tool's output.
const outputLines = 8

// lets says who let an agent make a call.
var lets = map[string]string{rundir.LetOnce: "you allowed it", rundir.LetSession: "allowed for the session", rundir.LetByRun: "the run allows it"}

// ToolLines returns the lines about a tool call that has ended: the tool, its target, who allowed it, and its
// duration; or a note that the agent has read. Lines are broken at the width of the screen; zero columns mean one
// line of any length. With output, the first lines of its output follow.
func ToolLines(s terminal.Style, c rundir.ToolCall, columns int, output bool) []string {
	if c.Note {
		return fitTool("  "+s.Accent("›")+" ", OneLine(c.Target, 600), "the agent has read it", s, columns)
	}
	if c.Said {
		return saidLines(s, c, columns)
	}
	mark, tool := s.Dim("·"), OneLine(c.Tool, 40)
	if c.Failed {
		mark = s.Bad("✗")
	}
	if c.Candidate > 0 {
		tool = fmt.Sprintf("%d %s", c.Candidate, tool)
	}
	facts := []string{}
	if let := lets[c.Let]; let != "" {
		facts = append(facts, let)
	}
	tail := strings.Join(append(facts, terminal.Duration(c.Took)), "  ")
	what := strings.TrimSpace(OneLine(c.Target, 600) + "  " + OneLine(c.Change, 20))
	lines := fitTool("  "+mark+" "+s.Bold(tool)+"  ", what, tail, s, columns)
	if output || c.Failed {
		shown := outputLines
		if !output {
			shown = 2
		}
		for _, line := range firstLines(c.Output, shown) {
			lines = append(lines, s.Dim("    │ "+terminal.Clip(line, max(columns, 160)-8)))
		}
	}
	return lines
}

// maxSaidLines bounds the lines of one piece of an agent's text, which has some thousand bytes at most.
const maxSaidLines = 200

// saidLines returns what an agent has said, whole, in its own lines.
func saidLines(s terminal.Style, c rundir.ToolCall, columns int) (lines []string) {
	head := "  "
	if c.Candidate > 0 {
		head += fmt.Sprintf("%d ", c.Candidate)
	}
	for _, line := range Lines(c.Target, maxSaidLines) {
		parts := []string{line}
		if columns > 0 {
			parts = terminal.Fold(line, max(columns-1-len(head), 20))
		}
		for _, part := range parts {
			lines = append(lines, strings.TrimRight(s.Dim(head+part), " "))
		}
	}
	return lines
}

// fitTool puts the tail of a tool's line at the right end of the screen, or where there is no room below
// the rest, which is broken between words.
func fitTool(head, what, tail string, s terminal.Style, columns int) []string {
	if columns == 0 {
		return []string{strings.TrimRight(head+what, " ") + "  " + s.Dim(tail)}
	}
	used := terminal.Width(head) + terminal.Width(what)
	if room := columns - 1 - used - terminal.Width(tail); room >= 2 {
		return []string{head + what + strings.Repeat(" ", room) + s.Dim(tail)}
	}
	const indent = "      "
	var lines []string
	for i, line := range terminal.Fold(what, max(columns-1-terminal.Width(head), 20)) {
		if i > 0 {
			head = indent
		}
		for line != "" { // a word may be longer than the screen
			part := terminal.Cut(line, max(columns-1-terminal.Width(head), 20))
			lines, line, head = append(lines, head+part), line[len(part):], indent
		}
	}
	if len(lines) == 0 {
		lines = []string{head}
	}
	last := len(lines) - 1
	if room := columns - 1 - terminal.Width(lines[last]) - terminal.Width(tail); room >= 2 {
		lines[last] += strings.Repeat(" ", room) + s.Dim(tail)
		return lines
	}
	return append(lines, strings.Repeat(" ", max(columns-1-terminal.Width(tail), 0))+s.Dim(tail))
}

// firstLines returns the first lines of an output that are not blank.
func firstLines(output string, n int) (lines []string) {
	for _, line := range Lines(output, 10_000) {
		if strings.TrimSpace(line) != "" && len(lines) < n {
			lines = append(lines, line)
		}
	}
	return lines
}
