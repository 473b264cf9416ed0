package udiff

import (
	"bytes"
	"strings"
)

// Known reports whether a name on a --- or +++ line is a file of the tree.
type Known func(name string) bool

// Parse reads text. Everything that is no part of a section is passed over.
//
// A pair of --- and +++ lines inside a hunk may be a header or two changed lines.
// It is a header when a hunk follows and the counts are fulfilled, or known says
// that the file is there. With strict, a header never comes before the counts are fulfilled.
func Parse(text []byte, known Known, strict bool) (*Diff, error) {
	p := &parser{lines: split(text), known: known, strict: strict}
	for p.next < len(p.lines) && len(p.diff.Sections) <= MaxSections && p.hunks <= MaxHunks {
		if err := p.step(); err != nil {
			return nil, err
		}
	}
	if len(p.diff.Sections) > MaxSections || p.hunks > MaxHunks {
		return nil, &SyntaxError{Line: p.next, Msg: "the diff has too many sections or hunks", TooBig: true}
	}
	if len(p.diff.Sections) == 0 {
		return nil, &SyntaxError{Msg: "no file of a unified diff was found: a file begins with a diff --git line, or with a --- and a +++ line, and has hunks that begin with @@"}
	}
	return &p.diff, nil
}

// split cuts text into lines without their line feeds.
func split(text []byte) [][]byte {
	text = bytes.TrimSuffix(text, []byte("\n"))
	if len(text) == 0 {
		return nil
	}
	return bytes.Split(text, []byte("\n"))
}

type parser struct {
	lines  [][]byte
	next   int // index of the line to read
	diff   Diff
	hunks  int
	known  Known
	strict bool
}

// step reads one line outside of hunks, or one hunk.
func (p *parser) step() error {
	line := p.lines[p.next]
	cur := p.current()
	switch {
	case isCombined(line):
		return &SyntaxError{Line: p.next + 1, Msg: "a combined diff of several parents cannot be applied"}
	case IsGitHeader(line):
		old, new, whole := gitNames(line)
		p.open(Section{Git: true, GitOld: old, GitNew: new})
		p.current().quoted(line, whole)
	case p.fileHeader(p.next):
		if cur == nil || cur.Old != "" || len(cur.Hunks) > 0 {
			p.open(Section{})
			cur = p.current()
		}
		p.fileNames(cur)
	case IsHunkHeader(line):
		if cur == nil || cur.Old == "" && !cur.Git {
			return &SyntaxError{Line: p.next + 1, Msg: "a hunk stands before any file header: put a --- and a +++ line with the file's name before it"}
		}
		p.hunk(cur)
		return nil
	case cur != nil && len(cur.Hunks) == 0 && !(p.orphan(p.next) && cur.says(line)):
		cur.extended(line)
	case p.orphan(p.next):
		p.open(Section{})
		p.current().extended(line)
	}
	p.next++
	return nil
}

func (p *parser) current() *Section {
	if len(p.diff.Sections) == 0 {
		return nil
	}
	return &p.diff.Sections[len(p.diff.Sections)-1]
}

func (p *parser) open(s Section) {
	s.At = p.next + 1
	p.diff.Sections = append(p.diff.Sections, s)
}

// fileNames reads the --- and +++ lines of a section.
func (p *parser) fileNames(s *Section) {
	var whole bool
	s.Old, whole = fileName(p.lines[p.next])
	s.quoted(p.lines[p.next], whole)
	p.next++
	s.New, whole = fileName(p.lines[p.next])
	s.quoted(p.lines[p.next], whole)
}

// quoted notes a line whose quoted name is not whole.
func (s *Section) quoted(line []byte, whole bool) {
	if !whole {
		s.Broken = strings.TrimRight(string(line), "\r")
	}
}

func (p *parser) fileHeader(i int) bool {
	return i+1 < len(p.lines) && IsFileHeader(p.lines[i], p.lines[i+1])
}

