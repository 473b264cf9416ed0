package udiff

import "slices"

// maxBlanks bounds the empty lines that are taken for added ones, and the ways of it.
const maxBlanks = 32

// lostBlanks takes empty lines next to changed ones for added lines that lost
// their +. The counts of the header have to come out right, and the file has to choose between
// the ways there are.
func (h *Hunk) lostBlanks(lines []Line) []Reading {
	old, new := counts(lines)
	over := old - h.Old.Lines
	if h.Old.Start == Unstated || over <= 0 || over > maxBlanks || new != h.New.Lines {
		return nil
	}
	runs := emptyRuns(lines)
	if len(runs) > maxBlanks {
		return nil
	}
	var readings []Reading
	for _, marks := range choices(runs, over) {
		marked := slices.Clone(lines)
		for _, i := range marks {
			marked[i] = Line{Op: Insert, Text: lines[i].Text}
		}
		readings = append(readings, Reading{Lines: marked, Note: NoteBlank, Rival: true})
	}
	return readings
}

func counts(lines []Line) (old, new int) {
	for _, l := range lines {
		if l.Op != Insert {
			old++
		}
		if l.Op != Delete {
			new++
		}
	}
	return old, new
}

// emptyRuns gives the runs of empty lines that touch a changed line, each in the
// order in which its lines would be taken: from the changed line on.
func emptyRuns(lines []Line) (runs [][]int) {
	for i := 0; i < len(lines); i++ {
		var run []int
		for i < len(lines) && lines[i].empty() {
			run = append(run, i)
			i++
		}
		if len(run) == 0 {
			continue
		}
		before := run[0] > 0 && lines[run[0]-1].Op != Context
		after := i < len(lines) && lines[i].Op != Context
		if !before && after {
			slices.Reverse(run)
		}
		if before || after {
			runs = append(runs, run)
		}
	}
	return runs
}

// choices gives the ways to take n lines from the beginnings of runs.
func choices(runs [][]int, n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	if len(runs) == 0 {
		return nil
	}
	var out [][]int
	for k := min(n, len(runs[0])); k >= 0; k-- {
		for _, rest := range choices(runs[1:], n-k) {
			if len(out) == maxBlanks {
				return out
			}
			out = append(out, slices.Concat(runs[0][:k], rest))
		}
	}
	return out
}
