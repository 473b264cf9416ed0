// Package patchview draws a patch for a terminal: by file, with the numbers of its lines and the colours of
// its language. It makes every text of the patch safe and wraps it, so that no part of a line is hidden.
package patchview

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/syntax"
	"github.com/ratchet-dev/ratchet/internal/udiff"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// View is how patches are drawn.
type View struct {
	Style   terminal.Style
	Columns int // of the terminal; zero: lines are wrapped at wrapAt
	Indent  string
}

const (
	wrapAt   = 400 // columns of a line that no terminal bounds
	minText  = 12  // columns of a line's text, however narrow the terminal is
	tabWidth = 4
)

// Lines draws the files.
func (v View) Lines(files []hunks.File) []string {
	var lines []string
	for i, f := range files {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, v.File(f)...)
	}
	return lines
}

// File draws one file: its header and its lines.
func (v View) File(f hunks.File) []string {
	lines := []string{v.Header(f)}
	if v.Columns > 0 {
		lines = terminal.Wrap(lines[0], v.Columns-1)
	}
	digits := len(fmt.Sprint(lastNumber(f)))
	for i, h := range f.Hunks {
		if i > 0 {
			lines = append(lines, v.Indent+v.Style.Dim(strings.Repeat(" ", digits)+" ⋮"))
		}
		colours := colourHunk(f.Name, h)
		for j, part := range hunks.ChangedWords(h.Lines) {
			colours[j] = syntax.Mark(colours[j], part[0], part[1])
		}
		for j, l := range h.Lines {
			lines = append(lines, v.drawLine(l, digits, colours[j])...)
		}
	}
	return lines
}

// Header draws the line above a file: its name, the change as a whole, and the size.
func (v View) Header(f hunks.File) string {
	text := v.Indent + v.Style.Bold(display.Line(f.Name))
	switch {
	case f.From != "":
		text += " " + v.Style.Wait(string(f.Change)+" from "+display.Line(f.From))
	case f.Change != hunks.Modified:
		text += " " + v.Style.Wait(string(f.Change))
	}
	if f.Mode != "" {
		text += " " + v.Style.Wait("mode "+display.Line(f.Mode))
	}
	if f.Binary {
		return text + " " + v.Style.Wait("binary file, not shown")
	}
	return text + "  " + v.Style.Good(fmt.Sprintf("+%d", f.Added)) + " " + v.Style.Bad(fmt.Sprintf("-%d", f.Deleted))
}

func lastNumber(f hunks.File) (last int) {
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			last = max(last, l.Old, l.New)
		}
	}
	return last
}

// colourHunk returns the spans of each line. The lines before the patch and after it are two texts.
func colourHunk(name string, h hunks.Hunk) [][]syntax.Span {
	out := make([][]syntax.Span, len(h.Lines))
	for _, skipped := range []udiff.Op{udiff.Insert, udiff.Delete} {
		var text []string
		var at []int
		for i, l := range h.Lines {
			if l.Op != skipped {
				text, at = append(text, l.Text), append(at, i)
			}
		}
		for i, spans := range syntax.Lines(name, text) {
			out[at[i]] = spans
		}
	}
	return out
}

// drawLine draws one line of a file, on several rows if it is long.
func (v View) drawLine(l hunks.Line, digits int, spans []syntax.Span) []string {
	number := cmp.Or(l.New, l.Old)
	sign, colour, strong := " ", func(text string) string { return text }, v.Style.Bold
	switch l.Op {
	case udiff.Insert:
		sign, colour, strong = "+", v.Style.Good, v.Style.Inserted
	case udiff.Delete:
		sign, colour, strong = "-", v.Style.Bad, v.Style.Deleted
	}
	room := wrapAt
	if v.Columns > 0 {
		room = max(v.Columns-terminal.Width(v.Indent)-digits-4, minText)
	}
	var rows []string
	for i, row := range wrapSpans(spans, room) {
		gutter := fmt.Sprintf("%*d ", digits, number)
		if i > 0 {
			gutter = strings.Repeat(" ", digits) + "⋯"
		}
		text := v.Indent + v.Style.Dim(gutter) + colour(sign) + " "
		for _, s := range row {
			if s.Class == syntax.Changed {
				text += strong(s.Text)
				continue
			}
			text += v.drawSpan(s, colour)
		}
		rows = append(rows, strings.TrimRight(text, " "))
	}
	if l.NoEOL {
		rows = append(rows, v.Indent+strings.Repeat(" ", digits+3)+v.Style.Dim("(no line feed at the end of the file)"))
	}
	return rows
}

// drawSpan draws a part of a line. Text that has no class has the colour of its line.
func (v View) drawSpan(s syntax.Span, plain func(string) string) string {
	switch s.Class {
	case syntax.Keyword:
		return v.Style.Keyword(s.Text)
	case syntax.String:
		return v.Style.Wait(s.Text)
	case syntax.Number:
		return v.Style.Accent(s.Text)
	case syntax.Comment:
		return v.Style.Dim(s.Text)
	}
	return plain(s.Text)
}

// wrapSpans makes the spans safe and breaks them into rows of at most so many columns.
func wrapSpans(spans []syntax.Span, columns int) [][]syntax.Span {
	rows := [][]syntax.Span{nil}
	used := 0
	for _, s := range safeSpans(spans) {
		for s.Text != "" {
			part := terminal.Cut(s.Text, columns-used)
			if part != "" {
				last := len(rows) - 1
				rows[last] = append(rows[last], syntax.Span{Text: part, Class: s.Class})
				used += terminal.Width(part)
				s.Text = s.Text[len(part):]
			}
			if s.Text != "" {
				rows, used = append(rows, nil), 0
			}
		}
	}
	return rows
}

// safeSpans makes the texts of spans safe. A word is judged as a whole, wherever its spans end: the safe
// text is the safe text of the line, and each span has its share of it.
func safeSpans(spans []syntax.Span) []syntax.Span {
	whole := ""
	for _, s := range spans {
		whole += s.Text
	}
	safe := display.Code(whole)
	if safe != whole {
		return []syntax.Span{{Text: expandTabs(safe, 0)}}
	}
	out := make([]syntax.Span, 0, len(spans))
	column := 0
	for _, s := range spans {
		text := expandTabs(s.Text, column)
		column += terminal.Width(text)
		out = append(out, syntax.Span{Text: text, Class: s.Class})
	}
	return out
}

// expandTabs replaces tabs by the blanks up to the next stop.
func expandTabs(text string, column int) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if r == '\t' {
			n := tabWidth - column%tabWidth
			b.WriteString(strings.Repeat(" ", n))
			column += n
			continue
		}
		b.WriteRune(r)
		column += terminal.Width(string(r))
	}
	return b.String()
}
