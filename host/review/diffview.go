package review

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/syntax"
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// fileView is a file of a patch as the page shows it.
type fileView struct {
	Name, From, Change, Mode string
	Path                     string // the exact name, which a remark carries
	Added, Deleted           int
	Binary                   bool
	Closed                   bool // it is long: shown when it is opened
	Hunks                    []hunkView
	Hidden                   int    // lines that the page leaves out
	Cut                      int    // lines whose ends it leaves out
	Link                     string // path of the page that shows more of it; empty: none does
}

type hunkView struct {
	Number int // from 1
	Blocks []blockView
}

// blockView is a run of lines that stay, or of lines that replace others. Left and Right are the same where they stay.
type blockView struct {
	Change      bool
	Left, Right []lineView
}

type lineView struct {
	Number int
	Old    bool // it is deleted
	New    bool // it is inserted
	Spans  []syntax.Span
	Cut    int // bytes at its end that are left out
	NoEOL  bool
}

// The bounds of a page's diffs. A patch is a model's text of up to eight megabytes, of which a page is many times.
const (
	maxOpen   = 600       // lines up to which a file is shown at once
	maxFiles  = 1000      // files of a page
	maxShown  = 512 << 10 // bytes of all files of a page
	maxAlone  = 2 << 20   // bytes of a file that has a page of its own, or of a line there
	maxColumn = 2000      // bytes of a line of a page with other files
	lineCost  = 80        // bytes that an empty line counts for
	maxColour = time.Second
)

// room holds the rest of the bounds of a page.
type room struct {
	bytes  int
	column int           // bytes of a line
	colour time.Duration // for telling the classes of a text apart
}

// sharedRoom returns the room of a page with many files.
func sharedRoom() *room { return &room{maxShown, maxColumn, maxColour} }

// fit returns the lines that are still shown, and takes their bytes from the room.
func (r *room) fit(lines []hunks.Line) []hunks.Line {
	for i, l := range lines {
		if r.bytes -= lineCost + len(r.headOf(l)); r.bytes < 0 {
			r.bytes = 0
			return lines[:i]
		}
	}
	return lines
}

// showFiles returns the files as a page shows them, as far as there is room: of the last ones neither lines nor names.
func showFiles(files []hunks.File, left *room) (views []fileView) {
	for _, f := range files[:min(len(files), maxFiles)] {
		v := fileView{
			Name: display.Line(f.Name), From: display.Line(f.From), Path: f.Name, Change: string(f.Change), Mode: f.Mode,
			Added: f.Added, Deleted: f.Deleted, Binary: f.Binary, Closed: f.Added+f.Deleted > maxOpen,
		}
		if f.Change == hunks.Modified {
			v.Change = ""
		}
		for n, h := range f.Hunks {
			lines := left.fit(h.Lines)
			v.Hidden += len(h.Lines) - len(lines)
			v.Cut += left.countCut(lines)
			if len(lines) > 0 {
				v.Hunks = append(v.Hunks, hunkView{n + 1, blocksOf(f.Name, lines, left)})
			}
		}
		views = append(views, v)
	}
	return views
}

// LeftOut says what the page leaves out of the file; empty: nothing.
func (v fileView) LeftOut() string { return leftOut(0, v.Hidden, v.Cut) }

// leftOut says how many files, whole lines and ends of lines are left out; empty: none are.
func leftOut(files, lines, cut int) string {
	var out []string
	if files > 0 {
		out = append(out, display.Count(files, "file", "files"))
	}
	if lines > 0 {
		out = append(out, display.Count(lines, "line", "lines"))
	}
	if cut > 0 {
		out = append(out, "the rest of "+display.Count(cut, "line", "lines"))
	}
	return strings.Join(out, " and ")
}

// blocksOf puts neighbouring deletions and insertions side by side.
func blocksOf(name string, lines []hunks.Line, left *room) (blocks []blockView) {
	before, after := spansOf(name, lines, udiff.Insert, left), spansOf(name, lines, udiff.Delete, left)
	for _, l := range lines {
		change := l.Op != udiff.Context
		last := len(blocks) - 1
		if last < 0 || blocks[last].Change != change || change && l.Op == udiff.Delete && len(blocks[last].Right) > 0 {
			blocks = append(blocks, blockView{Change: change})
			last++
		}
		b := &blocks[last]
		if l.Op != udiff.Insert {
			b.Left = append(b.Left, lineView{Number: l.Old, Old: change, Spans: before[0], Cut: left.cutOf(l), NoEOL: l.NoEOL})
			before = before[1:]
		}
		if l.Op != udiff.Delete {
			b.Right = append(b.Right, lineView{Number: l.New, New: change, Spans: after[0], Cut: left.cutOf(l), NoEOL: l.NoEOL})
			after = after[1:]
		}
	}
	return blocks
}

// headOf returns the part of a line that is shown.
func (r *room) headOf(l hunks.Line) string {
	end := len(l.Text)
	if end > r.column {
		for end = r.column; end > r.column-utf8.UTFMax && !utf8.RuneStart(l.Text[end]); end-- { // no character is cut in two
		}
	}
	return l.Text[:end]
}

// cutOf returns how many bytes of a line are not shown.
func (r *room) cutOf(l hunks.Line) int { return len(l.Text) - len(r.headOf(l)) }

// countCut returns how many of the lines are not shown to their ends.
func (r *room) countCut(lines []hunks.Line) (n int) {
	for _, l := range lines {
		if r.cutOf(l) > 0 {
			n++
		}
	}
	return n
}

// spansOf returns the coloured lines of one side of a hunk, without the lines of the operation. They are safe to show.
func spansOf(name string, all []hunks.Line, without udiff.Op, left *room) [][]syntax.Span {
	var lines []string
	var parts [][2]int
	changed := hunks.ChangedWords(all)
	for i, l := range all {
		if l.Op != without {
			lines, parts = append(lines, left.headOf(l)), append(parts, changed[i])
		}
	}
	if left.colour <= 0 {
		name = "" // a text of no language
	}
	began := time.Now()
	spans := syntax.Lines(name, lines)
	left.colour -= time.Since(began)
	for n, line := range spans {
		line = syntax.Mark(line, parts[n][0], parts[n][1])
		spans[n] = line
		for i := range line {
			line[i].Text = display.Code(line[i].Text)
		}
	}
	return spans
}
