package place

import (
	"bytes"

	"github.com/ratchet-dev/ratchet/internal/patch/udiff"
)

// File is a text that hunks are placed in. It is for one Place after the other,
// not for two at once.
type File struct {
	Lines [][]byte // without their line feeds
	NoEOL bool     // the last line has no line feed

	levels [Altered]*index
	work   int
}

// NewFile cuts text into lines. An empty text has none.
func NewFile(text []byte) *File {
	if len(text) == 0 {
		return &File{}
	}
	body, ended := bytes.CutSuffix(text, []byte("\n"))
	return &File{Lines: bytes.Split(body, []byte("\n")), NoEOL: !ended}
}

// agrees reports whether the old lines of a hunk lie at index at, byte by byte.
func (f *File) agrees(lines []udiff.Line, at int) bool {
	for _, l := range lines {
		if l.Op == udiff.Insert {
			continue
		}
		if at >= len(f.Lines) || !bytes.Equal(f.Lines[at], l.Text) || l.NoEOL && at != len(f.Lines)-1 {
			return false
		}
		at++
	}
	return true
}

// index numbers the different lines of a file at one level.
type index struct {
	numbers map[string]int32
	lines   []int32   // the number of each line
	where   [][]int32 // the lines with each number
}

const unknown int32 = -1 // a line that the file does not have

func (f *File) index(l Level) *index {
	if f.levels[l] != nil {
		return f.levels[l]
	}
	x := &index{numbers: make(map[string]int32), lines: make([]int32, len(f.Lines))}
	var buf []byte
	for i, line := range f.Lines {
		buf = l.key(buf[:0], line)
		n, ok := x.numbers[string(buf)]
		if !ok {
			n = int32(len(x.numbers))
			x.numbers[string(buf)] = n
			x.where = append(x.where, nil)
		}
		x.lines[i] = n
		x.where[n] = append(x.where[n], int32(i))
	}
	f.levels[l] = x
	return x
}

// pattern numbers the old lines of a hunk; ok is false when the file lacks one.
func (x *index) pattern(l Level, lines []udiff.Line) (p []int32, ok bool) {
	ok = true
	p = make([]int32, 0, len(lines))
	var buf []byte
	for _, line := range lines {
		if line.Op == udiff.Insert {
			continue
		}
		buf = l.key(buf[:0], line.Text)
		n, known := x.numbers[string(buf)]
		if !known {
			n, ok = unknown, false
		}
		p = append(p, n)
	}
	return p, ok
}
