package review

import (
	"strconv"

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
}

type hunkView struct{ Blocks []blockView }

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
	NoEOL  bool
}

// maxOpen is the number of lines up to which a file is shown at once.
const maxOpen = 600

func showFiles(files []hunks.File) (views []fileView) {
	for _, f := range files {
		v := fileView{
			Name: display.Line(f.Name), From: display.Line(f.From), Path: f.Name, Change: string(f.Change), Mode: f.Mode,
			Added: f.Added, Deleted: f.Deleted, Binary: f.Binary, Closed: f.Added+f.Deleted > maxOpen,
		}
		if f.Change == hunks.Modified {
			v.Change = ""
		}
		for _, h := range f.Hunks {
			v.Hunks = append(v.Hunks, hunkView{blocksOf(f.Name, h)})
		}
		views = append(views, v)
	}
	return views
}

// blocksOf puts neighbouring deletions and insertions side by side.
func blocksOf(name string, h hunks.Hunk) (blocks []blockView) {
	before, after := spansOf(name, h, udiff.Insert), spansOf(name, h, udiff.Delete)
	for _, l := range h.Lines {
		change := l.Op != udiff.Context
		last := len(blocks) - 1
		if last < 0 || blocks[last].Change != change || change && l.Op == udiff.Delete && len(blocks[last].Right) > 0 {
			blocks = append(blocks, blockView{Change: change})
			last++
		}
		b := &blocks[last]
		if l.Op != udiff.Insert {
			b.Left = append(b.Left, lineView{Number: l.Old, Old: change, Spans: before[0], NoEOL: l.NoEOL})
			before = before[1:]
		}
		if l.Op != udiff.Delete {
			b.Right = append(b.Right, lineView{Number: l.New, New: change, Spans: after[0], NoEOL: l.NoEOL})
			after = after[1:]
		}
	}
	return blocks
}

// spansOf returns the coloured lines of one side of a hunk, without the lines of the operation. They are safe to show.
func spansOf(name string, h hunks.Hunk, without udiff.Op) [][]syntax.Span {
	var lines []string
	for _, l := range h.Lines {
		if l.Op != without {
			lines = append(lines, l.Text)
		}
	}
	spans := syntax.Lines(name, lines)
	for _, line := range spans {
		for i := range line {
			line[i].Text = display.Code(line[i].Text)
		}
	}
	return spans
}

func itoa(n int) string { return strconv.Itoa(n) }
