package patch

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/patch/place"
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// explainMiss returns the refusal of a hunk that has no place. It shows the lines of the file that the
// author of the next diff needs.
func explainMiss(s *step, f *place.File, hunks []place.Hunk, m *place.Miss) *Refusal {
	r := &Refusal{Path: s.old, Hunk: m.Hunk + 1}
	switch m.Reason {
	case place.Several:
		r.Kind = Ambiguous
		for _, at := range m.Places {
			r.Candidates = append(r.Candidates, at+1)
		}
		r.Message = fmt.Sprintf("it fits in several places, at lines %s; show more context lines or the right line number", listNumbers(r.Candidates))
		if len(r.Candidates) < 2 {
			r.Message = "its place is uncertain; show more context lines, and correct the numbers in its header"
		}
	case place.Unanchored:
		r.Kind = Ambiguous
		r.Message = "it adds lines but shows no line of the file, so its place is unknown; show the lines before and after"
	case place.Already:
		r.Kind = AlreadyApplied
		r.Message = "the file already contains its result"
	case place.Exhausted:
		r.Kind = TooBig
		r.Message = "the file repeats itself too much to find the place; show more context lines"
	case place.DeletedDiffers, place.NotFound:
		if areNumbered(hunks[m.Hunk].Readings[0].Lines) {
			r.Kind, r.Message = ContextNotFound, "its lines begin with line numbers, as in a file viewer: leave the numbers out"
			return r
		}
		if m.Reason == place.NotFound {
			r.Kind = ContextNotFound
			r.Message = "no place in the file matches it\n" + showDifference(f, m)
			return r
		}
		r.Kind = DeletedLineDiffers
		r.Message = "a line that it deletes is different in the file\n" + showDifference(f, m)
	}
	return r
}

// numberForm matches a line as file viewers show it: a number that is set right in six columns, and a tab; or a number
// and an arrow or a bar.
var numberForm = regexp.MustCompile(`^(?: {5}\d| {4}\d{2}| {3}\d{3}| {2}\d{4}| \d{5}|\d{6})\t|^ *\d+(?:→| ?[|│](?: |$))`)

// areNumbered reports whether two lines or more begin with line numbers, and no line without one holds text.
func areNumbered(lines []udiff.Line) bool {
	n := 0
	for _, l := range lines {
		if numberForm.Match(l.Text) {
			n++
		} else if len(bytes.TrimSpace(l.Text)) > 0 {
			return false
		}
	}
	return n > 1
}

// listNumbers returns numbers separated by commas.
func listNumbers(numbers []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}

// showDifference returns the first line that differs, and the lines of the file around it.
func showDifference(f *place.File, m *place.Miss) string {
	switch {
	case m.Want == nil:
		return "its distinctive lines are not in the file; look at the file again"
	case m.Want.NoEOL && m.At < len(f.Lines)-1:
		return fmt.Sprintf("the diff says that this is the last line, but line %d of the file is not:\n%s", m.At+1, showAround(f, m.At))
	}
	return fmt.Sprintf("the first line that differs, at line %d of the file, is in the diff:\n  %s\nthe file has:\n%s", m.At+1, clipLine(quoteLine(*m.Want)), showAround(f, m.At))
}

// showAround returns the line at index at and three lines on either side, with their numbers.
func showAround(f *place.File, at int) string {
	var b strings.Builder
	for i := max(0, at-3); i < min(len(f.Lines), at+4); i++ {
		mark := " "
		if i == at {
			mark = ">"
		}
		fmt.Fprintf(&b, "%s %4d  %s\n", mark, i+1, clipLine(string(bytes.TrimRight(f.Lines[i], "\r"))))
	}
	if at >= len(f.Lines) {
		fmt.Fprintf(&b, "> the file ends at line %d\n", len(f.Lines))
	}
	return b.String()
}

// showWanted returns the line of the diff at index at.
func showWanted(lines []udiff.Line, at int) string {
	if at >= len(lines) {
		return "the diff ends before this line"
	}
	return "the diff has:\n  " + clipLine(quoteLine(lines[at]))
}

// clipLine bounds a line in a message.
func clipLine(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf(" ... (%d bytes)", len(s))
}
