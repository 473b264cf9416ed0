package place

import (
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// maxCommon is the most occurrences of a line in a file with which it says anything about a place.
const maxCommon = 64

// explainMiss says why h has no place in f.
func (f *File) explainMiss(h Hunk) *Miss {
	lines := h.Readings[0].Lines
	if f.isMade(lines) {
		return &Miss{Reason: Already}
	}
	x := f.levelIndex(Blanks)
	p, _ := x.numberLines(Blanks, lines)
	at, ok := likeliestStart(x, p, h.Start)
	if !ok {
		return &Miss{Reason: NotFound}
	}
	return f.missAt(lines, at)
}

// isMade reports whether the result of the hunk is already somewhere in f.
func (f *File) isMade(lines []udiff.Line) bool {
	after := make([]udiff.Line, 0, len(lines))
	telling := false
	for _, l := range lines {
		if l.Op == udiff.Delete {
			continue
		}
		telling = telling || l.Op == udiff.Insert && len(squeezeBlanks(nil, l.Text)) > 0
		after = append(after, udiff.Line{Op: udiff.Context, Text: l.Text})
	}
	return telling && len(f.findPlaces(Blanks, after)) > 0
}

// likeliestStart returns the index at which most of the old lines agree. Lines that are common in the file
// do not count. Of several such indices it returns the nearest to start.
func likeliestStart(x *index, p []int32, start int) (int, bool) {
	votes := make(map[int]int)
	for i, n := range p {
		if n == unknown || len(x.where[n]) > maxCommon {
			continue
		}
		for _, at := range x.where[n] {
			votes[int(at)-i]++
		}
	}
	best, found := 0, false
	for at, n := range votes {
		switch {
		case !found, n > votes[best]:
		case n < votes[best], !isNearer(at, best, start):
			continue
		}
		best, found = at, true
	}
	return best, found
}

// isNearer reports whether a is nearer to start than b. If both are equally near, the smaller one is.
func isNearer(a, b, start int) bool {
	da, db := distance(a, start), distance(b, start)
	return da < db || da == db && a < b
}

// missAt returns the miss of a hunk at index at, with the first line that differs.
func (f *File) missAt(lines []udiff.Line, at int) *Miss {
	m := &Miss{Reason: NotFound, At: at}
	for _, l := range lines {
		if l.Op == udiff.Insert {
			continue
		}
		m.Want = &l
		if m.At < 0 || m.At >= len(f.Lines) || !sameAt(Blanks, l.Text, f.Lines[m.At]) || l.NoEOL && m.At != len(f.Lines)-1 {
			if l.Op == udiff.Delete {
				m.Reason = DeletedDiffers
			}
			return m
		}
		m.At++
		m.Agree++
	}
	return m
}
