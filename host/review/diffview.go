package review

import (
	"strconv"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
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
	Tokens []token
	NoEOL  bool
}

// token is a part of a line with one colour.
type token struct{ Class, Text string }

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
			v.Hunks = append(v.Hunks, hunkView{blocksOf(h)})
		}
		views = append(views, v)
	}
	return views
}

// blocksOf puts neighbouring deletions and insertions side by side.
func blocksOf(h hunks.Hunk) (blocks []blockView) {
	for _, l := range h.Lines {
		change := l.Op != udiff.Context
		last := len(blocks) - 1
		if last < 0 || blocks[last].Change != change || change && l.Op == udiff.Delete && len(blocks[last].Right) > 0 {
			blocks = append(blocks, blockView{Change: change})
			last++
		}
		b := &blocks[last]
		if l.Op != udiff.Insert {
			b.Left = append(b.Left, lineOf(l, l.Old))
		}
		if l.Op != udiff.Delete {
			b.Right = append(b.Right, lineOf(l, l.New))
		}
	}
	return blocks
}

func lineOf(l hunks.Line, number int) lineView {
	return lineView{
		Number: number, Old: l.Op == udiff.Delete, New: l.Op == udiff.Insert, NoEOL: l.NoEOL,
		Tokens: []token{{Text: showLine(l.Text)}},
	}
}

// showLine makes the characters of a line visible. A tab stays one.
func showLine(text string) string { return display.Text([]byte(text)) }

func itoa(n int) string { return strconv.Itoa(n) }
