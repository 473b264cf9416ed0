package place

import (
	"bytes"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/patch/udiff"
)

// longest is the number of lines of a hunk up to which one of them may be altered.
const longest = 2000

// altered looks for the one place where h fits but for one context line: it reads a
// little otherwise, or one of the two has it and the other has not. Deleted lines have
// to agree, and the line is not one that alone tells where lines are added.
func (f *File) altered(h Hunk) (spot, bool) {
	lines := h.Readings[0].Lines
	x := f.index(Blanks)
	p, _ := x.pattern(Blanks, lines)
	bare := func(l udiff.Line) bool { return l.Bare } // perhaps what is left of an added line
	if len(p) < 4 || len(lines) > longest || slices.ContainsFunc(lines, bare) {
		return spot{}, false
	}
	var found spot
	changed := -1
	for _, start := range f.starts(x, p) {
		fixed, ok := f.mend(lines, start)
		if !ok {
			continue
		}
		at := start + firstChange(fixed)
		if changed >= 0 && at != changed {
			return spot{}, false
		}
		changed = at
		found = spot{level: Altered, lines: fixed, at: []int{start}}
	}
	return found, changed >= 0
}

// starts gives the indices that are worth a try: one of any two lines agrees, so
// the two rarest tell them all, give or take the one line that may be too many or missing.
func (f *File) starts(x *index, p []int32) []int {
	var order []int
	for i, n := range p {
		if n != unknown && len(x.where[n]) <= common {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(x.where[p[a]]) - len(x.where[p[b]]) })
	var starts []int
	for _, i := range order[:min(2, len(order))] {
		for _, at := range x.where[p[i]] {
			for shift := -1; shift <= 1; shift++ {
				if start := int(at) - i + shift; start >= 0 {
					starts = append(starts, start)
				}
			}
		}
	}
	slices.Sort(starts)
	return slices.Compact(starts)
}

func firstChange(lines []udiff.Line) int {
	return slices.IndexFunc(lines, func(l udiff.Line) bool { return l.Op != udiff.Context })
}

// mend changes one context line of a hunk so that it fits at index at.
func (f *File) mend(lines []udiff.Line, at int) ([]udiff.Line, bool) {
	i, stop := f.fits(lines, at)
	if i == len(lines) || !calm(lines, i) {
		return nil, false
	}
	if stop >= len(f.Lines) {
		return nil, false
	}
	kept := udiff.Line{Op: udiff.Context, Text: f.Lines[stop]}
	for _, fixed := range [][]udiff.Line{
		slices.Concat(lines[:i], []udiff.Line{kept}, lines[i+1:]), // it reads otherwise
		slices.Concat(lines[:i], []udiff.Line{kept}, lines[i:]),   // the hunk left it out
		slices.Concat(lines[:i], lines[i+1:]),                     // the file has it not
	} {
		replaced := len(fixed) == len(lines)
		if replaced && !similar(lines[i].Text, kept.Text) {
			continue
		}
		if end, _ := f.fits(fixed, at); end == len(fixed) && weight(fixed, i) >= enough {
			return fixed, true
		}
	}
	return nil, false
}

// fits gives the first hunk line that does not agree at index at, and where in
// the file that is.
func (f *File) fits(lines []udiff.Line, at int) (i, stop int) {
	for i, l := range lines {
		if l.Op == udiff.Insert {
			continue
		}
		level := Blanks
		if l.Op == udiff.Delete {
			level = Trailing
		}
		if at >= len(f.Lines) || !same(level, l.Text, f.Lines[at]) || l.NoEOL && at != len(f.Lines)-1 {
			return i, at
		}
		at++
	}
	return len(lines), at
}

// calm reports whether line i is context, and the changes next to it delete
// something that tells their place.
func calm(lines []udiff.Line, i int) bool {
	if lines[i].Op != udiff.Context || lines[i].NoEOL {
		return false
	}
	back, ahead := slices.Clone(lines[:i]), lines[i+1:]
	slices.Reverse(back)
	return pinned(back) && pinned(ahead)
}

// pinned reports whether lines begin with context, or with a change that deletes.
func pinned(lines []udiff.Line) bool {
	for i, l := range lines {
		switch l.Op {
		case udiff.Delete:
			return true
		case udiff.Context:
			return i == 0
		}
	}
	return len(lines) == 0
}

// enough is the weight of the lines that have to agree: short lines say little.
const enough = 40

// weight is the number of characters in the old lines but for line skip, of each 20 at most.
func weight(lines []udiff.Line, skip int) (n int) {
	for i, l := range lines {
		if l.Op != udiff.Insert && i != skip {
			n += min(20, len(squeeze(nil, l.Text)))
		}
	}
	return n
}

// similar reports whether two lines share at least half of their pairs of
// neighbouring bytes.
func similar(a, b []byte) bool {
	a, b = squeeze(nil, a), squeeze(nil, b)
	if len(a) < 2 || len(b) < 2 {
		return false
	}
	pairs := make(map[[2]byte]int)
	for i := range len(a) - 1 {
		pairs[[2]byte(a[i:i+2])]++
	}
	shared := 0
	for i := range len(b) - 1 {
		if k := [2]byte(b[i : i+2]); pairs[k] > 0 {
			pairs[k]--
			shared++
		}
	}
	return 4*shared >= len(a)+len(b)-2 && !bytes.Equal(a, b)
}
