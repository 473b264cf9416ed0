// Package place finds where the hunks of a diff belong in a file. It believes numbers only if the text
// agrees. It searches the whole file for a hunk at one level of likeness after the other. It refuses a
// hunk that fits in several places that cannot be told apart.
package place

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// Level is a degree of likeness between a hunk and the file.
type Level int

// The levels, strictest first. Deleted lines are compared at Blanks at most,
// whatever the level.
const (
	Exact       Level = iota // every byte
	LineEnds                 // but for carriage returns
	Trailing                 // but for blanks at the end of a line
	Blanks                   // but for blanks at either end and the length of blanks between
	Punctuation              // but for typographic punctuation in context lines
	Altered                  // but for one context line
)

// Hunk is a hunk to be placed.
type Hunk struct {
	Heading  []byte // a line of the file above the hunk, or its beginning; empty when the header has none
	Start    int    // index of its first old line according to its header; -1 when the header has none
	Counted  bool   // the counts of its header are right
	Readings []udiff.Reading
}

// Match is the place of a hunk.
type Match struct {
	At      int // index of its first old line
	Level   Level
	Reading int // which of the readings fits

	// Lines are the lines of that reading. At level Altered one of them is changed
	// to fit the file.
	Lines []udiff.Line
}

// End returns the index after the last old line.
func (m Match) End() int { return m.At + countOld(m.Lines) }

// countOld returns the number of old lines: those that are not added.
func countOld(lines []udiff.Line) (n int) {
	for _, l := range lines {
		if l.Op != udiff.Insert {
			n++
		}
	}
	return n
}

// Reason says why a hunk has no place.
type Reason int

// The reasons why a hunk has no place.
const (
	NotFound       Reason = iota // nothing in the file is like it
	DeletedDiffers               // a line it deletes reads otherwise in the file
	Several                      // it fits in several places
	Already                      // the file has its result already
	Unanchored                   // it only adds lines and shows no line of the file
	Exhausted                    // the file repeats itself so much that the search stopped
)

// Miss says that hunk number Hunk, from 0, has no place.
type Miss struct {
	Hunk   int
	Reason Reason
	Places []int // Several: the indices where it fits, the first few

	// NotFound and DeletedDiffers: the old line that differs first, its index in the file, and
	// how many old lines before it agree. Want is nil when nothing agrees.
	Want  *udiff.Line
	At    int
	Agree int
}

// spot holds the possible places of one hunk.
type spot struct {
	level   Level
	reading int
	lines   []udiff.Line
	at      []int
}

// PlaceHunks finds the place of every hunk in f, in the order of hunks.
func (f *File) PlaceHunks(hunks []Hunk) ([]Match, *Miss) {
	spots := make([]spot, len(hunks))
	for i, h := range hunks {
		s, miss := f.findSpot(h)
		if miss != nil {
			miss.Hunk = i
			return nil, miss
		}
		spots[i] = s
	}
	return f.chooseSpots(hunks, spots)
}

// findSpot finds the places of one hunk at the strictest level that has any.
func (f *File) findSpot(h Hunk) (spot, *Miss) {
	var found []spot
	for i, r := range h.Readings {
		if len(found) > 0 && !r.Rival || f.hasAnyOf(r.Prose) {
			continue
		}
		s := spot{reading: i, lines: r.MarkBlanks()}
		if countOld(s.lines) == 0 || f.climbLevels(h, &s) {
			found = append(found, s)
		}
	}
	switch {
	case f.isSpent():
		return spot{}, &Miss{Reason: Exhausted}
	case len(found) > 1:
		return spot{}, &Miss{Reason: Several, Places: found[0].at[:min(len(found[0].at), shownPlaces)]}
	case len(found) == 1:
		return found[0], nil
	}
	if s, ok := f.findAltered(h); ok {
		return s, nil
	}
	return spot{}, f.explainMiss(h)
}

// climbLevels looks for the lines of s, level by level. It reports whether they have a place.
func (f *File) climbLevels(h Hunk, s *spot) bool {
	if h.Start >= 0 && f.agreesAt(s.lines, h.Start) {
		s.at = []int{h.Start}
		if !h.claimsEnd(s.lines) || s.at[0]+countOld(s.lines) == len(f.Lines) {
			return true
		}
	}
	for s.level = Exact; s.level <= Punctuation; s.level++ {
		s.at = f.findPlaces(s.level, s.lines)
		if len(s.at) > maxPlaces && h.Start >= 0 && !h.claimsEnd(s.lines) && f.hasOldLinesAt(s.level, s.lines, h.Start) {
			s.at = []int{h.Start}
		}
		if len(s.at) > 0 {
			return true
		}
	}
	return false
}

