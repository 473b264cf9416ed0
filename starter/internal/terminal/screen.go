package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Screen prints lines. On a live screen one more line may move below
// them; other screens do not have that line. It is safe for concurrent use.
type Screen struct {
	Style
	w     io.Writer
	live  bool
	width func() int

	mu    sync.Mutex
	frame int
	drawn bool
}

// Options describe a screen.
type Options struct {
	Color bool
	Live  bool       // w is a terminal
	Width func() int // of the terminal in columns; nil or 0: 80
}

// NewScreen returns a screen that writes to w.
func NewScreen(w io.Writer, o Options) *Screen {
	return &Screen{Style: Colors(o.Color), w: w, live: o.Live, width: o.Width}
}

// Columns returns the width of the screen.
func (s *Screen) Columns() int {
	if s.width != nil {
		if n := s.width(); n > 0 {
			return n
		}
	}
	return 80
}

// Live reports whether the screen has the moving line.
func (s *Screen) Live() bool { return s.live }

// Line prints a line, or several.
func (s *Screen) Line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
	fmt.Fprintln(s.w, text)
}

// Linef is Line with a format.
func (s *Screen) Linef(format string, args ...any) { s.Line(fmt.Sprintf(format, args...)) }

// Note prints a dim sentence behind an indent. On a live screen it is broken between words, and each of
// its lines is indented.
func (s *Screen) Note(indent, text string) {
	lines := []string{text}
	if s.live {
		lines = Fold(text, s.Columns()-Width(indent))
	}
	for _, line := range lines {
		s.Line(indent + s.Dim(line))
	}
}

// Prompt prints text without ending the line.
func (s *Screen) Prompt(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
	fmt.Fprint(s.w, text)
}

// spinnerFrames of the spinner.
var spinnerFrames = strings.Split("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "")

// Spin draws the moving line with text; each call advances it. It does
// nothing on a screen that is not live.
func (s *Screen) Spin(text string) {
	if !s.live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frame = (s.frame + 1) % len(spinnerFrames)
	s.drawn = true
	fmt.Fprintf(s.w, "\r\x1b[K  %s %s", s.Accent(spinnerFrames[s.frame]), s.Dim(Clip(text, s.Columns()-5)))
}

// Clear removes the moving line.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
}

func (s *Screen) clearLocked() {
	if s.drawn {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.drawn = false
	}
}
