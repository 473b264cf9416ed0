package udiff

import (
	"bytes"
	"slices"
	"strings"
)

// Known reports whether a name on a --- or +++ line is a file of the tree.
type Known func(name string) bool

// Parse reads text. It skips everything that is not part of a section.
//
// A pair of --- and +++ lines inside a hunk may be a header or two changed lines. It is a header if a hunk
// follows and the counts are fulfilled, or if known reports that the file is there. With strict, a header
// never comes before the counts are fulfilled.
func Parse(text []byte, known Known, strict bool) (*Diff, error) {
	p := &parser{lines: splitLines(text), known: known, strict: strict}
	for p.next < len(p.lines) && len(p.diff.Sections) <= MaxSections && p.hunks <= MaxHunks {
		if err := p.readNext(); err != nil {
			return nil, err
		}
	}
	if len(p.diff.Sections) > MaxSections || p.hunks > MaxHunks {
		return nil, &SyntaxError{Line: p.next, Msg: "the diff has too many sections or hunks", TooBig: true}
	}
	if len(p.diff.Sections) == 0 {
		return nil, &SyntaxError{Msg: "no file of a unified diff was found: a file begins with a diff --git line, or with a --- and a +++ line, and has hunks that begin with @@" + Hint(text)}
	}
	return &p.diff, nil
}

// splitLines splits text into lines without their line feeds.
func splitLines(text []byte) [][]byte {
	text = bytes.TrimSuffix(text, []byte("\n"))
	if len(text) == 0 {
		return nil
	}
	return bytes.Split(text, []byte("\n"))
}

// parser reads the sections of a text.
type parser struct {
	lines  [][]byte
	next   int // index of the line to read
	diff   Diff
	hunks  int
	known  Known
	strict bool
}

// readNext reads one line outside of hunks, or one hunk.
func (p *parser) readNext() error {
	line := p.lines[p.next]
	cur := p.currentSection()
	switch {
	case isCombined(line):
		return &SyntaxError{Line: p.next + 1, Msg: "a combined diff of several parents cannot be applied"}
	case IsGitHeader(line):
		old, new, whole := parseGitNames(line)
		p.openSection(Section{Git: true, GitOld: old, GitNew: new})
		p.currentSection().noteBroken(line, whole)
	case p.isFileHeaderAt(p.next):
		if cur == nil || cur.Old != "" || len(cur.Hunks) > 0 {
			p.openSection(Section{})
			cur = p.currentSection()
		}
		p.readFileNames(cur)
	case IsHunkHeader(line):
		if cur == nil || cur.Old == "" && !cur.Git {
			return &SyntaxError{Line: p.next + 1, Msg: "a hunk comes before any file header: put a --- and a +++ line with the file's name before it" + Hint(bytes.Join(p.lines, []byte("\n")))}
		}
		p.readHunk(cur)
		return nil
	case cur != nil && len(cur.Hunks) == 0 && !(p.isOrphan(p.next) && cur.alreadySays(line)):
		if half := bytes.HasPrefix(line, []byte("--- ")) || bytes.HasPrefix(line, []byte("+++ ")); !cur.readExtended(line) && !half {
			p.passOver(line)
		}
	case p.isOrphan(p.next):
		p.openSection(Section{})
		p.currentSection().readExtended(line)
	default:
		p.passOver(line)
	}
	p.next++
	return nil
}

// passOver notes a line that says nothing that is known.
func (p *parser) passOver(line []byte) {
	if len(bytes.TrimSpace(line)) > 0 {
		p.diff.Passed = append(p.diff.Passed, Passed{p.next + 1, line})
	}
}

// currentSection returns the last section, or nil if there is none.
func (p *parser) currentSection() *Section {
	if len(p.diff.Sections) == 0 {
		return nil
	}
	return &p.diff.Sections[len(p.diff.Sections)-1]
}

// openSection adds a section that begins at the next line.
func (p *parser) openSection(s Section) {
	s.At = p.next + 1
	p.diff.Sections = append(p.diff.Sections, s)
}

// readFileNames reads the --- and +++ lines of a section.
func (p *parser) readFileNames(s *Section) {
	var whole bool
	s.Old, whole = parseFileName(p.lines[p.next])
	s.noteBroken(p.lines[p.next], whole)
	p.next++
	s.New, whole = parseFileName(p.lines[p.next])
	s.noteBroken(p.lines[p.next], whole)
	s.Gone = noFile.Match(p.lines[p.next])
}

// noteBroken records a line whose quoted name is not whole.
func (s *Section) noteBroken(line []byte, whole bool) {
	if !whole {
		s.Broken = strings.TrimRight(string(line), "\r")
	}
}

