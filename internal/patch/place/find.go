package place

import (
	"slices"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// maxWork is the most lines that the search in one file may compare. A file of 100,000 lines with 1,000
// hunks stays far below it unless both repeat themselves.
const maxWork = 100_000_000

// maxPlaces bounds the places of one hunk. A hunk with more places fits everywhere.
const maxPlaces = 1000

// isSpent reports whether the search has compared more lines than maxWork.
func (f *File) isSpent() bool { return f.work > maxWork }

// findPlaces returns the places of the old lines of a hunk at level l, in order.
func (f *File) findPlaces(l Level, lines []udiff.Line) []int {
	if f.isSpent() {
		return nil
	}
	x := f.levelIndex(l)
	p, ok := x.numberLines(l, lines)
	if !ok {
		return nil
	}
	places := f.searchPattern(x, p)
	if l == Punctuation {
		places = slices.DeleteFunc(places, func(at int) bool { return !f.deletesMatch(lines, at) })
	}
	return slices.DeleteFunc(places, func(at int) bool { return !f.endsWhereSaid(lines, at) })
}

// searchPattern returns the places of pattern p. It starts from the rarest line of p if that is rare, else
// it makes one pass over the file. The cost stays within the number of lines of the file and the hunk.
func (f *File) searchPattern(x *index, p []int32) []int {
	rare := 0
	for i, n := range p {
		if len(x.where[n]) < len(x.where[p[rare]]) {
			rare = i
		}
	}
	seeds := x.where[p[rare]]
	if len(seeds)*len(p) > 4*(len(x.lines)+len(p)) {
		f.work += len(x.lines) + len(p)
		return searchOnce(x.lines, p)
	}
	f.work += len(seeds) * len(p)
	var places []int
	for _, s := range seeds {
		at := int(s) - rare
		if at >= 0 && at+len(p) <= len(x.lines) && slices.Equal(x.lines[at:at+len(p)], p) {
			places = append(places, at)
		}
		if len(places) > maxPlaces {
			break
		}
	}
	return places
}

// searchOnce is the search of Knuth, Morris and Pratt.
func searchOnce(text, p []int32) (places []int) {
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
		if places = append(places, i+1-k); len(places) > maxPlaces {
			break
		}
	}
	return places
}

// deletesMatch reports whether the deleted lines of a hunk at index at are the file's, except for blanks.
func (f *File) deletesMatch(lines []udiff.Line, at int) bool {
	for _, l := range lines {
		if l.Op == udiff.Insert {
			continue
		}
		if l.Op == udiff.Delete && !sameAt(Blanks, l.Text, f.Lines[at]) {
			return false
		}
		at++
	}
	return true
}

// endsWhereSaid reports whether an old line that is marked as having no line feed is the last one of the
// file.
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

// sameAt reports whether lines a and b are alike at level l.
func sameAt(l Level, a, b []byte) bool {
	return string(l.appendKey(nil, a)) == string(l.appendKey(nil, b))
}

// hasAnyOf reports whether f has one of lines, except for blanks. It ignores added and blank lines.
func (f *File) hasAnyOf(lines []udiff.Line) bool {
	for _, l := range lines {
		key := squeezeBlanks(nil, l.Text)
		if _, ok := f.levelIndex(Blanks).numbers[string(key)]; ok && len(key) > 0 && l.Op != udiff.Insert {
			return true
		}
	}
	return false
}

// isAlreadyMade reports whether a hunk that only adds lines finds them added.
func (f *File) isAlreadyMade(s spot) bool {
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
	return adds > 0 && (f.liesAt(s.level, made, at) || f.liesAt(s.level, made, at-adds) && lead == 0)
}

// hasOldLinesAt reports whether the old lines among lines are at index at.
func (f *File) hasOldLinesAt(l Level, lines []udiff.Line, at int) bool {
	only := slices.DeleteFunc(slices.Clone(lines), func(l udiff.Line) bool { return l.Op == udiff.Insert })
	return f.liesAt(l, only, at) && f.deletesMatch(only, at) && f.endsWhereSaid(only, at)
}

// liesAt reports whether lines, which are all old ones, are at index at.
func (f *File) liesAt(l Level, lines []udiff.Line, at int) bool {
	if at < 0 || at+len(lines) > len(f.Lines) {
		return false
	}
	for i, line := range lines {
		if !sameAt(min(l, Punctuation), line.Text, f.Lines[at+i]) {
			return false
		}
	}
	return true
}
