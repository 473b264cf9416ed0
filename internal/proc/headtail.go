package proc

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// HeadTail keeps the first and the last bytes written to it, and counts the rest. It never grows
// beyond the two sizes, never fails, and may be read while it is written to.
type HeadTail struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring once it is full: next is where it starts
	next  int
	total int64

	maxHead, maxTail int
}

// NewHeadTail returns a HeadTail that keeps up to head bytes of the beginning and up to tail bytes
// of the end.
func NewHeadTail(head, tail int) *HeadTail {
	return &HeadTail{maxHead: max(head, 0), maxTail: max(tail, 0)}
}

// Write accepts all of p.
func (h *HeadTail) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(p)
	h.total += int64(n)

	room := min(h.maxHead-len(h.head), len(p))
	h.head = append(h.head, p[:room]...)
	p = p[room:]

	p = p[max(len(p)-h.maxTail, 0):]
	room = min(h.maxTail-len(h.tail), len(p))
	h.tail = append(h.tail, p[:room]...)
	for p = p[room:]; len(p) > 0; {
		copied := copy(h.tail[h.next:], p)
		h.next = (h.next + copied) % h.maxTail
		p = p[copied:]
	}
	return n, nil
}

// Bytes returns the number of bytes written so far.
func (h *HeadTail) Bytes() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total
}

// Text returns the kept beginning and end, and the number of bytes left out between them. An output
// that fits is in head, and the part that head cannot hold is in tail. Both are plain text and no
// longer than the sizes asked for: valid UTF-8 cut between characters, no terminal sequences, line
// ends as \n, and a question mark for any other control character.
func (h *HeadTail) Text() (head, tail string, omitted int64) {
	first, last, omitted := h.cutRaw()
	return plain(first), plain(last), omitted
}

// String returns the text with a line that says how much is left out.
func (h *HeadTail) String() string {
	head, tail, omitted := h.Text()
	if omitted == 0 {
		return head + tail
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", head, omitted, tail)
}

// RawText returns the kept bytes unchanged, for a text of which nothing may be hidden. The end follows the words that
// say how much is left out on their line: it may begin within a line, and must not pass for a whole one.
func (h *HeadTail) RawText() string {
	first, last, omitted := h.cutRaw()
	if omitted == 0 {
		return string(first) + string(last)
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]%s", first, omitted, last)
}

// cutRaw returns the kept bytes as Text divides them.
func (h *HeadTail) cutRaw() (first, last []byte, omitted int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	whole := h.total == int64(len(h.head)+len(h.tail))
	last = append(append([]byte{}, h.tail[h.next:]...), h.tail[:h.next]...)

	first = h.head
	if len(last) > 0 || !whole {
		cut := lastRune(first)
		if whole {
			last = append(append([]byte{}, first[cut:]...), last...)
		}
		first = first[:cut]
	}
	if !whole {
		last = last[firstRune(last):]
	}
	return first, last, h.total - int64(len(first)+len(last))
}

// terminal matches the sequences that a terminal obeys. A command for its operating system ends on its own line and
// within the length of a link: without its end it would take the lines after it along.
var (
	terminal = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]{0,500}(?:\x07|\x1b\\))`)
	lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")
)

func plain(b []byte) string {
	text := strings.ToValidUTF8(string(b), "?")
	text = lineEnds.Replace(terminal.ReplaceAllString(text, ""))
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}

// lastRune returns the index at which b must be cut to keep every character whole.
func lastRune(b []byte) int {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				break
			}
			return i
		}
	}
	return len(b)
}

// firstRune returns the index of the first whole character of b.
func firstRune(b []byte) int {
	for i := range min(len(b), utf8.UTFMax) {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return 0
}
