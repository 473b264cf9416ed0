package udiff

import "slices"

const (
	maxBlanks     = 32     // the empty lines that are taken for added ones, and the ways to choose them
	maxBlankLines = 10_000 // the lines of a hunk that is read in these ways
)

// readLostBlanks takes empty lines next to changed ones for added lines that lost their +. The counts of
// the header have to come out right. If there are several ways to choose the lines, the file decides among
// them.
func (h *Hunk) readLostBlanks(lines []Line) []Reading {
	old, new := countLines(lines)
	over := old - h.Old.Lines
	if len(lines) > maxBlankLines || h.Old.Start == Unstated || over <= 0 || over > maxBlanks || new != h.New.Lines {
		return nil
	}
	runs := emptyRuns(lines)
	if len(runs) > maxBlanks {
		return nil
	}
	var readings []Reading
	for _, marks := range chooseLines(runs, over) {
		readings = append(readings, Reading{Lines: lines, Blanks: marks, Note: NoteBlank, Rival: true})
	}
	return readings
}

// MarkBlanks returns the lines of r, of which Blanks are added ones.
func (r Reading) MarkBlanks() []Line {
	if len(r.Blanks) == 0 {
		return r.Lines
	}
	marked := slices.Clone(r.Lines)
	for _, i := range r.Blanks {
		marked[i] = Line{Op: Insert, Text: r.Lines[i].Text}
	}
	return marked
}

// countLines returns the number of lines before and after the hunk.
func countLines(lines []Line) (old, new int) {
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

// emptyRuns returns the runs of empty lines that touch a changed line. The lines of each run are in the
// order in which they are chosen: from the changed line outwards.
func emptyRuns(lines []Line) (runs [][]int) {
	for i := 0; i < len(lines); i++ {
		var run []int
		for i < len(lines) && lines[i].isEmpty() {
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

// chooseLines returns the ways to choose n lines from the beginnings of runs: maxBlanks of them at most. It follows no
// choice for which the later runs have too few lines, so every step leads to a way.
func chooseLines(runs [][]int, n int) (ways [][]int) {
	later := make([]int, len(runs)+1) // the number of lines from each run on
	for i, run := range slices.Backward(runs) {
		later[i] = later[i+1] + len(run)
	}
	var choose func(i, n int, chosen []int)
	choose = func(i, n int, chosen []int) {
		switch {
		case n > later[i] || len(ways) == maxBlanks:
			return
		case n == 0:
			ways = append(ways, slices.Clone(chosen))
			return
		}
		for k := min(n, len(runs[i])); k >= 0; k-- {
			choose(i+1, n-k, append(chosen, runs[i][:k]...))
		}
	}
	choose(0, n, nil)
	return ways
}
