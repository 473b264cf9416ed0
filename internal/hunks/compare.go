package hunks

import (
	"errors"
	"maps"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// ErrOtherBase reports two patches that do not begin with the same files.
var ErrOtherBase = errors.New("the patches begin with other files")

// Compare compares the files after the patch later with the files after the patch earlier. Both patches apply to the same
// commit. Equal files are left out. Old is the number of a line after earlier, New its number after later. The error is
// ErrOtherBase.
func Compare(earlier, later []File) ([]File, error) {
	var out []File
	for _, name := range namesOf(earlier, later) {
		was, is := findFile(earlier, name), findFile(later, name)
		f, err := compareFile(name, was, is)
		if err != nil {
			return nil, err
		}
		if len(f.Hunks) > 0 || was.Change != is.Change || was.Mode != is.Mode || was.From != is.From || was.Binary || is.Binary {
			out = append(out, f)
		}
	}
	return out, nil
}

// namesOf returns the names of all files. The files of later come first.
func namesOf(earlier, later []File) (names []string) {
	for _, f := range slices.Concat(later, earlier) {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// findFile returns the file of the name. A file that is not there is one that the patch leaves as it is.
func findFile(files []File, name string) File {
	if i := slices.IndexFunc(files, func(f File) bool { return f.Name == name }); i >= 0 {
		return files[i]
	}
	return File{Name: name}
}

// maxCompared bounds the lines of a file that are compared.
const maxCompared = 50_000

func compareFile(name string, was, is File) (File, error) {
	out := File{Name: name, Change: Modified, Binary: was.Binary || is.Binary, Mode: is.Mode}
	switch {
	case was.Change == "":
		out.Change = is.Change
	case is.Change == "":
		out.Change = Dropped
	case was.From != is.From:
		out.Change, out.From = is.Change, is.From
	}
	known := map[int]Line{}
	for _, h := range slices.Concat(was.Hunks, is.Hunks) {
		for _, l := range h.Lines {
			if l.Old == 0 {
				continue
			}
			if other, ok := known[l.Old]; ok && other.Text != l.Text {
				return out, ErrOtherBase
			}
			known[l.Old] = Line{Text: l.Text, NoEOL: l.NoEOL}
		}
	}
	a, b := newSide(was), newSide(is)
	numbers := slices.Sorted(maps.Keys(known))
	if len(numbers)+was.Added+is.Added > maxCompared {
		return out, errors.New("the patches are too large to compare")
	}
	for _, stretch := range neighbourRanges(numbers, a, b) {
		left, right := a.stretchLines(stretch, known), b.stretchLines(stretch, known)
		for _, h := range compareLines(left, right) {
			out.countLines(h)
			out.Hunks = append(out.Hunks, h)
		}
	}
	return out, nil
}

// side is what a patch does to the lines of a file, by their numbers before it.
type side struct {
	gone     map[int]bool
	inserted map[int][]Line // before the line of that number
	shift    int            // of the numbers, up to where lines was called last
}

func newSide(f File) *side {
	s := &side{gone: map[int]bool{}, inserted: map[int][]Line{}}
	for _, h := range f.Hunks {
		next := 0
		for i, l := range h.Lines {
			if l.Old > 0 {
				next = l.Old + 1
				s.gone[l.Old] = l.Op == udiff.Delete
				continue
			}
			if next == 0 {
				next = positionOf(h.Lines[i:], l)
			}
			s.inserted[next] = append(s.inserted[next], l)
		}
	}
	return s
}

// positionOf returns the number of the line before which the first inserted line of a hunk stands.
func positionOf(rest []Line, first Line) int {
	for _, l := range rest {
		if l.Old > 0 {
			return l.Old
		}
	}
	return first.New // a hunk of nothing but insertions: of an added file
}

// neighbourRanges returns the ranges [from, to) of neighbouring numbers, and of the places of insertions.
func neighbourRanges(numbers []int, sides ...*side) (list [][2]int) {
	for _, s := range sides {
		numbers = slices.AppendSeq(numbers, maps.Keys(s.inserted))
	}
	slices.Sort(numbers)
	for _, n := range slices.Compact(numbers) {
		if last := len(list) - 1; last >= 0 && list[last][1] == n {
			list[last][1]++
			continue
		}
		list = append(list, [2]int{n, n + 1})
	}
	return list
}

// stretchLines returns the lines that the patch leaves in a stretch, with their numbers after it in New.
func (s *side) stretchLines(stretch [2]int, known map[int]Line) (out []Line) {
	for n := stretch[0]; n < stretch[1]; n++ {
		for _, l := range s.inserted[n] {
			out = append(out, Line{New: n + s.shift, Text: l.Text, NoEOL: l.NoEOL})
			s.shift++
		}
		kept, ok := known[n]
		switch {
		case !ok:
		case s.gone[n]:
			s.shift--
		default:
			out = append(out, Line{New: n + s.shift, Text: kept.Text, NoEOL: kept.NoEOL})
		}
	}
	return out
}

// around is the number of equal lines that are shown before and after a difference.
const around = 3

func compareLines(left, right []Line) (list []Hunk) {
	edits := udiff.Edits(bytesOf(left), bytesOf(right))
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].A-edits[n-1].AEnd <= 2*around {
			n++
		}
		list = append(list, hunkOf(left, right, edits[:n]))
		edits = edits[n:]
	}
	return list
}

func hunkOf(left, right []Line, edits []udiff.Edit) (h Hunk) {
	equal := func(from, to, b int) {
		for i := from; i < to; i++ {
			h.Lines = append(h.Lines, Line{Op: udiff.Context, Old: left[i].New, New: right[b-(to-i)].New, Text: left[i].Text, NoEOL: left[i].NoEOL})
		}
	}
	from := max(0, edits[0].A-around)
	for _, e := range edits {
		equal(from, e.A, e.B)
		for _, l := range left[e.A:e.AEnd] {
			h.Lines = append(h.Lines, Line{Op: udiff.Delete, Old: l.New, Text: l.Text, NoEOL: l.NoEOL})
		}
		for _, l := range right[e.B:e.BEnd] {
			h.Lines = append(h.Lines, Line{Op: udiff.Insert, New: l.New, Text: l.Text, NoEOL: l.NoEOL})
		}
		from = e.AEnd
	}
	last := edits[len(edits)-1]
	end := min(len(left), last.AEnd+around)
	equal(last.AEnd, end, last.BEnd+end-last.AEnd)
	return h
}

// bytesOf returns the lines with their line feeds: lines are not equal if one of them has none.
func bytesOf(lines []Line) [][]byte {
	out := make([][]byte, len(lines))
	for i, l := range lines {
		if out[i] = []byte(l.Text); !l.NoEOL {
			out[i] = append(out[i], '\n')
		}
	}
	return out
}
