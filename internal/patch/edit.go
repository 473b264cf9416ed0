package patch

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/patch/place"
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// editor computes the content of one file from its placed hunks.
type editor struct {
	*planner
	file  *place.File
	path  string
	hunks []udiff.Hunk

	spans  []span
	marked bool // some hunk says whether the last line has a line feed
	indent int  // bytes of the indentations that the hunks add
}

// span replaces the lines [at, end) of the file.
type span struct {
	at, end  int
	hunk     int
	lines    []udiff.Line // the added ones
	verbatim bool         // they enter the file unchanged
	indent   reindent
}

// applyMatches returns the content of the file with all hunks applied. It refuses hunks that change the
// same lines.
func (e *editor) applyMatches(matches []place.Match, placed []place.Hunk) ([]byte, *Refusal) {
	for i, m := range matches {
		if r := e.addSpans(i, m, placed[i]); r != nil {
			return nil, r
		}
	}
	slices.SortStableFunc(e.spans, func(a, b span) int { return cmp.Or(a.at-b.at, a.end-b.end) })
	for i := 1; i < len(e.spans); i++ {
		a, b := e.spans[i-1], e.spans[i]
		if a.hunk != b.hunk && (b.at < a.end || b.at == a.at) {
			return nil, &Refusal{Kind: Overlap, Path: e.path, Hunk: b.hunk + 1,
				Message: fmt.Sprintf("it changes the same lines as hunk %d, around line %d of the file; make them one hunk", a.hunk+1, b.at+1)}
		}
	}
	e.reportShared(matches)
	return e.composeFile()
}

// reportShared adds a repair for hunks that show the same lines of the file.
func (e *editor) reportShared(matches []place.Match) {
	order := make([]int, len(matches))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(matches[a].At, matches[b].At) })
	for k := 1; k < len(order); k++ {
		if before, i := order[k-1], order[k]; matches[i].At < matches[before].End() {
			e.addRepair(e.path, i+1, RepairMerged, fmt.Sprintf("repeats lines of hunk %d", before+1))
		}
	}
}

// addSpans turns a placed hunk into spans and reports its repairs.
func (e *editor) addSpans(i int, m place.Match, h place.Hunk) *Refusal {
	if r := refuseChangeIn(h.Readings[m.Reading].Prose, e.path, i+1); r != nil {
		return r
	}
	e.reportRepairs(i, m, h)
	indent := reindent{}
	if m.Level >= place.Blanks {
		var ok bool
		if indent, ok = findReindent(m.Lines, e.file.Lines[m.At:m.End()]); !ok {
			return &Refusal{Kind: DeletedLineDiffers, Path: e.path, Hunk: i + 1,
				Message: "the indentation of the deleted lines differs from the file, and not consistently; the file has:\n" + showAround(e.file, m.At)}
		}
		if e.indent += len(indent.add); e.indent > e.limits.File {
			return e.refuseSize()
		}
		if indent.note != "" {
			e.addRepair(e.path, i+1, RepairIndentation, indent.note)
		}
	}
	at := m.At
	verbatim, open := m.Level == place.Exact && e.isVerbatim(i), false
	for _, l := range m.Lines {
		e.marked = e.marked || l.NoEOL
		if l.Op == udiff.Context {
			at++
			open = false
			continue
		}
		if !open {
			e.spans = append(e.spans, span{at: at, end: at, hunk: i, verbatim: verbatim, indent: indent})
			open = true
		}
		s := &e.spans[len(e.spans)-1]
		if l.Op == udiff.Delete {
			at++
			s.end = at
		} else {
			s.lines = append(s.lines, l)
		}
	}
	return nil
}

// reportRepairs adds the repairs of one hunk.
func (e *editor) reportRepairs(i int, m place.Match, h place.Hunk) {
	n := i + 1
	if !h.Counted && h.Readings[m.Reading].Note == "" {
		e.addRepair(e.path, n, RepairCounts, "")
	}
	if m.At != h.Start {
		e.addRepair(e.path, n, RepairLines, fmt.Sprintf("found at line %d", m.At+1))
	}
	switch h.Readings[m.Reading].Note {
	case udiff.NoteTail:
		e.addRepair(e.path, n, RepairTail, proseOf(h.Readings[m.Reading].Prose))
	case udiff.NoteWrapped:
		e.addRepair(e.path, n, RepairWrapped, "")
	case udiff.NoteBlank:
		e.addRepair(e.path, n, RepairAddedBlank, "")
	}
	bare := func(l udiff.Line) bool { return l.Bare && len(l.Text) > 0 }
	if m.Level != place.Altered && slices.ContainsFunc(m.Lines, bare) {
		e.addRepair(e.path, n, RepairContextSpace, "")
	}
	switch m.Level {
	case place.LineEnds:
		e.addRepair(e.path, n, RepairLineEnds, "")
	case place.Trailing, place.Blanks:
		e.addRepair(e.path, n, RepairBlanks, "")
	case place.Punctuation:
		e.addRepair(e.path, n, RepairPunctuation, "")
	case place.Altered:
		e.addRepair(e.path, n, RepairAltered, "a context line differs from the file")
		e.change.Sensitive = append(e.change.Sensitive, Reason{Path: e.path, Reason: fmt.Sprintf("a context line of hunk %d differs from the file", n)})
	}
}

