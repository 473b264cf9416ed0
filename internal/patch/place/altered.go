package place

import (
	"bytes"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// maxAltered is the most lines of a hunk of which one line may be altered.
const maxAltered = 2000

// findAltered looks for the one place where h fits except for one context line: the line differs a little,
// or only the hunk or only the file has it. Deleted lines have to agree, and the altered line must not be
// the only evidence for the place of added lines.
func (f *File) findAltered(h Hunk) (spot, bool) {
	lines := h.Readings[0].Lines
	x := f.levelIndex(Blanks)
	p, _ := x.numberLines(Blanks, lines)
	bare := func(l udiff.Line) bool { return l.Bare } // perhaps the rest of an added line
	if len(p) < 4 || len(lines) > maxAltered || slices.ContainsFunc(lines, bare) {
		return spot{}, false
	}
	var found spot
	changed := -1
	for _, start := range f.candidateStarts(x, p) {
		fixed, ok := f.fixContextLine(lines, start)
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

// candidateStarts returns the start indices to try. Of any two lines of the hunk one agrees with the file,
// so the two rarest lines yield all starts, allowing for the one line that may be extra or missing.
func (f *File) candidateStarts(x *index, p []int32) []int {
	var order []int
	for i, n := range p {
		if n != unknown && len(x.where[n]) <= maxCommon {
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

// firstChange returns the index of the first added or deleted line.
func firstChange(lines []udiff.Line) int {
	return slices.IndexFunc(lines, func(l udiff.Line) bool { return l.Op != udiff.Context })
}

// fixContextLine changes one context line of a hunk so that the hunk fits at index at.
func (f *File) fixContextLine(lines []udiff.Line, at int) ([]udiff.Line, bool) {
	i, stop := f.firstMisfit(lines, at)
	if i == len(lines) || !isCalm(lines, i) {
		return nil, false
	}
	if stop >= len(f.Lines) {
		return nil, false
	}
	kept := udiff.Line{Op: udiff.Context, Text: f.Lines[stop]}
	for _, fixed := range [][]udiff.Line{
		slices.Concat(lines[:i], []udiff.Line{kept}, lines[i+1:]), // the line differs
		slices.Concat(lines[:i], []udiff.Line{kept}, lines[i:]),   // the hunk left it out
		slices.Concat(lines[:i], lines[i+1:]),                     // the file lacks it
	} {
		replaced := len(fixed) == len(lines)
		if replaced && !areSimilar(lines[i].Text, kept.Text) {
			continue
		}
		if end, _ := f.firstMisfit(fixed, at); end == len(fixed) && weighLines(fixed, i) >= minWeight {
			return fixed, true
		}
	}
	return nil, false
}

// firstMisfit returns the index of the first hunk line that does not agree if the hunk is at index at, and
// the index in the file where this line would be.
func (f *File) firstMisfit(lines []udiff.Line, at int) (i, stop int) {
	for i, l := range lines {
		if l.Op == udiff.Insert {
			continue
		}
		level := Blanks
		if l.Op == udiff.Delete {
			level = Trailing
		}
		if at >= len(f.Lines) || !sameAt(level, l.Text, f.Lines[at]) || l.NoEOL && at != len(f.Lines)-1 {
			return i, at
		}
		at++
	}
	return len(lines), at
}

// isCalm reports whether line i is context, and the changes next to it delete lines that show their place.
func isCalm(lines []udiff.Line, i int) bool {
	if lines[i].Op != udiff.Context || lines[i].NoEOL {
		return false
	}
	back, ahead := slices.Clone(lines[:i]), lines[i+1:]
	slices.Reverse(back)
	return isPinned(back) && isPinned(ahead)
}

// isPinned reports whether lines begin with context, or with a change that deletes a line.
func isPinned(lines []udiff.Line) bool {
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

// minWeight is the least weight of the lines that have to agree. Short lines prove little.
const minWeight = 40

// weighLines returns the number of characters in the old lines except for line skip, at most 20 for each
// line.
func weighLines(lines []udiff.Line, skip int) (n int) {
	for i, l := range lines {
		if l.Op != udiff.Insert && i != skip {
			n += min(20, len(squeezeBlanks(nil, l.Text)))
		}
	}
	return n
}

// areSimilar reports whether two lines share at least half of their pairs of neighbouring bytes.
func areSimilar(a, b []byte) bool {
	a, b = squeezeBlanks(nil, a), squeezeBlanks(nil, b)
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