// claimsEnd reports whether the form of h says that it ends with the file: full context before the change
// and none after it, as programs write hunks.
func (h Hunk) claimsEnd(lines []udiff.Line) bool {
	n := len(lines)
	return h.Counted && n > 3 && lines[n-1].Op != udiff.Context &&
		lines[0].Op == udiff.Context && lines[1].Op == udiff.Context && lines[2].Op == udiff.Context
}

// littleWeight is the weight of old lines that say little about a place, such as a brace and a blank line.
const littleWeight = 8

// isDoubtful reports whether only lines that say little support the one place of a hunk: the numbers of
// its header contradict the place, and its counts are wrong.
func (h Hunk) isDoubtful(s spot) bool {
	return h.Start >= 0 && h.Start != s.at[0] && !h.Counted && weighLines(s.lines, -1) < littleWeight
}

const shownPlaces = 8 // most places named in a refusal

// chooseSpots chooses one place for every hunk.
func (f *File) chooseSpots(hunks []Hunk, spots []spot) ([]Match, *Miss) {
	for i, s := range spots {
		if len(s.at) > maxPlaces {
			return nil, &Miss{Hunk: i, Reason: Several, Places: s.at[:shownPlaces]}
		}
	}
	for i := range spots {
		f.narrowByHeading(hunks[i], &spots[i])
		f.narrowByLine(hunks, spots, i)
	}
	narrowByOrder(hunks, spots)
	anchored := hasAnchor(hunks, spots)
	matches := make([]Match, len(spots))
	for i, s := range spots {
		switch {
		case countOld(s.lines) == 0:
			at, ok := f.placeUnanchored(hunks[i], anchored)
			if !ok {
				return nil, &Miss{Hunk: i, Reason: Unanchored}
			}
			s.at = []int{at}
		case len(s.at) > 1:
			return nil, &Miss{Hunk: i, Reason: Several, Places: s.at[:min(len(s.at), shownPlaces)]}
		case hunks[i].isDoubtful(s):
			return nil, &Miss{Hunk: i, Reason: Several, Places: s.at}
		case f.isAlreadyMade(s):
			return nil, &Miss{Hunk: i, Reason: Already, At: s.at[0]}
		}
		matches[i] = Match{At: s.at[0], Level: s.level, Reading: s.reading, Lines: s.lines}
	}
	return matches, nil
}

// narrowByHeading chooses, of places that agree in every byte, the only one that is under the heading of the hunk.
func (f *File) narrowByHeading(h Hunk, s *spot) {
	if len(s.at) < 2 || s.level != Exact || len(h.Heading) == 0 || weighLines(s.lines, -1) < littleWeight {
		return
	}
	under := slices.DeleteFunc(slices.Clone(s.at), func(at int) bool { return !f.isUnder(h.Heading, at) })
	if len(under) == 1 {
		s.at = under
	}
}

// isUnder reports whether the nearest line above index at that begins as heading does is the heading of that place: no
// line between is indented as little as it is.
func (f *File) isUnder(heading []byte, at int) bool {
	least := int(^uint(0) >> 1) // the least indentation of the lines between
	for i := at - 1; i >= 0; i-- {
		text := bytes.TrimLeft(f.Lines[i], " \t")
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		indent := len(f.Lines[i]) - len(text)
		if bytes.HasPrefix(text, heading) {
			return least > indent || !f.hasOther(heading, i, at, indent)
		}
		least = min(least, indent)
	}
	return false
}

// hasOther reports whether a line between index i and index at, indented by indent or less, could be a heading of the
// kind of that on line i: it begins with the same word.
func (f *File) hasOther(heading []byte, i, at, indent int) bool {
	word, _, _ := bytes.Cut(heading, []byte(" "))
	for _, line := range f.Lines[i+1 : at] {
		text := bytes.TrimLeft(line, " \t")
		if len(line)-len(text) <= indent && bytes.HasPrefix(text, word) {
			return true
		}
	}
	return false
}

