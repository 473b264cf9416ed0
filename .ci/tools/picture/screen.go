package main

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// cell is a character and the letters of its style.
type cell struct {
	char  rune
	style string
}

// state is what a line showed from a time on.
type state struct {
	at    time.Duration
	cells []cell
}

// line is a line of the screen, with what it showed before it was complete. The last state is the line.
type line struct{ states []state }

func (l line) final() state { return l.states[len(l.states)-1] }

func (l line) text() string { return textOf(l.final().cells) }

func textOf(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteRune(c.char)
	}
	return b.String()
}

// screen reads what programs of this repository write to a terminal: text, colours, and one line that is
// written anew. It knows no other movement of the cursor.
type screen struct {
	columns int
	lines   []line // the last one is being written
	cells   []cell
	column  int
	style   string
	rest    []byte // of a sequence or a character that is not complete yet
}

func newScreen(columns int) *screen { return &screen{columns: columns, lines: []line{{}}} }

// write reads bytes that came at a time.
func (s *screen) write(b []byte, at time.Duration) {
	b = append(s.rest, b...)
	for len(b) > 0 {
		n := s.step(b, at)
		if n == 0 {
			break
		}
		b = b[n:]
	}
	s.rest = slices.Clone(b)
	s.keep(at)
}

// step reads one character or sequence and returns its length; zero if it is not complete.
func (s *screen) step(b []byte, at time.Duration) int {
	switch b[0] {
	case '\r':
		s.column = 0
		return 1
	case '\n':
		s.end(at)
		return 1
	case 0x1b:
		return s.sequence(b)
	case '\t':
		s.put(' ', at)
		for s.column%8 != 0 {
			s.put(' ', at)
		}
		return 1
	}
	if !utf8.FullRune(b) {
		return 0
	}
	r, n := utf8.DecodeRune(b)
	if r >= ' ' {
		s.put(r, at)
	}
	return n
}

// sequence reads a sequence that ends in a letter: m sets the style, K erases to the end of the line.
func (s *screen) sequence(b []byte) int {
	end := slices.IndexFunc(b, func(c byte) bool { return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' })
	if end < 0 {
		return 0
	}
	switch b[end] {
	case 'K':
		s.cells = s.cells[:min(s.column, len(s.cells))]
	case 'm':
		s.style = styles[string(b[2:end])]
	}
	return end + 1
}

// styles are the classes of the picture, by the codes of package terminal.
var styles = map[string]string{"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c"}

func (s *screen) put(r rune, at time.Duration) {
	if s.column == s.columns {
		s.end(at)
	}
	c := cell{r, s.style}
	if s.column < len(s.cells) {
		s.cells[s.column] = c
	} else {
		s.cells = append(s.cells, c)
	}
	s.column++
}

// keep notes what the line shows now, if it has changed.
func (s *screen) keep(at time.Duration) {
	l := &s.lines[len(s.lines)-1]
	if n := len(l.states); n == 0 && len(s.cells) > 0 || n > 0 && !slices.Equal(l.states[n-1].cells, s.cells) {
		l.states = append(l.states, state{at, slices.Clone(s.cells)})
	}
}

// end completes the line.
func (s *screen) end(at time.Duration) {
	l := &s.lines[len(s.lines)-1]
	if n := len(l.states); n == 0 || !slices.Equal(l.states[n-1].cells, s.cells) {
		l.states = append(l.states, state{at, slices.Clone(s.cells)})
	}
	s.cells, s.column = nil, 0
	s.lines = append(s.lines, line{})
}
