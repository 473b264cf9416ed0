// Package hunks reads a rendered patch in the way a person reviews it: by file, with a number at each line. It
// compares two patches by what they leave in the files, and turns remarks at lines into the text of a rejection. It is
// pure. The commands and the review page share it.
package hunks

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// Change is what a patch does to a file as a whole.
type Change string

// The changes.
const (
	Modified Change = "modified"
	Added    Change = "added"
	Removed  Change = "removed"
	// Dropped is the change of a file that an earlier patch has and a later one has not; see Compare.
	Dropped Change = "not in this patch"
	Renamed Change = "renamed"
	Copied  Change = "copied"
)

// File is what a patch says about one file. Names have no prefix of git.
type File struct {
	Name   string // the name after the patch; of a removed file the name before it
	From   string // the name before a rename or a copy; else empty
	Change Change
	Mode   string // "100644 → 100755" where the mode changes, or the mode of an added file that is not 100644
	Binary bool   // it has no lines

	Added, Deleted int // lines
	Hunks          []Hunk
}

// Hunk is a part of a file.
type Hunk struct{ Lines []Line }

// Line is a line of a hunk. Its text is the file's own: what shows it makes it safe to show.
type Line struct {
	Op    udiff.Op
	Old   int // number before the patch; zero: it is not there
	New   int // number after the patch; zero: it is not there
	Text  string
	NoEOL bool // no line feed ends the file after it
}

// ordinaryMode is the mode of a file that needs no mention.
const ordinaryMode = "100644"

// Read reads a patch as git or package patch renders it. A patch without lines has no files. The error is a
// *udiff.SyntaxError for a text that is no diff.
func Read(patch []byte) ([]File, error) {
	if len(strings.TrimSpace(string(patch))) == 0 {
		return nil, nil
	}
	d, err := udiff.Parse(patch, func(string) bool { return false }, true)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, s := range d.Sections {
		f, err := readSection(s)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func readSection(s udiff.Section) (File, error) {
	f := File{Change: Modified, Binary: s.Binary}
	f.Name = firstName(s.New, s.To, s.GitNew, s.Old, s.GitOld)
	switch {
	case s.Created || s.Old == udiff.Null:
		f.Change = Added
		if s.NewMode != ordinaryMode {
			f.Mode = s.NewMode
		}
	case s.Removed || s.New == udiff.Null:
		f.Change, f.Name = Removed, firstName(s.Old, s.GitOld)
	case s.Rename:
		f.Change = Renamed
	case s.Copy:
		f.Change = Copied
	}
	if f.Change == Renamed || f.Change == Copied { // those lines have no prefix
		f.Name, f.From = cmp.Or(s.To, f.Name), cmp.Or(s.From, firstName(s.Old, s.GitOld))
	}
	if s.OldMode != "" && s.NewMode != "" && s.OldMode != s.NewMode {
		f.Mode = s.OldMode + " → " + s.NewMode
	}
	for _, h := range s.Hunks {
		hunk, err := numberLines(h)
		if err != nil {
			return f, fmt.Errorf("%s: %w", f.Name, err)
		}
		f.countLines(hunk)
		f.Hunks = append(f.Hunks, hunk)
	}
	return f, nil
}

// firstName returns the first name that is there, without the prefix of git.
func firstName(names ...string) string {
	for _, n := range names {
		if n == "" || n == udiff.Null {
			continue
		}
		if len(n) > 2 && (n[:2] == "a/" || n[:2] == "b/") {
			return n[2:]
		}
		return n
	}
	return ""
}

var errUnnumbered = errors.New("a hunk has no line numbers")

func numberLines(h udiff.Hunk) (Hunk, error) {
	if h.Old.Start < 0 || h.New.Start < 0 {
		return Hunk{}, errUnnumbered
	}
	before, after := h.Old.Start, h.New.Start
	if h.Old.Lines == 0 {
		before++ // an empty range names the line before it
	}
	if h.New.Lines == 0 {
		after++
	}
	var out Hunk
	for _, l := range h.Lines {
		line := Line{Op: l.Op, Text: string(l.Text), NoEOL: l.NoEOL}
		if l.Op != udiff.Insert {
			line.Old = before
			before++
		}
		if l.Op != udiff.Delete {
			line.New = after
			after++
		}
		out.Lines = append(out.Lines, line)
	}
	return out, nil
}

func (f *File) countLines(h Hunk) {
	for _, l := range h.Lines {
		switch l.Op {
		case udiff.Insert:
			f.Added++
		case udiff.Delete:
			f.Deleted++
		}
	}
}
