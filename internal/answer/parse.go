package answer

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/patch/udiff"
)

// The canonical markers. They count as whole lines at column 0, blanks after them aside.
const (
	resultStart = "<<<AIO_RESULT_START>>>"
	resultEnd   = "<<<AIO_RESULT_END>>>"
	checksStart = "<<<AIO_CHECKS_START>>>"
	checksEnd   = "<<<AIO_CHECKS_END>>>"
	patchBegin  = "[PATCH_BEGIN]"
	patchEnd    = "[PATCH_END]"
)

// Parse reads a raw answer. finish is the provider's finish reason: stop,
// length, timeout or error, empty when it is not known. The error is an *Error.
//
// The finish reason and the markers are judged before any diff is read, for a
// diff cut at a line boundary looks whole.
func Parse(raw []byte, finish string) (Answer, error) {
	if err := gate(raw, finish); err != nil {
		return Answer{}, err
	}
	p := &parser{text: bytes.TrimPrefix(raw, []byte("\ufeff")), finished: finish == "stop"}
	p.split()
	a, err := p.answer()
	if err != nil {
		return Answer{}, err
	}
	return a, nil
}

func gate(raw []byte, finish string) *Error {
	switch finish {
	case "", "stop":
	case "length":
		return wrong(Truncated, "the answer was cut off at the output limit; give it again, complete and shorter")
	case "timeout", "error":
		return wrong(Truncated, "the answer was cut off (%s); give it again, complete", finish)
	default:
		return wrong(UnknownFinish, "the provider gave the unknown finish reason %q, so the answer may be incomplete", finish)
	}
	switch {
	case len(raw) > MaxBytes:
		return wrong(TooLarge, "the answer has %d bytes; at most %d are read", len(raw), MaxBytes)
	case len(bytes.TrimSpace(raw)) == 0:
		return wrong(Empty, "the answer is empty")
	}
	return nil
}

func wrong(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// parser reads one answer line by line.
type parser struct {
	text     []byte
	lines    [][]byte // with their line ends
	finished bool     // the provider said that the answer is complete

	results []block
	patches []block
	prose   []int // lines outside of all blocks
}

// block is the lines [from, to) between two markers or fences.
type block struct{ from, to int }

func (p *parser) split() {
	p.lines = bytes.SplitAfter(p.text, []byte("\n"))
	if n := len(p.lines); len(p.lines[n-1]) == 0 {
		p.lines = p.lines[:n-1]
	}
}

func (p *parser) marker(i int) string {
	line := p.lines[i]
	if len(line) == 0 || line[0] != '<' && line[0] != '[' {
		return ""
	}
	switch s := string(bytes.TrimRight(line, " \t\r\n")); s {
	case resultStart, resultEnd, checksStart, checksEnd, patchBegin, patchEnd:
		return s
	}
	return ""
}

func (p *parser) answer() (Answer, error) {
	if err := p.blocks(); err != nil {
		return Answer{}, err
	}
	switch {
	case len(p.results) > 1:
		return Answer{}, wrong(ManyResults, "the answer has %d result blocks; give exactly one", len(p.results))
	case len(p.patches) > 1:
		return Answer{}, wrong(ManyPatches, "the answer has %d patch blocks; put the whole patch into one", len(p.patches))
	case len(p.results) == 1:
		return p.declared()
	case len(p.patches) == 1:
		return Answer{}, wrong(NoType, "the answer has a patch block but no result block; begin with %s, a line type: PATCH, a line summary: and %s", resultStart, resultEnd)
	}
	return p.undeclared()
}

// blocks finds the blocks between markers. Inside of a fence that holds a bare diff, and inside
// of a patch, lines that look like markers are content.
func (p *parser) blocks() *Error {
	var claims []block // what the model says of its own checks proves nothing
	for i := 0; i < len(p.lines); i++ {
		var into *[]block
		var end int
		switch m := p.marker(i); m {
		case "":
			p.prose = append(p.prose, i)
			continue
		case resultStart:
			into, end = &p.results, p.closing(i, resultEnd)
		case checksStart:
			into, end = &claims, p.closing(i, checksEnd)
		case patchBegin:
			into, end = &p.patches, p.patchEnd(i)
		default:
			return wrong(Contradiction, "line %d has %s without the marker that begins it", i+1, m)
		}
		if end < 0 {
			return wrong(Truncated, "%s on line %d has no end; the answer is incomplete or its markers are wrong", p.marker(i), i+1)
		}
		*into = append(*into, block{i + 1, end})
		i = end
	}
	return nil
}

// closing is the line with the marker end, when no other marker comes before it.
func (p *parser) closing(start int, end string) int {
	for i := start + 1; i < len(p.lines); i++ {
		switch p.marker(i) {
		case "":
		case end:
			return i
		default:
			return -1
		}
	}
	return -1
}

// patchEnd is the line that ends the patch: the first end marker at which no hunk is
// still owed lines. A hunk whose context lost its leading spaces may hold the marker itself.
func (p *parser) patchEnd(start int) int {
	last := -1
	var t udiff.Tracker
	for i := start + 1; i < len(p.lines); i++ {
		switch m := p.marker(i); {
		case m == patchEnd && !t.IsOpen():
			return i
		case m == patchEnd:
			last = i
		case m != "" && (!t.IsOpen() || last >= 0 && m != patchBegin):
			return last
		}
		t.Add(p.lines[i])
	}
	return last
}

// diff is the text of a block, without a fence around it. It is empty when the block is
// blank.
func (p *parser) diff(b block) ([]byte, *Error) {
	first, last := b.from, b.to-1
	for first <= last && p.blank(first) {
		first++
	}
	for first <= last && p.blank(last) {
		last--
	}
	if first > last {
		return nil, nil
	}
	if f, ok := p.fence(first); ok {
		if p.fenceEnd(first, b.to, f) != last {
			return nil, wrong(Contradiction, "the patch block holds a fence that does not go around the whole patch")
		}
		b = block{first + 1, last}
	}
	return bytes.Join(p.lines[b.from:b.to], nil), nil
}

func (p *parser) blank(i int) bool { return len(bytes.TrimSpace(p.lines[i])) == 0 }

// summary is the prose around the blocks in one line.
func (p *parser) summary() string {
	const most = 500
	var words []string
	for _, i := range p.prose {
		if _, ok := p.fence(i); ok {
			continue
		}
		words = append(words, strings.Fields(strings.ToValidUTF8(string(p.lines[i]), "\ufffd"))...)
	}
	s := strings.Join(words, " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " ..."
	}
	return s
}
