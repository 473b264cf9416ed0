// Package place finds where the hunks of a diff belong in a file. Numbers are
// believed only when the text agrees. A hunk is looked for in the whole file at one
// level of likeness after the other; what fits in several places, and cannot be told
// apart, is refused.
package place

import (
	"cmp"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/patch/udiff"
)

// Level says how alike a hunk and the file are.
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
	Start    int  // index of its first old line in the file as its header says; -1 when it does not
	Counted  bool // the counts of its header are right
	Readings []udiff.Reading
}

// Match is where a hunk belongs.
type Match struct {
	At      int // index of its first old line
	Level   Level
	Reading int // which of the readings fits

	// Lines are the lines of that reading. At level Altered they are made
	// to fit the file.
	Lines []udiff.Line
}

// End is the index after the last old line.
func (m Match) End() int { return m.At + old(m.Lines) }

func old(lines []udiff.Line) (n int) {
	for _, l := range lines {
		if l.Op != udiff.Insert {
			n++
		}
	}
	return n
}

// Reason says why a hunk has no place.
type Reason int

// Why a hunk has no place.
const (
	NotFound       Reason = iota // nothing in the file is like it
	DeletedDiffers               // a line it deletes reads otherwise in the file
	Several                      // it fits in several places
	Already                      // what it would make is there
	Unanchored                   // it only adds lines and names none of the file's
	Exhausted                    // the file repeats itself so much that the search was given up
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

// spot is where one hunk could be.
type spot struct {
	level   Level
	reading int
	lines   []udiff.Line
	at      []int
}

// Place finds the place of every hunk in f, in the order of hunks.
func (f *File) Place(hunks []Hunk) ([]Match, *Miss) {
	spots := make([]spot, len(hunks))
	for i, h := range hunks {
		s, miss := f.look(h)
		if miss != nil {
			miss.Hunk = i
			return nil, miss
		}
		spots[i] = s
	}
	return f.settle(hunks, spots)
}

// look finds the places of one hunk at the strictest level that has any.
func (f *File) look(h Hunk) (spot, *Miss) {
	var found []spot
	for i, r := range h.Readings {
		if len(found) > 0 && !r.Rival || f.has(r.Prose) {
			continue
		}
		if old(r.Lines) == 0 {
			found = append(found, spot{reading: i, lines: r.Lines})
			continue
		}
		if s, ok := f.climb(h, i); ok {
			found = append(found, s)
		}
	}
	switch {
	case f.spent():
		return spot{}, &Miss{Reason: Exhausted}
	case len(found) > 1:
		return spot{}, &Miss{Reason: Several, Places: found[0].at[:min(len(found[0].at), shown)]}
	case len(found) == 1:
		return found[0], nil
	}
	if s, ok := f.altered(h); ok {
		return s, nil
	}
	return spot{}, f.diverge(h)
}

// climb looks for reading number i of h, level by level.
func (f *File) climb(h Hunk, i int) (spot, bool) {
	lines := h.Readings[i].Lines
	s := spot{reading: i, lines: lines}
	if h.Start >= 0 && f.agrees(lines, h.Start) {
		s.at = []int{h.Start}
		if !h.claimsEnd(lines) || s.at[0]+old(lines) == len(f.Lines) {
			return s, true
		}
	}
	for s.level = Exact; s.level <= Punctuation; s.level++ {
		s.at = f.find(s.level, lines)
		if len(s.at) > most && h.Start >= 0 && !h.claimsEnd(lines) && f.old(s.level, lines, h.Start) {
			s.at = []int{h.Start}
		}
		if len(s.at) > 0 {
			return s, true
		}
	}
	return spot{}, false
}

// claimsEnd reports whether h, as programs write hunks, says that it ends with the
// file: full context before the change and none after it.
func (h Hunk) claimsEnd(lines []udiff.Line) bool {
	n := len(lines)
	return h.Counted && n > 3 && lines[n-1].Op != udiff.Context &&
		lines[0].Op == udiff.Context && lines[1].Op == udiff.Context && lines[2].Op == udiff.Context
}

// little is the weight of old lines that say little about a place, such as a brace
// and a blank line.
const little = 8

// doubtful reports whether nothing speaks for the one place of a hunk but lines that say
// little: the numbers of its header speak against it, and its counts are wrong.
func (h Hunk) doubtful(s spot) bool {
	return h.Start >= 0 && h.Start != s.at[0] && !h.Counted && weight(s.lines, -1) < little
}

const shown = 8 // places named in a refusal

// settle chooses one place for every hunk.
func (f *File) settle(hunks []Hunk, spots []spot) ([]Match, *Miss) {
	for i, s := range spots {
		if len(s.at) > most {
			return nil, &Miss{Hunk: i, Reason: Several, Places: s.at[:shown]}
		}
	}
	for i := range spots {
		f.narrow(hunks, spots, i)
	}
	inOrder(hunks, spots)
	matches := make([]Match, len(spots))
	for i, s := range spots {
		switch {
		case old(s.lines) == 0:
			at, ok := f.unanchored(hunks, spots, i)
			if !ok {
				return nil, &Miss{Hunk: i, Reason: Unanchored}
			}
			s.at = []int{at}
		case len(s.at) > 1:
			return nil, &Miss{Hunk: i, Reason: Several, Places: s.at[:min(len(s.at), shown)]}
		case hunks[i].doubtful(s):
			return nil, &Miss{Hunk: i, Reason: Several, Places: s.at}
		case f.already(s):
			return nil, &Miss{Hunk: i, Reason: Already, At: s.at[0]}
		}
		matches[i] = Match{At: s.at[0], Level: s.level, Reading: s.reading, Lines: s.lines}
	}
	return matches, nil
}

// narrow chooses by the stated line: the place at that line, else one within
// three lines of it when every other is four times as far.
func (f *File) narrow(hunks []Hunk, spots []spot, i int) {
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

func distance(a, b int) int { return max(a-b, b-a) }

// inOrder settles hunks with several places by the order of the hunks, when that
// leaves one place for each: the earliest assignment is then the latest too.
func inOrder(hunks []Hunk, spots []spot) {
	order := make([]int, 0, len(spots))
	for i, s := range spots {
		if old(s.lines) > 0 {
			order = append(order, i)
		}
	}
	if stated := func(i int) bool { return hunks[i].Start >= 0 }; all(order, stated) {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(hunks[a].Start, hunks[b].Start) })
	}
	early, ok := earliest(spots, order)
	if !ok {
		return
	}
	late, ok := latest(spots, order)
	if !ok {
		return
	}
	for k, i := range order {
		if early[k] == late[k] {
			spots[i].at = []int{early[k]}
		}
	}
}

