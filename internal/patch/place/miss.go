package place

import (
	"github.com/ratchet-dev/ratchet/internal/patch/udiff"
)

// common is how often a line may occur in a file to say anything about a place.
const common = 64

// diverge says why h has no place in f.
func (f *File) diverge(h Hunk) *Miss {
	lines := h.Readings[0].Lines
	if f.made(lines) {
		return &Miss{Reason: Already}
	}
	x := f.index(Blanks)
	p, _ := x.pattern(Blanks, lines)
	at, ok := likeliest(x, p, h.Start)
	if !ok {
		return &Miss{Reason: NotFound}
	}
	return f.firstDifference(lines, at)
}

// made reports whether what the hunk would make is already in f, somewhere.
func (f *File) made(lines []udiff.Line) bool {
	after := make([]udiff.Line, 0, len(lines))
	telling := false
	for _, l := range lines {
		if l.Op == udiff.Delete {
			continue
		}
		telling = telling || l.Op == udiff.Insert && len(squeeze(nil, l.Text)) > 0
		after = append(after, udiff.Line{Op: udiff.Context, Text: l.Text})
	}
	return telling && len(f.find(Blanks, after)) > 0
}

// likeliest is the index at which most of the old lines would lie; lines that are
// common in the file do not count. Of equal ones it is the one nearest to start.
func likeliest(x *index, p []int32, start int) (int, bool) {
	votes := make(map[int]int)
	for i, n := range p {
		if n == unknown || len(x.where[n]) > common {
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
		case n < votes[best], !nearer(at, best, start):
			continue
		}
		best, found = at, true
	}
	return best, found
}

func nearer(a, b, start int) bool {
	da, db := distance(a, start), distance(b, start)
	return da < db || da == db && a < b
}

func (f *File) firstDifference(lines []udiff.Line, at int) *Miss {
	m := &Miss{Reason: NotFound, At: at}
	for _, l := range lines {
		if l.Op == udiff.Insert {
			continue
		}
		m.Want = &l
		if m.At < 0 || m.At >= len(f.Lines) || !same(Blanks, l.Text, f.Lines[m.At]) || l.NoEOL && m.At != len(f.Lines)-1 {
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
