package answer

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/thinking"
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// The canonical markers. Each counts only as a whole line at column 0; blanks may follow it.
const (
	resultStart = "<<<AIO_RESULT_START>>>"
	resultEnd   = "<<<AIO_RESULT_END>>>"
	checksStart = "<<<AIO_CHECKS_START>>>"
	checksEnd   = "<<<AIO_CHECKS_END>>>"
	patchBegin  = "[PATCH_BEGIN]"
	patchEnd    = "[PATCH_END]"
)

// Parse reads a raw answer. finish is the provider's finish reason: stop, length, timeout or error, or
// empty if it is not known. The error is an *Error.
//
// Parse judges the finish reason and the markers before it reads any diff, because a diff cut at a line
// boundary looks whole. The model's thoughts before its answer are ignored (package thinking).
func Parse(raw []byte, finish string) (Answer, error) {
	if err := checkFinish(raw, finish); err != nil {
		return Answer{}, err
	}
	text, thoughts := thinking.Cut(bytes.TrimPrefix(raw, []byte("\ufeff")))
	switch {
	case errors.Is(thoughts, thinking.ErrNothing):
		return Answer{}, newError(Empty, "the answer is empty: %v", thoughts)
	case thoughts != nil:
		return Answer{}, newError(Truncated, "cannot read the answer: %v", thoughts)
	}
	p := &parser{text: text, finished: finish == "stop"}
	p.splitLines()
	a, err := p.parseAnswer()
	if err != nil {
		return Answer{}, err
	}
	a.Prose = p.restText()
	return a, nil
}

// checkFinish checks the finish reason and the size of a raw answer.
func checkFinish(raw []byte, finish string) *Error {
	switch finish {
	case "", "stop":
	case "length":
		return newError(Truncated, "the answer was cut off at the output limit; give a complete, shorter answer")
	case "timeout", "error":
		return newError(Truncated, "the answer was cut off (%s); give it again, complete", finish)
	default:
		return newError(UnknownFinish, "the provider gave the unknown finish reason %q, so the answer may be incomplete", finish)
	}
	switch {
	case len(raw) > MaxBytes:
		return newError(TooLarge, "the answer has %d bytes; at most %d are read", len(raw), MaxBytes)
	case len(bytes.TrimSpace(raw)) == 0:
		return newError(Empty, "the answer is empty")
	}
	return nil
}

