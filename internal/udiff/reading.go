package udiff

import (
	"bytes"
	"slices"
)

// Reading is one way to understand the text of a hunk.
type Reading struct {
	Lines []Line
	Note  string // the assumption beyond the plain text; empty for the plain reading

	// Blanks are the indices of empty lines that are added ones, see MarkBlanks.
	// A hunk has many such readings, which share their lines.
	Blanks []int

	// Rival says that the text alone cannot choose between this reading and
	// the earlier ones: a hunk is ambiguous if two of its readings fit.
	Rival bool

	// Prose holds the lines taken for text after the hunk. The reading is
	// impossible if the file has one of them, except for added lines.
	Prose []Line
}

// Notes of readings.
const (
	NoteTail    = "text after the hunk ignored"
	NoteWrapped = "wrapped line joined"
	NoteBlank   = "added blank line had lost its +"
)

// Readings returns the possible readings of h, the likeliest first. A later one is for a hunk of which no
// earlier reading fits anywhere.
func (h *Hunk) Readings() []Reading {
	base := h.findEnds()
	plain := base[0].Lines
	if joined, ok := joinWrapped(plain); ok {
		base = append(base, Reading{Lines: joined, Note: NoteWrapped})
	}
	return append(base, h.readLostBlanks(h.Lines)...)
}

// findEnds finds where the hunk ends and other text begins. It believes counts that are fulfilled at the
// end, or at a line that separates; it does not believe others.
func (h *Hunk) findEnds() []Reading {
	if h.Fit > 0 && len(trimBlanks(h.Lines[h.Fit:])) == 0 {
		return []Reading{{Lines: h.Lines[:h.Fit]}}
	}
	full := trimBlanks(h.Lines)
	if h.Fit <= 0 || !isSeparator(h.Lines[h.Fit]) {
		return append([]Reading{{Lines: full}}, withoutProse(full)...)
	}
	cut := Reading{Lines: h.Lines[:h.Fit], Note: NoteTail, Prose: h.Lines[h.Fit:]}
	switch tail := h.Lines[h.Fit:]; {
	case !hasChanges(cut.Lines):
		return []Reading{{Lines: full}}
	case !hasChanges(tail):
		return []Reading{cut, {Lines: full}}
	case onlyAdds(tail):
		cut.Rival = true
	}
	return []Reading{{Lines: full}, cut}
}

// trimBlanks returns lines without the empty ones at the end.
func trimBlanks(lines []Line) []Line {
	for len(lines) > 0 && lines[len(lines)-1].isEmpty() {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// isEmpty reports whether l was an empty line of the text.
func (l Line) isEmpty() bool {
	return l.Bare && (len(l.Text) == 0 || string(l.Text) == "\r")
}

// isSeparator reports whether l can stand between a hunk and other text: an empty line, a line without an
// operation, the signature mark of a mail.
func isSeparator(l Line) bool {
	return l.Bare || l.Op == Delete && (string(l.Text) == "- " || string(l.Text) == "-")
}

// hasChanges reports whether a line is added or deleted, separators excepted.
func hasChanges(lines []Line) bool {
	return slices.ContainsFunc(lines, func(l Line) bool { return l.Op != Context && !isSeparator(l) })
}

// onlyAdds reports whether no line of lines can be checked against a file.
func onlyAdds(lines []Line) bool {
	return !slices.ContainsFunc(lines, func(l Line) bool { return l.Op != Insert && !l.isEmpty() })
}

// withoutProse returns the hunk without a paragraph at its end. The paragraph has to follow an empty line,
// and the hunk's own context must have kept its spaces; otherwise context would be dropped that the file
// has to confirm.
func withoutProse(lines []Line) []Reading {
	cut := len(lines)
	for i := len(lines) - 1; i > 0 && lines[i].Bare; i-- {
		if lines[i].isEmpty() && !lines[i+1].isEmpty() {
			cut = i
		}
	}
	if cut == len(lines) {
		return nil
	}
	for _, l := range lines[:cut] {
		if l.Bare && !l.isEmpty() {
			return nil
		}
	}
	return []Reading{{Lines: trimBlanks(lines[:cut]), Note: NoteTail, Prose: lines[cut:]}}
}

// joinWrapped joins lines without an operation to the line before. It cannot join to an added line,
// because no file would confirm the result.
func joinWrapped(lines []Line) ([]Line, bool) {
	rest := func(l Line) bool { return l.Bare && !l.isEmpty() }
	if !slices.ContainsFunc(lines, rest) || rest(lines[0]) {
		return nil, false
	}
	out := make([]Line, 0, len(lines))
	kept, copied := false, false // copied: the text of the last line of out is a copy
	for _, l := range lines {
		kept = kept || l.Op == Context && !l.Bare
		if !rest(l) {
			out, copied = append(out, l), false
			continue
		}
		last := &out[len(out)-1]
		if last.Op == Insert {
			return nil, false
		}
		if !copied {
			last.Text, copied = bytes.Clone(last.Text), true
		}
		last.Text = append(append(last.Text, ' '), l.Text...)
		last.NoEOL = last.NoEOL || l.NoEOL
	}
	return out, kept
}
