package patch

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/patch/place"
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// applyStep decides the bytes of one file and adds them to the change.
func (p *planner) applyStep(s *step) *Refusal {
	switch {
	case s.old == "":
		return p.createFile(s)
	case s.new == "":
		return p.deleteFile(s)
	}
	before, _ := p.lookupFile(s.old)
	after := before
	if s.mode != 0 {
		after.Mode = s.mode
	}
	if len(s.hunks) > 0 {
		content, r := p.editFile(s, before.Content)
		if r != nil {
			return r
		}
		after.Content = content
	}
	kind := Modified
	switch same := bytes.Equal(before.Content, after.Content); {
	case s.section.Rename:
		kind = Renamed
	case s.section.Copy:
		kind = Copied
	case same && before.Mode == after.Mode:
		return nil
	case same:
		kind = ModeOnly
	}
	return p.addFile(FileChange{Path: s.new, OldPath: s.old, Kind: kind, Before: &before, After: &after})
}

// addFile counts the lines of a file change, checks the limits and adds it to the change.
func (p *planner) addFile(c FileChange) *Refusal {
	var before, after []byte
	if c.Before != nil {
		before = c.Before.Content
	}
	if c.After != nil {
		after = c.After.Content
	}
	if n := max(len(before), len(after)); n > p.limits.File {
		return tooBig(c.Path, "the file has %d bytes; at most %d are allowed", n, p.limits.File)
	}
	if p.changedBytes += len(before) + len(after); p.changedBytes > p.limits.Total {
		return tooBig(c.Path, "the files of the diff have more than %d bytes", p.limits.Total)
	}
	if c.Kind != Renamed && c.Kind != Copied {
		c.OldPath = ""
	}
	a, b := udiff.NewText(before), udiff.NewText(after)
	for _, e := range udiff.Edits(a.Lines, b.Lines) {
		c.Deleted += e.AEnd - e.A
		c.Added += e.BEnd - e.B
	}
	p.change.Files = append(p.change.Files, c)
	return nil
}

// createFile adds a new file that consists of the added lines. A line that is not an added one contradicts
// the header, except for an empty line: it is an added line that lost its +.
func (p *planner) createFile(s *step) *Refusal {
	lines, r := p.wholeFileLines(s, s.new, udiff.Insert)
	if r != nil {
		return r
	}
	if areNumbered(lines) {
		return &Refusal{Kind: NotADiff, Path: s.new, Message: "its lines begin with line numbers, as in a file viewer: leave the numbers out"}
	}
	size := 0
	for _, l := range lines {
		size += len(l.Text) + 1
	}
	content := make([]byte, 0, size)
	for _, l := range lines {
		content = append(append(content, l.Text...), '\n')
	}
	if n := len(lines); n > 0 && lines[n-1].NoEOL {
		content = content[:len(content)-1]
	}
	return p.addFile(FileChange{Path: s.new, Kind: Added, After: &File{Mode: cmp.Or(s.mode, Regular), Content: content}})
}

// deleteFile deletes a file if the deleted lines are all its lines.
func (p *planner) deleteFile(s *step) *Refusal {
	before, _ := p.lookupFile(s.old)
	lines, r := p.wholeFileLines(s, s.old, udiff.Delete)
	if r != nil {
		return r
	}
	f := place.NewFile(withoutMark(before.Content, s.hunks))
	at := f.FirstDifference(lines)
	if at < 0 {
		return p.addFile(FileChange{Path: s.old, Kind: Deleted, Before: &before})
	}
	return &Refusal{Kind: DeletedLineDiffers, Path: s.old, Message: "to delete a file, show every line of it as deleted; the first difference:\n" + showAround(f, at) + showWanted(lines, at)}
}

// wholeFileLines returns the lines of hunks in which every line has the operation op, or is an empty line
// that lost its operation. It refuses a hunk with other lines, because they contradict the header, unless
// they are text after the hunk.
func (p *planner) wholeFileLines(s *step, path string, op udiff.Op) ([]udiff.Line, *Refusal) {
	var all []udiff.Line
	for i, h := range s.hunks {
		readings := h.Readings()
		chosen, odd := readings[0], findOtherLine(readings[0].Lines, op)
		for _, r := range readings[1:] {
			switch {
			case r.Note != udiff.NoteTail || findOtherLine(r.Lines, op) != nil:
			case odd == nil && r.Rival:
				return nil, &Refusal{Kind: Ambiguous, Path: path, Hunk: i + 1,
					Message: "lines follow the hunk after an empty line, and it is unclear whether they belong to it; correct the counts in its header"}
			case odd != nil:
				chosen, odd = r, nil
			}
		}
		if odd != nil {
			return nil, &Refusal{Kind: NotADiff, Path: path, Hunk: i + 1, Message: fmt.Sprintf("the file is created or deleted as a whole, but this line contradicts that: %s", clipLine(quoteLine(*odd)))}
		}
		if chosen.Note != "" {
			if r := refuseChangeIn(chosen.Prose, path, i+1); r != nil {
				return nil, r
			}
			p.addRepair(path, i+1, RepairTail, proseOf(chosen.Prose))
		} else if h.Fit != len(chosen.Lines) {
			p.addRepair(path, i+1, RepairCounts, "")
		}
		if slices.ContainsFunc(chosen.Lines, func(l udiff.Line) bool { return l.Bare }) {
			p.addRepair(path, i+1, RepairAddedBlank, "")
		}
		all = append(all, chosen.Lines...)
	}
	return all, nil
}