// composeFile returns the file with the spans replaced. It copies the lines outside of them. A small diff can add many
// lines that take a long indentation from the file, so it stops as soon as the added ones are too much for a file.
func (e *editor) composeFile() ([]byte, *Refusal) {
	var out [][]byte
	at, added := 0, 0
	returns := e.hasMostlyReturns()
	for _, s := range e.spans {
		out = append(out, e.file.Lines[at:s.at]...)
		for k, l := range s.lines {
			line := e.addedLine(s, k, l, returns)
			if added += len(line); added > e.limits.File {
				return nil, e.refuseSize()
			}
			out = append(out, line)
		}
		at = s.end
	}
	kept := e.file.Lines[at:]
	out = append(out, kept...)
	return e.joinLines(out, len(kept) > 0, returns), nil
}

// refuseSize refuses a diff by which the file grows too large.
func (e *editor) refuseSize() *Refusal {
	return tooBig(e.path, "the file would have more than %d bytes", e.limits.File)
}

// addedLine returns an added line in the form that it has in the file. If the hunk does not agree with the
// file in every byte, the line takes its indentation and line end from the file: from the line it
// replaces, else from the line before it, else from the majority of lines.
func (e *editor) addedLine(s span, k int, l udiff.Line, returns bool) []byte {
	if s.verbatim {
		return l.Text
	}
	text := s.indent.indentLine(bytes.TrimRight(l.Text, "\r"))
	model := min(s.at+k, s.end-1)
	if model < s.at {
		model = s.at - 1
	}
	if model >= 0 && (model < len(e.file.Lines)-1 || !e.file.NoEOL) {
		returns = bytes.HasSuffix(e.file.Lines[model], []byte("\r"))
	}
	if returns {
		text = append(bytes.Clone(text), '\r')
	}
	return text
}

// isVerbatim reports whether the added lines of a hunk that agrees with the file in every byte enter it unchanged. A
// hunk without an old line says nothing about the file's line ends.
func (e *editor) isVerbatim(hunk int) bool {
	isOld := func(l udiff.Line) bool { return l.Op != udiff.Insert }
	return len(e.file.Lines) == 0 || slices.ContainsFunc(e.hunks[hunk].Lines, isOld)
}

// hasMostlyReturns reports whether most lines of the file end in CR LF.
func (e *editor) hasMostlyReturns() bool {
	n := 0
	for _, l := range e.file.Lines {
		if bytes.HasSuffix(l, []byte("\r")) {
			n++
		}
	}
	return 2*n > len(e.file.Lines)
}

// joinLines joins the lines and decides about the last line feed. A kept last line stays unchanged. For an
// added last line the marker decides or, if the diff has no marker at the end of this file, the old end of
// the file.
func (e *editor) joinLines(out [][]byte, kept, returns bool) []byte {
	if len(out) == 0 {
		return nil
	}
	ended := true
	last := e.lastAdded()
	switch {
	case kept:
		ended = !e.file.NoEOL
	case last == nil:
	case e.marked:
		ended = !last.NoEOL
	case e.file.NoEOL:
		ended = false
		e.addRepair(e.path, 0, RepairFinalNewline, "the file still ends without a line feed")
	}
	if e.file.NoEOL && !kept && returns {
		e.addInnerReturn(out)
	}
	if end := len(out) - 1; !ended && last != nil && !e.spans[len(e.spans)-1].verbatim {
		out[end] = bytes.TrimSuffix(out[end], []byte("\r")) // without its line feed it would stand alone
	}
	text := bytes.Join(out, []byte("\n"))
	if ended {
		text = append(text, '\n')
	}
	return text
}

// lastAdded returns the added line that ends the file, or nil if the last line is not an added one.
func (e *editor) lastAdded() *udiff.Line {
	if len(e.spans) == 0 {
		return nil
	}
	s := e.spans[len(e.spans)-1]
	if s.end != len(e.file.Lines) || len(s.lines) == 0 {
		return nil
	}
	return &s.lines[len(s.lines)-1]
}

// addInnerReturn appends a carriage return to the line that was the last one and now has lines after it,
// as the other lines have one.
func (e *editor) addInnerReturn(out [][]byte) {
	last := e.file.Lines[len(e.file.Lines)-1]
	for i := range len(out) - 1 {
		if len(out[i]) > 0 && len(last) > 0 && &out[i][0] == &last[0] {
			out[i] = append(bytes.Clone(last), '\r')
		}
	}
}
