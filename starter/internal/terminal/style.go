// Package terminal draws the output of the starter: colours, diffs, tables, and one transient line that
// moves while a person waits. Its input must have been made safe already; it adds the only control bytes
// there are.
package terminal

import "strings"

// Style colours text. The zero Style leaves text unchanged.
type Style struct{ on bool }

// Colors returns the style with colours on or off.
func Colors(on bool) Style { return Style{on} }

func (s Style) colorText(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold is for the subject of a line.
func (s Style) Bold(text string) string { return s.colorText("1", text) }

// Dim is for text that may be skipped.
func (s Style) Dim(text string) string { return s.colorText("2", text) }

// Good is for a success.
func (s Style) Good(text string) string { return s.colorText("32", text) }

// Bad is for a failure.
func (s Style) Bad(text string) string { return s.colorText("31", text) }

// Inserted and Deleted are for the words in which a line differs from the one that it replaces.
func (s Style) Inserted(text string) string { return s.colorText("1;4;32", text) }
func (s Style) Deleted(text string) string  { return s.colorText("1;4;31", text) }

// Wait is for a task of a person.
func (s Style) Wait(text string) string { return s.colorText("33", text) }

// Accent is for names that structure the output: phases, ids to copy.
func (s Style) Accent(text string) string { return s.colorText("36", text) }

// Keyword is for the words of a programming language.
func (s Style) Keyword(text string) string { return s.colorText("35", text) }

// Diff colours a unified diff line by line.
func (s Style) Diff(text string) string {
	if !s.on {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		b.WriteString(s.diffLine(body))
		b.WriteString(line[len(body):])
	}
	return b.String()
}

// diffHeaders begin the lines between the files of a diff. A removed line that
// looks like one is coloured as one, which is harmless.
var diffHeaders = []string{"diff --git ", "--- ", "+++ ", "new file ", "deleted file ", "old mode ", "new mode ", "rename ", "copy ", "similarity "}

func (s Style) diffLine(line string) string {
	for _, h := range diffHeaders {
		if strings.HasPrefix(line, h) {
			return s.Bold(line)
		}
	}
	switch {
	case strings.HasPrefix(line, "index "):
		return s.Dim(line)
	case strings.HasPrefix(line, "@@"):
		return s.Accent(line)
	case strings.HasPrefix(line, "+"):
		return s.Good(line)
	case strings.HasPrefix(line, "-"):
		return s.Bad(line)
	}
	return line
}