// isFileHeaderAt reports whether lines i and i+1 are the --- and +++ lines of a file.
func (p *parser) isFileHeaderAt(i int) bool {
	return i+1 < len(p.lines) && IsFileHeader(p.lines[i], p.lines[i+1])
}

// maxPromised bounds the lines for which a hunk has memory before they are read. Its header may promise any number.
const maxPromised = 32

// readHunk reads a hunk and everything up to the next header.
func (p *parser) readHunk(s *Section) {
	h := Hunk{Fit: -1}
	h.Old, h.New = parseRanges(p.lines[p.next])
	h.Heading = parseHeading(p.lines[p.next])
	returns := bytes.HasSuffix(p.lines[p.next], []byte("\r"))
	p.diff.CRLF = p.diff.CRLF || returns
	left := counter{h.Old.Lines, h.New.Lines}
	h.Lines = make([]Line, 0, max(0, min(h.Old.Lines+h.New.Lines, len(p.lines)-p.next-1, maxPromised)))
	for p.next++; p.next < len(p.lines); p.next++ {
		if left.isDone() && h.Fit < 0 {
			h.Fit = len(h.Lines)
		}
		if p.endsHunk(left) {
			break
		}
		line := p.lines[p.next]
		if returns {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		h.addLine(line, &left)
	}
	if left.isDone() && h.Fit < 0 {
		h.Fit = len(h.Lines)
	}
	s.Hunks = append(s.Hunks, h)
	p.hunks++
}

// counter holds how many lines the header of a hunk still promises.
type counter struct{ old, new int }

// isDone reports whether the counts of the header are fulfilled.
func (c counter) isDone() bool { return c.old == 0 && c.new == 0 }

// endsHunk reports whether the next line is a header, which ends a hunk.
func (p *parser) endsHunk(left counter) bool {
	line := p.lines[p.next]
	switch {
	case len(line) == 0 || line[0] == ' ' || line[0] == '+':
		return false
	case IsGitHeader(line), IsHunkHeader(line), isCombined(line):
		return true
	case p.isOtherHeader(), p.isOrphan(p.next):
		return true
	case !p.isFileHeaderAt(p.next) || !p.hunkFollows(p.next+2):
		return false
	case left.isDone():
		return true
	case p.strict:
		return left.old < 1 || left.new < 1
	}
	p.diff.Unsure = true
	old, _ := parseFileName(line)
	new, _ := parseFileName(p.lines[p.next+1])
	return p.known(old) || old == Null || p.known(new)
}

// isOtherHeader reports whether the next line is a line that other programs put before a --- line.
func (p *parser) isOtherHeader() bool {
	line := p.lines[p.next]
	if !IsOtherHeader(line) {
		return false
	}
	return p.isFileHeaderAt(p.next+1) || p.isFileHeaderAt(p.next+2)
}

// IsOtherHeader reports whether line is one that other programs than git put before a --- line.
func IsOtherHeader(line []byte) bool {
	return bytes.HasPrefix(line, []byte("diff ")) || bytes.HasPrefix(line, []byte("Index: "))
}

// isOrphan reports whether line i begins the section of a file that lost its diff --git line: it states a
// fact about a file that no hunk states.
func (p *parser) isOrphan(i int) bool {
	if i >= len(p.lines) || len(p.lines[i]) == 0 || bytes.IndexByte([]byte("ondrcsBG"), p.lines[i][0]) < 0 {
		return false
	}
	switch key, value := splitHeaderKey(string(bytes.TrimRight(p.lines[i], "\r"))); key {
	case "old mode", "new mode", "new file mode", "deleted file mode":
		return gitMode.MatchString(value)
	case "similarity index":
		return p.hasAnyPrefix(i+1, "rename from ", "copy from ") && p.hasAnyPrefix(i+2, "rename to ", "copy to ")
	case "rename from", "copy from":
		return p.hasAnyPrefix(i+1, "rename to ", "copy to ")
	case "Binary files":
		return strings.HasSuffix(value, " differ")
	case "GIT binary patch":
		return true
	}
	return false
}

// hasAnyPrefix reports whether line i is there and begins with one of the prefixes.
func (p *parser) hasAnyPrefix(i int, prefixes ...string) bool {
	return i < len(p.lines) && slices.ContainsFunc(prefixes, func(prefix string) bool { return bytes.HasPrefix(p.lines[i], []byte(prefix)) })
}

// hunkFollows reports whether line i, or the first line after it that is not blank, begins a hunk.
func (p *parser) hunkFollows(i int) bool {
	for i < len(p.lines) && len(bytes.TrimSpace(p.lines[i])) == 0 {
		i++
	}
	return i < len(p.lines) && IsHunkHeader(p.lines[i])
}

// addLine adds a line to h and counts it.
func (h *Hunk) addLine(text []byte, left *counter) {
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

// parseLine splits a line of a hunk into its operation and its text.
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