// refuseChangeIn refuses a hunk behind which a line reports another change. It returns nil if there is none.
func refuseChangeIn(prose []udiff.Line, path string, hunk int) *Refusal {
	for _, l := range prose {
		if l.Bare && udiff.IsChange(l.Text) {
			return &Refusal{Kind: NotADiff, Path: path, Hunk: hunk, Message: "a line after the hunk describes a change without a hunk, so the diff is incomplete: " + clipLine(string(l.Text))}
		}
	}
	return nil
}

// proseOf returns the text of lines that were passed over.
func proseOf(lines []udiff.Line) string {
	var text []string
	for _, l := range lines {
		text = append(text, quoteLine(l))
	}
	return strings.TrimSpace(strings.Join(text, "\n"))
}

// findOtherLine returns the first line that neither has the operation op nor is empty, or nil.
func findOtherLine(lines []udiff.Line, op udiff.Op) *udiff.Line {
	for i, l := range lines {
		if l.Op != op && !(l.Bare && len(bytes.TrimSpace(l.Text)) == 0) {
			return &lines[i]
		}
	}
	return nil
}

// editFile places the hunks of a file and returns its new content. A byte order mark that the diff does not show stays.
func (p *planner) editFile(s *step, before []byte) ([]byte, *Refusal) {
	if bytes.IndexByte(before, 0) >= 0 {
		return nil, &Refusal{Kind: Policy, Path: s.old, Message: "the file is binary; only text can be patched"}
	}
	if len(before) > p.limits.File {
		return nil, tooBig(s.old, "the file has %d bytes; at most %d are allowed", len(before), p.limits.File)
	}
	trusted := len(s.section.OldID) == 40 && s.section.OldID == blobID(before)
	text := withoutMark(before, s.hunks)
	if len(text) == len(before) {
		return p.editText(s, before, trusted)
	}
	after, r := p.editText(s, text, trusted)
	return slices.Concat(before[:len(before)-len(text)], after), r
}

// withoutMark returns the text of a file without the byte order mark that the diff does not show.
func withoutMark(text []byte, hunks []udiff.Hunk) []byte {
	mark := []byte("\ufeff")
	if hasLinePrefix(hunks, mark) {
		return text
	}
	for bytes.HasPrefix(text, mark) {
		text = text[len(mark):]
	}
	return text
}

// editText is editFile without the mark. trusted says that the diff was made for this very file.
func (p *planner) editText(s *step, before []byte, trusted bool) ([]byte, *Refusal) {
	f := place.NewFile(before)
	hunks := make([]place.Hunk, len(s.hunks))
	for i, h := range s.hunks {
		hunks[i] = toPlaceHunk(h)
	}
	matches, ok := []place.Match(nil), false
	if trusted {
		matches, ok = f.PlaceTrusted(hunks)
	}
	if !ok {
		var miss *place.Miss
		if matches, miss = f.PlaceHunks(hunks); miss != nil {
			return nil, explainMiss(s, f, hunks, miss)
		}
	}
	e := editor{file: f, path: s.new, hunks: s.hunks, planner: p}
	return e.applyMatches(matches, hunks)
}

// hasLinePrefix reports whether a line of hunks begins with mark.
func hasLinePrefix(hunks []udiff.Hunk, mark []byte) bool {
	for _, h := range hunks {
		for _, l := range h.Lines {
			if bytes.HasPrefix(l.Text, mark) {
				return true
			}
		}
	}
	return false
}

// toPlaceHunk converts h to the form that package place takes.
func toPlaceHunk(h udiff.Hunk) place.Hunk {
	r := h.Readings()
	start := h.Old.Start
	if start > 0 && h.Old.Lines != 0 {
		start--
	}
	return place.Hunk{Heading: h.Heading, Start: start, Counted: h.Fit == len(r[0].Lines), Readings: r}
}

// quoteLine returns a hunk line as the diff shows it, without its carriage return.
func quoteLine(l udiff.Line) string {
	op := string(rune(l.Op))
	if l.Bare {
		op = ""
	}
	return op + string(bytes.TrimRight(l.Text, "\r"))
}
