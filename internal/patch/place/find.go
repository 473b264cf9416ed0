package place

import (
	"slices"

	"github.com/ratchet-dev/ratchet/internal/patch/udiff"
)

// maxWork is how many lines one file's search may compare. A file of 100,000
// lines with 1,000 hunks stays far below it unless both repeat themselves.
const maxWork = 100_000_000

// most bounds the places of one hunk: where there are more, it fits everywhere.
const most = 1000

func (f *File) spent() bool { return f.work > maxWork }

// find gives the places of the old lines of a hunk at level l, in order.
func (f *File) find(l Level, lines []udiff.Line) []int {
	if f.spent() {
		return nil
	}
	x := f.index(l)
	p, ok := x.pattern(l, lines)
	if !ok {
		return nil
	}
	places := f.search(x, p)
	if l == Punctuation {
		places = slices.DeleteFunc(places, func(at int) bool { return !f.deletes(lines, at) })
	}
	return slices.DeleteFunc(places, func(at int) bool { return !f.endsWhereSaid(lines, at) })
}

// search gives the places of pattern p: from its rarest line when that is rare,
// else in one pass over the file, so that the cost stays within lines of the file plus lines of the hunk.
func (f *File) search(x *index, p []int32) []int {
	rare := 0
	for i, n := range p {
		if len(x.where[n]) < len(x.where[p[rare]]) {
			rare = i
		}
	}
	seeds := x.where[p[rare]]
	if len(seeds)*len(p) > 4*(len(x.lines)+len(p)) {
		f.work += len(x.lines) + len(p)
		return pass(x.lines, p)
	}
	f.work += len(seeds) * len(p)
	var places []int
	for _, s := range seeds {
		at := int(s) - rare
		if at >= 0 && at+len(p) <= len(x.lines) && slices.Equal(x.lines[at:at+len(p)], p) {
			places = append(places, at)
		}
		if len(places) > most {
			break
		}
	}
	return places
}

// pass is the search of Knuth, Morris and Pratt.
func pass(text, p []int32) (places []int) {
	border := make([]int, len(p)+1)
	border[0] = -1
	for i, k := 0, -1; i < len(p); {
		for k >= 0 && p[i] != p[k] {
			k = border[k]
		}
		i, k = i+1, k+1
		border[i] = k
	}
	k := 0
	for i, n := range text {
		for k >= 0 && (k == len(p) || n != p[k]) {
			k = border[k]
		}
		k++
		if k < len(p) {
			continue
		}
		if places = append(places, i+1-k); len(places) > most {
			break
		}
	}
	return places
}

// deletes reports whether the deleted lines of a hunk at index at are the file's,
// blanks aside.
func (f *File) deletes(lines []udiff.Line, at int) bool {
	for _, l := range lines {
		if l.Op == udiff.Insert {
			continue
		}
		if l.Op == udiff.Delete && !same(Blanks, l.Text, f.Lines[at]) {
			return false
		}
		at++
	}
	return true
}

// endsWhereSaid reports whether an old line that is said to have no line feed is
// the last one of the file.
func (f *File) endsWhereSaid(lines []udiff.Line, at int) bool {
	for _, l := range lines {
		if l.Op == udiff.Insert {
			continue
		}
		if l.NoEOL && at != len(f.Lines)-1 {
			return false
		}
		at++
	}
	return true
}

func same(l Level, a, b []byte) bool {
	return string(l.key(nil, a)) == string(l.key(nil, b))
}

// has reports whether f has one of lines, added and blank ones and blanks aside.
func (f *File) has(lines []udiff.Line) bool {
	for _, l := range lines {
		key := squeeze(nil, l.Text)
		if _, ok := f.index(Blanks).numbers[string(key)]; ok && len(key) > 0 && l.Op != udiff.Insert {
			return true
		}
	}
	return false
}

// already reports whether a hunk that only adds lines finds them added.
func (f *File) already(s spot) bool {
	lead, adds := 0, 0
	made := make([]udiff.Line, 0, len(s.lines))
	for _, l := range s.lines {
		switch {
		case l.Op == udiff.Delete:
			return false
		case l.Op == udiff.Insert:
			adds++
		case adds == 0:
			lead++
		}
		made = append(made, udiff.Line{Op: udiff.Context, Text: l.Text})
	}
	at := s.at[0]
	return adds > 0 && (f.lies(s.level, made, at) || f.lies(s.level, made, at-adds) && lead == 0)
}

// old reports whether the old lines among lines are at index at.
func (f *File) old(l Level, lines []udiff.Line, at int) bool {
	only := slices.DeleteFunc(slices.Clone(lines), func(l udiff.Line) bool { return l.Op == udiff.Insert })
	return f.lies(l, only, at) && f.deletes(only, at) && f.endsWhereSaid(only, at)
}

// lies reports whether lines, which are all old ones, are at index at.
func (f *File) lies(l Level, lines []udiff.Line, at int) bool {
	if at < 0 || at+len(lines) > len(f.Lines) {
		return false
	}
	for i, line := range lines {
		if !same(min(l, Punctuation), line.Text, f.Lines[at+i]) {
			return false
		}
	}
	return true
}
