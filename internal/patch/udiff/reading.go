package udiff

import "slices"

// Reading is one way to understand the text of a hunk.
type Reading struct {
	Lines []Line
	Note  string // what is assumed beyond the plain text; empty for the plain reading

	// Rival says that the text alone cannot choose between this reading and
	// those before it: a hunk that two of them fit is ambiguous.
	Rival bool

	// Prose are the lines taken for text after the hunk: the reading is out of
	// the question when the file has one of them, added lines apart.
	Prose []Line
}

// Notes of readings.
const (
	NoteTail    = "text after the hunk passed over"
	NoteWrapped = "wrapped line joined"
	NoteBlank   = "added blank line had lost its +"
)

// Readings gives the ways in which h can be understood, the likeliest first.
// Later ones are for a hunk that the earlier ones fit nowhere.
func (h *Hunk) Readings() []Reading {
	base := h.ends()
	plain := base[0].Lines
	if joined, ok := joinWrapped(plain); ok {
		base = append(base, Reading{Lines: joined, Note: NoteWrapped})
	}
	return append(base, h.lostBlanks(h.Lines)...)
}

// ends finds where the hunk ends and other text begins. Counts that are
// fulfilled at the end, or at a line that separates, are believed; others are not.
func (h *Hunk) ends() []Reading {
	if h.Fit > 0 && blank(h.Lines[h.Fit:]) {
		return []Reading{{Lines: h.Lines[:h.Fit]}}
	}
	full := trimBlanks(h.Lines)
	if h.Fit <= 0 || !separates(h.Lines[h.Fit]) {
		return append([]Reading{{Lines: full}}, withoutProse(full)...)
	}
	cut := Reading{Lines: h.Lines[:h.Fit], Note: NoteTail, Prose: h.Lines[h.Fit:]}
	switch tail := h.Lines[h.Fit:]; {
	case !changes(cut.Lines):
		return []Reading{{Lines: full}}
	case !changes(tail):
		return []Reading{cut, {Lines: full}}
	case onlyAdds(tail):
		cut.Rival = true
	}
	return []Reading{{Lines: full}, cut}
}

func trimBlanks(lines []Line) []Line {
	for len(lines) > 0 && lines[len(lines)-1].empty() {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// empty reports whether l was an empty line of the text.
func (l Line) empty() bool {
	return l.Bare && (len(l.Text) == 0 || string(l.Text) == "\r")
}

func blank(lines []Line) bool { return len(trimBlanks(lines)) == 0 }

// separates reports whether l can stand between a hunk and other text: an empty
// line, a line without an operation, the signature mark of a mail.
func separates(l Line) bool {
	return l.Bare || l.Op == Delete && (string(l.Text) == "- " || string(l.Text) == "-")
}

func changes(lines []Line) bool {
	for _, l := range lines {
		if l.Op != Context && !separates(l) {
			return true
		}
	}
	return false
}

// onlyAdds reports whether nothing in lines can be checked against a file.
func onlyAdds(lines []Line) bool {
	for _, l := range lines {
		if l.Op != Insert && !l.empty() {
			return false
		}
	}
	return true
}

// withoutProse gives the hunk without a paragraph at its end. Only a paragraph after an
// empty line counts, and only when the hunk's own context kept its spaces; else
// context would be dropped that the file has to confirm.
func withoutProse(lines []Line) []Reading {
	cut := len(lines)
	for i := len(lines) - 1; i > 0 && lines[i].Bare; i-- {
		if lines[i].empty() && !lines[i+1].empty() {
			cut = i
		}
	}
	if cut == len(lines) {
		return nil
	}
	for _, l := range lines[:cut] {
		if l.Bare && !l.empty() {
			return nil
		}
	}
	return []Reading{{Lines: trimBlanks(lines[:cut]), Note: NoteTail, Prose: lines[cut:]}}
}

// joinWrapped takes lines without an operation for the rest of the line before.
// An added line cannot be joined: no file would confirm it.
func joinWrapped(lines []Line) ([]Line, bool) {
	rest := func(l Line) bool { return l.Bare && !l.empty() }
	if !slices.ContainsFunc(lines, rest) || rest(lines[0]) {
		return nil, false
	}
	out := make([]Line, 0, len(lines))
	kept := false
	for _, l := range lines {
		kept = kept || l.Op == Context && !l.Bare
		if !rest(l) {
			out = append(out, l)
			continue
		}
		last := &out[len(out)-1]
		if last.Op == Insert {
			return nil, false
		}
		last.Text = slices.Concat(last.Text, []byte(" "), l.Text)
		last.NoEOL = last.NoEOL || l.NoEOL
	}
	return out, kept
}