// newError returns an Error with a formatted message.
func newError(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// parser reads one answer line by line.
type parser struct {
	text     []byte
	lines    [][]byte // with their line ends
	finished bool     // the provider said that the answer is complete

	results []block
	patches []block
	prose   []int    // lines outside of all blocks
	taken   []block  // lines that are a part of the answer: the result block, and the diffs with their fences
	unused  []string // texts of the result block that the answer has no place for

	scans   int // for the ends of fences, in vain; see maxScans
	closers map[string][]closer
}

// block is the lines [from, to) between two markers or fences.
type block struct{ from, to int }

// splitLines splits the text into lines.
func (p *parser) splitLines() {
	p.lines = bytes.SplitAfter(p.text, []byte("\n"))
	if n := len(p.lines); len(p.lines[n-1]) == 0 {
		p.lines = p.lines[:n-1]
	}
}

// endToken is a token of a chat template that some servers leave behind the last line.
var endToken = regexp.MustCompile(`(?:<\|[a-z_]+\|>|</s>|<end_of_turn>)$`)

// markerAt returns the marker on line i, or "" if there is none. Markdown may emphasize it.
func (p *parser) markerAt(i int) string {
	line := p.lines[i]
	if len(line) == 0 || strings.IndexByte("<[*`", line[0]) < 0 {
		return ""
	}
	s := endToken.ReplaceAllString(string(bytes.TrimRight(line, " \t\r\n")), "")
	switch s = strings.Trim(s, "*`"); s {
	case resultStart, resultEnd, checksStart, checksEnd, patchBegin, patchEnd:
		return s
	}
	return ""
}

// parseAnswer finds the blocks and reads the answer by them.
func (p *parser) parseAnswer() (Answer, error) {
	if err := p.findBlocks(); err != nil {
		return Answer{}, err
	}
	switch {
	case len(p.results) > 1:
		return Answer{}, newError(ManyResults, "the answer has %d result blocks; give exactly one", len(p.results))
	case len(p.patches) > 1:
		return Answer{}, newError(ManyPatches, "the answer has %d patch blocks; put the whole patch into one", len(p.patches))
	case len(p.results) == 1:
		return p.parseDeclared()
	case len(p.patches) == 1:
		return Answer{}, newError(NoType, "the answer has a patch block but no result block; begin with %s, a line `type: PATCH`, a line `summary:` and %s", resultStart, resultEnd)
	}
	return p.parseUndeclared()
}

// findBlocks finds the blocks between markers. Lines that look like markers are content inside a fence
// that holds a bare diff, and inside a patch.
func (p *parser) findBlocks() *Error {
	var claims []block // the model's report on its own checks proves nothing
	for i := 0; i < len(p.lines); i++ {
		var into *[]block
		var end int
		switch m := p.markerAt(i); m {
		case "":
			p.prose = append(p.prose, i)
			continue
		case resultStart:
			into, end = &p.results, p.findClosing(i, resultEnd)
		case checksStart:
			into, end = &claims, p.findClosing(i, checksEnd)
		case patchBegin:
			into, end = &p.patches, p.findPatchEnd(i)
		default:
			return newError(Contradiction, "line %d has %s without the marker that begins it", i+1, m)
		}
		if end < 0 {
			return newError(Truncated, "%s on line %d has no end; the answer is incomplete or its markers are wrong", p.markerAt(i), i+1)
		}
		*into = append(*into, block{i + 1, end})
		i = end
	}
	return nil
}

// findClosing returns the line with the marker end, or -1 if another marker comes before it.
func (p *parser) findClosing(start int, end string) int {
	for i := start + 1; i < len(p.lines); i++ {
		switch p.markerAt(i) {
		case "":
		case end:
			return i
		default:
			return -1
		}
	}
	return -1
}

// findPatchEnd returns the line that ends the patch: the first end marker at which no hunk lacks lines. A
// hunk whose context lost its leading spaces may hold the marker itself.
func (p *parser) findPatchEnd(start int) int {
	last := -1
	var t udiff.Tracker
	for i := start + 1; i < len(p.lines); i++ {
		switch m := p.markerAt(i); {
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

// blockDiff returns the text of a block, without a fence around it. It is empty if the block is blank.
func (p *parser) blockDiff(b block) ([]byte, *Error) {
	first, last := b.from, b.to-1
	for first <= last && p.isBlank(first) {
		first++
	}
	for first <= last && p.isBlank(last) {
		last--
	}
	if first > last {
		return nil, nil
	}
	if f, ok := p.fenceAt(first); ok {
		if p.findFenceEnd(first, b.to, f) != last {
			return nil, newError(Contradiction, "the patch block contains a fence that does not enclose the whole patch")
		}
		lines, whole := p.linesInside(f, first+1, last)
		if !whole {
			return nil, newError(Contradiction, "some lines in the fence of the patch block have the indentation of the fence and others do not")
		}
		return bytes.Join(lines, nil), nil
	}
	return bytes.Join(p.lines[b.from:b.to], nil), nil
}

// isBlank reports whether line i is blank.
func (p *parser) isBlank(i int) bool { return len(bytes.TrimSpace(p.lines[i])) == 0 }

// restText returns the lines that are no part of the answer, and the texts of the result block without a place.
func (p *parser) restText() string {
	part := make([]bool, len(p.lines))
	for _, b := range p.taken {
		for i := max(b.from, 0); i < min(b.to, len(part)); i++ {
			part[i] = true
		}
	}
	var rest []string
	for i, line := range p.lines {
		if text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\ufffd")); !part[i] && text != "" && p.markerAt(i) == "" {
			rest = append(rest, text)
		}
	}
	return strings.Join(append(rest, p.unused...), "\n")
}

// proseText returns the prose around the blocks, in one line.
func (p *parser) proseText() string {
	var words []string
	for _, i := range p.prose {
		if _, ok := p.fenceAt(i); ok {
			continue
		}
		words = append(words, strings.Fields(strings.ToValidUTF8(string(p.lines[i]), "\ufffd"))...)
	}
	return strings.Join(words, " ")
}

// summarizeProse returns the prose around the blocks in one line.
func (p *parser) summarizeProse() string {
	const most = 500
	return display.Clip(p.proseText(), most)
}
