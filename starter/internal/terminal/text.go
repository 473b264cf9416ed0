package terminal

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Width returns the number of columns that text takes, colours not counted.
func Width(text string) int {
	n := 0
	for text != "" {
		if skip := escapeLength(text); skip > 0 {
			text = text[skip:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text, n = text[size:], n+runeWidth(r)
	}
	return n
}

// runeWidth returns the columns of a character: two for the wide ones of East Asia and for pictures, none
// for marks that stand above the character before.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// escapeLength returns the length of the colour sequence at the beginning of text.
func escapeLength(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	return strings.IndexByte(text, 'm') + 1
}

// Clip cuts text to a width. It must hold no colours.
func Clip(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	if columns < 1 {
		return ""
	}
	return Cut(text, columns-1) + "…"
}

// Cut returns the beginning of text that fits into a width. It must hold no
// colours.
func Cut(text string, columns int) string {
	n := 0
	for i, r := range text {
		if n += runeWidth(r); n > columns {
			return text[:i]
		}
	}
	return text
}

// Fold breaks text between words into lines of at most width columns. A longer word has a line of its own.
// Text must hold no colours.
func Fold(text string, width int) []string {
	lines := []string{}
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last < 0 || Width(lines[last])+1+Width(word) > width {
			lines = append(lines, word)
			continue
		}
		lines[last] += " " + word
	}
	return lines
}

// hang is the indent of a wrapped line's other rows, beyond the indent of the line.
const hang = "    "

// Wrap breaks a line into rows of at most so many columns, between words where it can. Colours continue in
// the next row. The rows after the first are indented below it.
func Wrap(line string, columns int) []string {
	if Width(line) <= columns {
		return []string{line}
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))] + hang
	if columns < Width(indent)+20 {
		indent = ""
	}
	w := wrapper{columns: columns, indent: indent}
	for rest := line; rest != ""; {
		n := escapeLength(rest)
		if n == 0 {
			_, n = utf8.DecodeRuneInString(rest)
		}
		w.add(rest[:n], rest[n:])
		rest = rest[n:]
	}
	return append(w.rows, w.row)
}

// wrapper breaks one line.
type wrapper struct {
	columns     int
	indent      string
	rows        []string
	row         string
	colour      string // in effect at the end of row; empty: none
	blank       int    // length of row up to its last blank; zero: it has none to break at
	blankColour string // in effect there
}

// add adds a character or a colour. Rest is the text behind it.
func (w *wrapper) add(part, rest string) {
	if part[0] == 0x1b {
		w.row += part
		w.colour = part
		if part == "\x1b[0m" {
			w.colour = ""
		}
		return
	}
	if Width(w.row)+Width(part) > w.columns {
		word, _, _ := strings.Cut(part+rest, " ")
		w.breakRow(part == " ", Width(word))
		if part == " " {
			return
		}
	}
	w.row += part
	if part == " " && strings.TrimSpace(w.row) != "" {
		w.blank, w.blankColour = len(w.row), w.colour
	}
}

// breakRow ends the row at its last blank. It ends where it is full if there is none, or if the word that the row ends
// in, of which so many columns are left, is longer than a whole row.
func (w *wrapper) breakRow(atBlank bool, left int) {
	at, colour := w.blank, w.blankColour
	if at == 0 || atBlank || Width(w.row[at:])+left > w.columns-Width(w.indent) {
		at, colour = len(w.row), w.colour
	}
	head, tail := strings.TrimRight(w.row[:at], " "), w.row[at:]
	if colour != "" {
		head += "\x1b[0m"
	}
	w.rows = append(w.rows, head)
	w.row, w.blank = w.indent+colour+tail, 0
}

// Table aligns rows in columns; the last one is not padded.
func Table(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-Width(cell)+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// TableWithin is Table for rows of a name and a text. On a screen of that many columns the texts are broken between
// words, below themselves; zero columns bound nothing.
func TableWithin(rows [][]string, columns int) string {
	names := 0
	for _, row := range rows {
		names = max(names, Width(row[0]))
	}
	room := columns - names - 3
	if columns == 0 || room < 20 {
		return Table(rows)
	}
	var out [][]string
	for _, row := range rows {
		lines := Wrap(row[1], room)
		out = append(out, []string{row[0], lines[0]})
		for _, line := range lines[1:] {
			out = append(out, []string{"", strings.TrimPrefix(line, hang)})
		}
	}
	return Table(out)
}

// Duration formats a duration for a person: 0.3s, 12.4s, 3m05s, 2h10m.
func Duration(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

// Bytes formats a size for a person: 812 B, 4.2 KB, 1.3 MB, 7.9 GB.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f KB", float64(n)/1000)
	}
	if n < 1000*1000*1000 {
		return fmt.Sprintf("%.1f MB", float64(n)/(1000*1000))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1000*1000*1000))
}
