package story

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// markLine returns a line with a sign before it.
func (t *Formatter) markLine(sign, format string, args ...any) string {
	return "  " + sign + " " + fmt.Sprintf(format, args...)
}

// indentLine returns a line below a marked line.
func (t *Formatter) indentLine(format string, args ...any) string {
	return "    " + fmt.Sprintf(format, args...)
}

// listItems returns a line for each item.
func (t *Formatter) listItems(name string, items []string) []string {
	var lines []string
	for _, item := range items {
		lines = append(lines, t.indentLine("%s", t.Style.Wait(name+": ")+OneLine(item, 300)))
	}
	return lines
}

func sessionSuffix(holds bool) string {
	if holds {
		return " for the agent's session"
	}
	return ""
}

func bySuffix(name string) string {
	if name == "" {
		return ""
	}
	return " by " + OneLine(name, 60)
}

func summarySuffix(text string) string {
	if text = OneLine(text, 200); text == "" {
		return ""
	}
	return ": " + text
}

// OneLine returns text on one line, safe for a terminal, and at most width wide.
func OneLine(text string, width int) string {
	return terminal.Clip(display.Line(strings.Join(strings.Fields(text), " ")), width)
}

// Message returns the lines of an error's message on one line, as OneLine does, with a sign between them.
func Message(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch before := b.String(); {
		case line == "":
			continue
		case before == "":
		case strings.ContainsAny(before[len(before)-1:], ":;,."):
			b.WriteString(" ")
		default:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return OneLine(b.String(), width)
}

// Lines returns the first n lines of text, made safe, and marks a cut.
func Lines(text string, n int) []string {
	lines := strings.Split(display.Text([]byte(strings.TrimSpace(text))), "\n")
	if len(lines) > n {
		return append(lines[:n:n], "…")
	}
	return lines
}