// narrowByLine chooses by the stated line: the place at that line, else one within three lines of it if
// every other place is four times as far.
func (f *File) narrowByLine(hunks []Hunk, spots []spot, i int) {
	s, h := &spots[i], hunks[i]
	if len(s.at) < 2 || h.Start < 0 || h.claimsEnd(s.lines) {
		return
	}
	near := slices.SortedFunc(slices.Values(s.at), func(a, b int) int {
		return cmp.Compare(distance(a, h.Start), distance(b, h.Start))
	})
	first, second := distance(near[0], h.Start), distance(near[1], h.Start)
	if first == 0 || first <= 3 && second >= 4*first {
		s.at = near[:1]
	}
}

// distance returns the number of lines between a and b.
func distance(a, b int) int { return max(a-b, b-a) }

// narrowByOrder narrows hunks with several places by the order of the hunks, if the order leaves one place
// for each. The earliest assignment is then the latest too.
func narrowByOrder(hunks []Hunk, spots []spot) {
	order := make([]int, 0, len(spots))
	for i, s := range spots {
		if countOld(s.lines) > 0 {
			order = append(order, i)
		}
	}
	if stated := func(i int) bool { return hunks[i].Start >= 0 }; allHunks(order, stated) {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(hunks[a].Start, hunks[b].Start) })
	}
	early, ok := earliestPlaces(spots, order)
	if !ok {
		return
	}
	late, ok := latestPlaces(spots, order)
	if !ok {
		return
	}
	for k, i := range order {
		if early[k] == late[k] {
			spots[i].at = []int{early[k]}
		}
	}
}

// allHunks reports whether is holds for every hunk in order.
func allHunks(order []int, is func(int) bool) bool {
	return !slices.ContainsFunc(order, func(i int) bool { return !is(i) })
}

// earliestPlaces returns the earliest place of each hunk, in order and without overlap.
func earliestPlaces(spots []spot, order []int) ([]int, bool) {
	out := make([]int, len(order))
	free := 0
	for k, i := range order {
		at, _ := slices.BinarySearch(spots[i].at, free)
		if at == len(spots[i].at) {
			return nil, false
		}
		out[k] = spots[i].at[at]
		free = out[k] + countOld(spots[i].lines)
	}
	return out, true
}

// latestPlaces returns the latest place of each hunk, in order and without overlap.
func latestPlaces(spots []spot, order []int) ([]int, bool) {
	out := make([]int, len(order))
	bound := int(^uint(0) >> 1)
	for k := len(order) - 1; k >= 0; k-- {
		s := spots[order[k]]
		at, _ := slices.BinarySearch(s.at, bound-countOld(s.lines)+1)
		if at == 0 {
			return nil, false
		}
		out[k] = s.at[at-1]
		bound = out[k]
	}
	return out, true
}

// hasAnchor reports whether a hunk is exactly where its header says.
func hasAnchor(hunks []Hunk, spots []spot) bool {
	for i, s := range spots {
		if s.level == Exact && len(s.at) == 1 && s.at[0] == hunks[i].Start && countOld(s.lines) > 0 {
			return true
		}
	}
	return false
}

// placeUnanchored places a hunk that only adds lines. It believes the hunk's number if the counts are
// right and another hunk of the file, the anchor, is exactly where its header says. In an empty file
// there is only one place.
func (f *File) placeUnanchored(h Hunk, anchored bool) (int, bool) {
	if len(f.Lines) == 0 {
		return 0, true
	}
	return h.Start, anchored && h.Counted && h.Start >= 0 && h.Start <= len(f.Lines)
}

// PlaceTrusted places hunks at the lines that their headers give, if every old line is there byte by byte.
// It is for a diff whose base is known to be f, where the place needs no other proof.
func (f *File) PlaceTrusted(hunks []Hunk) ([]Match, bool) {
	matches := make([]Match, len(hunks))
	for i, h := range hunks {
		if !h.Counted || h.Start < 0 || h.Readings[0].Note != "" || !f.agreesAt(h.Readings[0].Lines, h.Start) {
			return nil, false
		}
		matches[i] = Match{At: h.Start, Lines: h.Readings[0].Lines}
	}
	return matches, true
}

// FirstDifference returns the index of the first line of f that differs from the line of lines at the same
// index, except for blanks at the ends, or -1 if there is none.
func (f *File) FirstDifference(lines []udiff.Line) int {
	for i := range max(len(lines), len(f.Lines)) {
		if i >= len(lines) || i >= len(f.Lines) || !sameAt(Blanks, lines[i].Text, f.Lines[i]) {
			return i
		}
	}
	return -1
}