// hunk reads a hunk and everything up to the next header.
func (p *parser) hunk(s *Section) {
	h := Hunk{At: p.next + 1, Fit: -1}
	h.Old, h.New = parseRanges(p.lines[p.next])
	returns := bytes.HasSuffix(p.lines[p.next], []byte("\r"))
	p.diff.CRLF = p.diff.CRLF || returns
	left := counter{h.Old.Lines, h.New.Lines}
	h.Lines = make([]Line, 0, max(0, min(h.Old.Lines+h.New.Lines, len(p.lines)-p.next-1)))
	for p.next++; p.next < len(p.lines); p.next++ {
		if left.done() && h.Fit < 0 {
			h.Fit = len(h.Lines)
		}
		if p.ends(left) {
			break
		}
		line := p.lines[p.next]
		if returns {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		h.add(line, &left)
	}
	if left.done() && h.Fit < 0 {
		h.Fit = len(h.Lines)
	}
	s.Hunks = append(s.Hunks, h)
	p.hunks++
}

// counter is how many lines the header of a hunk still promises.
type counter struct{ old, new int }

func (c counter) done() bool { return c.old == 0 && c.new == 0 }

// ends reports whether the line to read is a header, which ends a hunk.
func (p *parser) ends(left counter) bool {
	line := p.lines[p.next]
	switch {
	case len(line) == 0 || line[0] == ' ' || line[0] == '+':
		return false
	case IsGitHeader(line), IsHunkHeader(line), isCombined(line):
		return true
	case p.otherHeader(), p.orphan(p.next):
		return true
	case !p.fileHeader(p.next) || !p.hunkFollows(p.next+2):
		return false
	case left.done():
		return true
	case p.strict:
		return left.old < 1 || left.new < 1
	}
	p.diff.Unsure = true
	old, _ := fileName(line)
	new, _ := fileName(p.lines[p.next+1])
	return p.known(old) || old == Null || p.known(new)
}

// otherHeader reports whether the line to read is the line that other programs put
// before a --- line.
func (p *parser) otherHeader() bool {
	line := p.lines[p.next]
	if !bytes.HasPrefix(line, []byte("diff ")) && !bytes.HasPrefix(line, []byte("Index: ")) {
		return false
	}
	return p.fileHeader(p.next+1) || p.fileHeader(p.next+2)
}

// orphan reports whether line i begins the section of a file that lost its diff
// --git line: it says something about a file that no hunk says.
func (p *parser) orphan(i int) bool {
	if i >= len(p.lines) || len(p.lines[i]) == 0 || bytes.IndexByte([]byte("ondrcsBG"), p.lines[i][0]) < 0 {
		return false
	}
	switch key, value := headerKey(string(bytes.TrimRight(p.lines[i], "\r"))); key {
	case "old mode", "new mode", "new file mode", "deleted file mode":
		return gitMode.MatchString(value)
	case "similarity index":
		return p.orphan(i + 1)
	case "rename from", "copy from":
		return i+1 < len(p.lines) && (bytes.HasPrefix(p.lines[i+1], []byte("rename to ")) || bytes.HasPrefix(p.lines[i+1], []byte("copy to ")))
	case "Binary files":
		return strings.HasSuffix(value, " differ")
	case "GIT binary patch":
		return true
	}
	return false
}

func (p *parser) hunkFollows(i int) bool {
	for i < len(p.lines) && len(bytes.TrimSpace(p.lines[i])) == 0 {
		i++
	}
	return i < len(p.lines) && IsHunkHeader(p.lines[i])
}

func (h *Hunk) add(text []byte, left *counter) {
	if bytes.HasPrefix(text, []byte(`\ `)) {
		if len(h.Lines) > 0 {
			h.Lines[len(h.Lines)-1].NoEOL = true
		}
		return
	}
	l := parseLine(text)
	h.Lines = append(h.Lines, l)
	if l.Op != Insert {
		left.old--
	}
	if l.Op != Delete {
		left.new--
	}
}

func parseLine(text []byte) Line {
	if len(text) == 0 {
		return Line{Op: Context, Bare: true}
	}
	switch op := Op(text[0]); op {
	case Context, Delete, Insert:
		return Line{Op: op, Text: text[1:]}
	}
	return Line{Op: Context, Text: text, Bare: true}
}
