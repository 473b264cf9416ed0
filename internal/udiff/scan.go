package udiff

import (
	"bytes"
	"errors"
	"slices"
)

// IsComplete reports whether text has a diff that does not break off: its last hunk has all the lines that
// its header promises, or its last section is complete without hunks.
func IsComplete(text []byte) bool {
	d, err := Parse(text, knowNone, true)
	if err != nil {
		return false
	}
	last := d.Sections[len(d.Sections)-1]
	if n := len(last.Hunks); n > 0 {
		return !last.Hunks[n-1].isOwed()
	}
	moved := (last.Rename || last.Copy) && last.To != ""
	return last.Old == "" && (moved || last.NewMode != "" || last.Removed)
}

// isOwed reports whether the header of h promises more lines than there are.
func (h *Hunk) isOwed() bool {
	if h.Old.Start == Unstated {
		return false
	}
	old, new := countLines(h.Lines)
	return old < h.Old.Lines || new < h.New.Lines
}

// knowNone is the Known of an empty tree.
func knowNone(string) bool { return false }

// LooksLikeDiff reports whether text has a header of a diff and a hunk or another change.
func LooksLikeDiff(text []byte) bool {
	_, err := Parse(text, knowNone, true)
	e, _ := errors.AsType[*SyntaxError](err)
	return err == nil || e != nil && e.TooBig
}

// StartsWithHeader reports whether text begins with the header of a file.
func StartsWithHeader(text []byte) bool {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if IsGitHeader(first) {
		return true
	}
	second, third, _ := bytes.Cut(rest, []byte("\n"))
	return IsFileHeader(first, second) && (len(bytes.TrimSpace(third)) == 0 || IsHunkHeader(third))
}

// Span is a name that a section of a diff carries, without git's prefix, and the lines of the file at which its first and
// last hunk begin, as the headers of the hunks say. They are -1 where the section is no plain change of the file's text.
type Span struct {
	Name        string
	First, Last int
}

// Spans returns the names in the sections of text with their lines.
func Spans(text []byte) []Span {
	d, err := Parse(text, knowNone, true)
	if err != nil {
		return nil
	}
	var spans []Span
	for _, s := range d.Sections {
		span := Span{First: -1, Last: -1}
		if plain := !s.Created && !s.Removed && !s.Rename && !s.Copy && s.Old != Null && s.New != Null; plain && len(s.Hunks) > 0 {
			span.First, span.Last = s.Hunks[0].Old.Start, s.Hunks[len(s.Hunks)-1].Old.Start
		}
		for _, n := range []string{s.GitOld, s.GitNew, s.Old, s.New, s.From, s.To} {
			span.Name = bareName(n)
			if n != "" && n != Null && !slices.Contains(spans, span) {
				spans = append(spans, span)
			}
		}
	}
	return spans
}

// bareName returns n without git's prefix.
func bareName(n string) string {
	if len(n) > 2 && (n[:2] == "a/" || n[:2] == "b/") {
		return n[2:]
	}
	return n
}
