package prompt

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// Diff is a git diff without the sections of withheld files.
type Diff struct {
	Text     string
	Paths    []string // of its sections, after the change
	Withheld int      // sections
}

// ReadDiff returns a git diff without the sections of withheld files.
func ReadDiff(raw []byte) Diff {
	var kept strings.Builder
	f := NewDiffFilter(&kept)
	_, _ = f.Write(raw) // a strings.Builder takes all
	d := f.Close()
	d.Text = kept.String()
	return d
}

const sectionMark = "diff --git "

// maxHeader bounds the lines of a section before its first hunk, in bytes. A longer one is withheld.
const maxHeader = 64 << 10

// DiffFilter takes a git diff, and hands on all but the withheld files. It must get the bytes as git writes them: a
// line of a file has a mark before it there, and cannot be taken for the beginning of another section. The text before
// the first section is dropped, because it names no file that could be judged.
type DiffFilter struct {
	out    io.Writer
	diff   Diff
	header []byte // of the section that begins
	line   []byte // the beginning of a line whose end has not come
	begins bool   // the section has no hunk yet
	within bool   // of a line of a hunk
	keeps  bool   // the section is kept
	err    error  // of out
}

// NewDiffFilter returns a filter that hands on to out.
func NewDiffFilter(out io.Writer) *DiffFilter { return &DiffFilter{out: out} }

// Write implements [io.Writer]. The error is out's.
func (f *DiffFilter) Write(p []byte) (n int, err error) {
	n = len(p)
	for len(p) > 0 && f.err == nil {
		end := bytes.IndexByte(p, '\n') + 1
		whole := end > 0
		if !whole {
			end = len(p)
		}
		switch {
		case f.within:
			f.pass(p[:end])
			f.within = !whole
		case f.begins:
			if f.line = append(f.line, p[:end]...); whole || len(f.line) > maxHeader {
				f.takeHeader()
			}
		default:
			if end = min(end, len(sectionMark)-len(f.line)); p[end-1] != '\n' && len(f.line)+end < len(sectionMark) {
				f.line = append(f.line, p[:end]...) // it may be a mark
				break
			}
			f.line = append(f.line, p[:end]...)
			f.takeStart()
		}
		p = p[end:]
	}
	return n, f.err
}

// takeStart takes the beginning of a line of a hunk, or of another section.
func (f *DiffFilter) takeStart() {
	if string(f.line) == sectionMark {
		f.begins = true // the rest of the line comes
		return
	}
	f.pass(f.line)
	f.within = f.line[len(f.line)-1] != '\n'
	f.line = f.line[:0]
}

// takeHeader takes a line before the first hunk of a section.
func (f *DiffFilter) takeHeader() {
	line := f.line
	f.line = nil
	switch {
	case bytes.HasPrefix(line, []byte(sectionMark)) && len(f.header) > 0: // the last one has no hunk
		f.endHeader()
		f.begins = true
	case bytes.HasPrefix(line, []byte("@@")):
		f.endHeader()
		f.pass(line)
		f.within = line[len(line)-1] != '\n'
		return
	}
	f.header = append(f.header, line...)
}

// endHeader decides about a section, whose header is whole.
func (f *DiffFilter) endHeader() {
	path, ok := sectionPath(string(f.header))
	f.keeps, f.begins = ok && len(f.header) <= maxHeader, false
	if f.keeps {
		f.diff.Paths = append(f.diff.Paths, path)
		f.pass(f.header)
	} else {
		f.diff.Withheld++
	}
	f.header = nil
}

func (f *DiffFilter) pass(b []byte) {
	if f.keeps && f.err == nil {
		_, f.err = f.out.Write(b)
	}
}

// Close ends the diff, and returns it without its text.
func (f *DiffFilter) Close() Diff {
	if f.begins {
		f.header = append(f.header, f.line...)
		f.endHeader()
	} else {
		f.pass(f.line)
	}
	f.line = nil
	return f.diff
}

// nameMarks begin the header lines that name one file each.
var nameMarks = []string{"--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to "}

// sectionPath returns the path of a section. ok is false if one of its names is withheld or cannot be
// read.
func sectionPath(section string) (path string, ok bool) {
	for line := range strings.Lines(section) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "@@") {
			break
		}
		if rest, ok := strings.CutPrefix(line, sectionMark); ok {
			if Withheld(rest) {
				return "", false
			}
			_, path, _ = strings.Cut(rest, " b/")
		}
		for _, mark := range nameMarks {
			rest, found := strings.CutPrefix(line, mark)
			if !found {
				continue
			}
			name, err := unquoteName(rest)
			if err != nil || Withheld(name) {
				return "", false
			}
			if mark == "+++ " && name != "/dev/null" {
				path = strings.TrimPrefix(name, "b/")
			}
		}
	}
	return path, true
}

// unquoteName reads a name as git writes it: in C's quotes if it holds special characters, and before a
// tab if it holds spaces.
func unquoteName(name string) (string, error) {
	name, _, _ = strings.Cut(name, "\t")
	if strings.HasPrefix(name, `"`) {
		return strconv.Unquote(name)
	}
	return name, nil
}