func all(order []int, is func(int) bool) bool {
	return !slices.ContainsFunc(order, func(i int) bool { return !is(i) })
}

func earliest(spots []spot, order []int) ([]int, bool) {
	out := make([]int, len(order))
	free := 0
	for k, i := range order {
		at, _ := slices.BinarySearch(spots[i].at, free)
		if at == len(spots[i].at) {
			return nil, false
		}
		out[k] = spots[i].at[at]
		free = out[k] + old(spots[i].lines)
	}
	return out, true
}

func latest(spots []spot, order []int) ([]int, bool) {
	out := make([]int, len(order))
	bound := int(^uint(0) >> 1)
	for k := len(order) - 1; k >= 0; k-- {
		s := spots[order[k]]
		at, _ := slices.BinarySearch(s.at, bound-old(s.lines)+1)
		if at == 0 {
			return nil, false
		}
		out[k] = s.at[at-1]
		bound = out[k]
	}
	return out, true
}

// unanchored places a hunk that only adds lines. Its number is believed when
// the counts are right and another hunk of the file lies exactly where it says; in an empty
// file there is only one place.
func (f *File) unanchored(hunks []Hunk, spots []spot, i int) (int, bool) {
	if len(f.Lines) == 0 {
		return 0, true
	}
	h := hunks[i]
	if !h.Counted || h.Start < 0 || h.Start > len(f.Lines) {
		return 0, false
	}
	for k, s := range spots {
		if k != i && old(s.lines) > 0 && s.level == Exact && len(s.at) == 1 && s.at[0] == hunks[k].Start {
			return h.Start, true
		}
	}
	return 0, false
}

// Trust places hunks where their headers say, when every old line is there byte by
// byte. It is for a diff whose base is known to be f, where the place needs no other proof.
func (f *File) Trust(hunks []Hunk) ([]Match, bool) {
	matches := make([]Match, len(hunks))
	for i, h := range hunks {
		if !h.Counted || h.Start < 0 || h.Readings[0].Note != "" || !f.agrees(h.Readings[0].Lines, h.Start) {
			return nil, false
		}
		matches[i] = Match{At: h.Start, Lines: h.Readings[0].Lines}
	}
	return matches, true
}

// Differs gives the index of the first line of f that is not the next of lines,
// blanks at the ends aside; -1 when they are the same.
func (f *File) Differs(lines []udiff.Line) int {
	for i := range max(len(lines), len(f.Lines)) {
		if i >= len(lines) || i >= len(f.Lines) || !same(Blanks, lines[i].Text, f.Lines[i]) {
			return i
		}
	}
	return -1
}
