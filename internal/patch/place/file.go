package place

import (
	"bytes"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// File is a text in which hunks are placed. It must not be used concurrently.
type File struct {
	Lines [][]byte // without their line feeds
	NoEOL bool     // the last line has no line feed

	levels [Altered]*index
	work   int
}

// NewFile splits text into lines. An empty text has none.
func NewFile(text []byte) *File {
	if len(text) == 0 {
		return &File{}
	}
	body, ended := bytes.CutSuffix(text, []byte("\n"))
	return &File{Lines: bytes.Split(body, []byte("\n")), NoEOL: !ended}
}

// agreesAt reports whether the old lines of a hunk are at index at, byte by byte.
func (f *File) agreesAt(lines []udiff.Line, at int) bool {
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

// index numbers the distinct lines of a file at one level.
type index struct {
	numbers map[string]int32
	lines   []int32   // the number of each line
	where   [][]int32 // the lines with each number
}

const unknown int32 = -1 // a line that the file does not have

// levelIndex returns the index of f at level l.
func (f *File) levelIndex(l Level) *index {
	if f.levels[l] != nil {
		return f.levels[l]
	}
	x := &index{numbers: make(map[string]int32), lines: make([]int32, len(f.Lines))}
	var buf []byte
	for i, line := range f.Lines {
		buf = l.appendKey(buf[:0], line)
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

// numberLines returns the numbers of the old lines of a hunk. ok is false if the file lacks one of them.
func (x *index) numberLines(l Level, lines []udiff.Line) (p []int32, ok bool) {
	ok = true
	p = make([]int32, 0, len(lines))
	var buf []byte
	for _, line := range lines {
		if line.Op == udiff.Insert {
			continue
		}
		buf = l.appendKey(buf[:0], line.Text)
		n, known := x.numbers[string(buf)]
		if !known {
			n, ok = unknown, false
		}
		p = append(p, n)
	}
	return p, ok
}
