package patch

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/patch/place"
	"github.com/ratchet-dev/ratchet/internal/patch/udiff"
)

// apply decides the bytes of one file and adds them to the change.
func (p *planner) apply(s *step) *Refusal {
	switch {
	case s.old == "":
		return p.create(s)
	case s.new == "":
		return p.remove(s)
	}
	before, _ := p.lookup(s.old)
	after := before
	if s.mode != 0 {
		after.Mode = s.mode
	}
	if len(s.hunks) > 0 {
		content, r := p.edit(s, before.Content)
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
	return p.add(FileChange{Path: s.new, OldPath: s.old, Kind: kind, Before: &before, After: &after})
}

// add counts a file and adds it to the change.
func (p *planner) add(c FileChange) *Refusal {
	var before, after []byte
	if c.Before != nil {
		before = c.Before.Content
	}
	if c.After != nil {
		after = c.After.Content
	}
	if n := max(len(before), len(after)); n > p.limits.File {
		return tooBig(c.Path, "the file has %d bytes; at most %d are taken", n, p.limits.File)
	}
	if p.read += len(before) + len(after); p.read > p.limits.Total {
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

// create makes a file of the added lines. Anything but an added line contradicts
// the header; an empty line is an added one that lost its +.
func (p *planner) create(s *step) *Refusal {
	lines, r := p.pure(s, s.new, udiff.Insert)
	if r != nil {
		return r
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
	return p.add(FileChange{Path: s.new, Kind: Added, After: &File{Mode: cmp.Or(s.mode, Regular), Content: content}})
}

// remove deletes a file, when the deleted lines are all the lines it has.
func (p *planner) remove(s *step) *Refusal {
	before, _ := p.lookup(s.old)
	lines, r := p.pure(s, s.old, udiff.Delete)
	if r != nil {
		return r
	}
	f := place.NewFile(before.Content)
	at := f.Differs(lines)
	if at < 0 {
		return p.add(FileChange{Path: s.old, Kind: Deleted, Before: &before})
	}
	return &Refusal{Kind: DeletedLineDiffers, Path: s.old, Message: "to delete a file, every line of it has to be shown as deleted; the first difference:\n" + around(f, at) + wanted(lines, at)}
}

// pure gives the lines of hunks that do nothing but op, and empty lines that lost
// it. A hunk with other lines contradicts its header, unless what contradicts is text after it.
func (p *planner) pure(s *step, path string, op udiff.Op) ([]udiff.Line, *Refusal) {
	var all []udiff.Line
	for i, h := range s.hunks {
		readings := h.Readings()
		chosen, odd := readings[0], other(readings[0].Lines, op)
		for _, r := range readings[1:] {
			switch {
			case r.Note != udiff.NoteTail || other(r.Lines, op) != nil:
			case odd == nil && r.Rival:
				return nil, &Refusal{Kind: Ambiguous, Path: path, Hunk: i + 1,
					Message: "lines follow the hunk after an empty line, and it is not clear whether they belong to it; correct the counts of its header"}
			case odd != nil:
				chosen, odd = r, nil
			}
		}
		if odd != nil {
			return nil, &Refusal{Kind: NotADiff, Path: path, Hunk: i + 1, Message: fmt.Sprintf("the file is made or deleted as a whole, but this line says otherwise: %s", clip(quoteLine(*odd)))}
		}
		if chosen.Note != "" {
			p.repair(path, i+1, RepairTail, "")
		} else if h.Fit != len(chosen.Lines) {
			p.repair(path, i+1, RepairCounts, "")
		}
		if slices.ContainsFunc(chosen.Lines, func(l udiff.Line) bool { return l.Bare }) {
			p.repair(path, i+1, RepairAddedBlank, "")
		}
		all = append(all, chosen.Lines...)
	}
	return all, nil
}

// other is the first line that is neither op nor empty.
func other(lines []udiff.Line, op udiff.Op) *udiff.Line {
	for i, l := range lines {
		if l.Op != op && !(l.Bare && len(bytes.TrimSpace(l.Text)) == 0) {
			return &lines[i]
		}
	}
	return nil
}

// edit places the hunks of a file and gives its content afterwards.
func (p *planner) edit(s *step, before []byte) ([]byte, *Refusal) {
	if bytes.IndexByte(before, 0) >= 0 {
		return nil, &Refusal{Kind: Policy, Path: s.old, Message: "the file is binary; only text can be patched"}
	}
	if len(before) > p.limits.File {
		return nil, tooBig(s.old, "the file has %d bytes; at most %d are taken", len(before), p.limits.File)
	}
	if mark := []byte("\ufeff"); bytes.HasPrefix(before, mark) && !begins(s.hunks, mark) {
		after, r := p.edit(s, before[len(mark):])
		return slices.Concat(mark, after), r
	}
	f := place.NewFile(before)
	hunks := make([]place.Hunk, len(s.hunks))
	for i, h := range s.hunks {
		hunks[i] = placeable(h)
	}
	matches, ok := []place.Match(nil), false
	if len(s.section.OldID) == 40 && s.section.OldID == blobID(before) {
		matches, ok = f.Trust(hunks)
	}
	if !ok {
		var miss *place.Miss
		if matches, miss = f.Place(hunks); miss != nil {
			return nil, missed(s, f, hunks, miss)
		}
	}
	e := editor{file: f, path: s.new, hunks: s.hunks, planner: p}
	return e.run(matches, hunks)
}

// begins reports whether a line of hunks begins with mark.
func begins(hunks []udiff.Hunk, mark []byte) bool {
	for _, h := range hunks {
		for _, l := range h.Lines {
			if bytes.HasPrefix(l.Text, mark) {
				return true
			}
		}
	}
	return false
}

// placeable is a hunk as package place takes it.
func placeable(h udiff.Hunk) place.Hunk {
	r := h.Readings()
	start := h.Old.Start
	if start > 0 && h.Old.Lines != 0 {
		start--
	}
	return place.Hunk{Start: start, Counted: h.Fit == len(r[0].Lines), Readings: r}
}

func quoteLine(l udiff.Line) string {
	op := string(rune(l.Op))
	if l.Bare {
		op = ""
	}
	return op + string(bytes.TrimRight(l.Text, "\r"))
}
