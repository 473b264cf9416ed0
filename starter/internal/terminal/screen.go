package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// Screen prints lines. On a live screen a moving line and a foot may stand below them; other screens have
// neither. It is safe for concurrent use.
type Screen struct {
	Style
	w      io.Writer
	live   bool
	width  func() int
	notice func(string) string
	silent bool

	mu     sync.Mutex
	frame  int
	moving string // the moving line; empty: none
	foot   string // the line below it; empty: none
	prompt string // what a person is asked for on the last line; empty: nothing
	typed  string // what the person has typed there
	drawn  []string
}

// Options describe a screen.
type Options struct {
	Color bool
	Live  bool       // w is a terminal
	Width func() int // of the terminal in columns; nil or 0: 80
	// Notice returns the sequence that notifies the person; see Notices. Nil: the screen does not call. Silent: it
	// does not, either.
	Notice func(text string) string
	Silent bool
}

// NewScreen returns a screen that writes to w.
func NewScreen(w io.Writer, o Options) *Screen {
	return &Screen{Style: Colors(o.Color), w: w, live: o.Live, width: o.Width, notice: o.Notice, silent: o.Silent}
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

// Line prints one or more lines above the moving line.
func (s *Screen) Line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eraseLocked()
	fmt.Fprintln(s.w, text)
	if s.foot != "" || s.prompt != "" {
		s.drawLocked()
	}
}

// Linef is Line with a format.
func (s *Screen) Linef(format string, args ...any) { s.Line(fmt.Sprintf(format, args...)) }

// Wrapped prints a line. On a live screen it is broken between words where it is too long, and what
// follows is indented below it.
func (s *Screen) Wrapped(line string) {
	if s.live {
		line = strings.Join(Wrap(line, s.Columns()-1), "\n")
	}
	s.Line(line)
}

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

// Call rings the bell of a live screen, and asks its terminal to notify the person, who may look elsewhere.
// Text must hold no control characters.
func (s *Screen) Call(text string) {
	if !s.live || s.silent || s.notice == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprint(s.w, "\a", s.notice(text))
}

// Notices returns the sequence by which a terminal notifies its user, chosen by its environment: OSC 777
// for urxvt, foot and the terminals of VTE, OSC 9 for every other. It is empty for the console of Linux, which would
// print it and has a bell. Notices returns nil for a terminal that would print the bell, too.
func Notices(getenv func(string) string) func(text string) string {
	term := getenv("TERM")
	switch {
	case term == "" || term == "dumb":
		return nil
	case term == "linux":
		return func(string) string { return "" }
	case getenv("VTE_VERSION") != "" || strings.HasPrefix(term, "rxvt") || strings.HasPrefix(term, "foot"):
		return func(text string) string { return "\x1b]777;notify;Ratchet;" + text + "\x1b\\" }
	}
	return func(text string) string { return "\x1b]9;" + text + "\x1b\\" }
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
	s.moving = "  " + s.Accent(spinnerFrames[s.frame]) + " " + s.Dim(Clip(text, s.Columns()-5))
	s.redrawLocked()
}

// SetFoot sets the line below the moving line; empty: none. It does nothing on a screen that is not live.
func (s *Screen) SetFoot(text string) {
	if !s.live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foot = text
}

// SetTyped shows the text that a person is typing behind a prompt. It takes the place of the foot while
// there is any. An empty prompt takes both away.
func (s *Screen) SetTyped(prompt, typed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prompt == prompt && s.typed == typed {
		return
	}
	more, longer := strings.CutPrefix(typed, s.typed)
	longer = longer && prompt == s.prompt && len(s.drawn) > 0
	s.prompt, s.typed = prompt, typed
	if last := len(s.drawn) - 1; longer && Width(s.drawn[last])+Width(more) < s.Columns() {
		fmt.Fprint(s.w, more) // the cursor stands where it belongs
		s.drawn[last] += more
		return
	}
	s.redrawLocked()
}

// leastTyped is the number of columns that a prompt leaves for typed text, if it can.
const leastTyped = 10

// FitPrompt returns the last row of a prompt for SetTyped, after it has printed the rows before: on a live screen a
// long prompt is broken between words.
func (s *Screen) FitPrompt(prompt string) string {
	columns := s.Columns() - leastTyped
	if !s.live || Width(prompt) <= columns || columns < leastTyped {
		return prompt
	}
	rows := Wrap(prompt, columns)
	for _, row := range rows[:len(rows)-1] {
		s.Line(row)
	}
	return rows[len(rows)-1]
}

// KeepTyped makes the prompt and the text typed behind it a printed line.
func (s *Screen) KeepTyped() {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.prompt + s.typed
	s.prompt, s.typed = "", ""
	if len(s.drawn) == 1 && s.drawn[0] == line {
		fmt.Fprintln(s.w)
		s.drawn = nil
		return
	}
	s.eraseLocked()
	if s.live {
		line = strings.Join(Wrap(line, s.Columns()-1), "\n")
	}
	fmt.Fprintln(s.w, line)
}

// Clear removes the moving line. Foot and prompt go with it, and come back with the next of them.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
}

func (s *Screen) clearLocked() {
	s.eraseLocked()
	s.moving = ""
}

// redrawLocked replaces the lines below the printed ones.
func (s *Screen) redrawLocked() {
	if s.rowsDrawn() != 1 || s.moving == "" && s.prompt == "" && s.foot == "" { // else the new line replaces the old one
		s.eraseLocked()
	}
	s.drawLocked()
}

// drawLocked draws the moving line, and the prompt or the foot below it. The cursor stays at their end.
func (s *Screen) drawLocked() {
	var lines []string
	if s.moving != "" {
		lines = append(lines, s.moving)
	}
	columns := s.Columns()
	switch {
	case s.prompt != "":
		room := max(columns-Width(s.prompt)-1, 1)
		lines = append(lines, s.prompt+clipLeft(s.typed, room))
	case s.foot != "":
		lines = append(lines, s.Dim(Clip(s.foot, columns-1)))
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprint(s.w, "\r\x1b[K", strings.Join(lines, "\n\x1b[K"))
	s.drawn = lines
}

// eraseLocked removes what drawLocked has drawn. A terminal that has become narrower since may show a line
// of it on several rows.
func (s *Screen) eraseLocked() {
	if len(s.drawn) == 0 {
		return
	}
	if rows := s.rowsDrawn(); rows > 1 {
		fmt.Fprintf(s.w, "\r\x1b[%dA\x1b[J", rows-1)
	} else {
		fmt.Fprint(s.w, "\r\x1b[K")
	}
	s.drawn = nil
}

// rowsDrawn returns the number of rows that the drawn lines take.
func (s *Screen) rowsDrawn() (rows int) {
	columns := s.Columns()
	for _, line := range s.drawn {
		rows += 1 + max(Width(line)-1, 0)/columns
	}
	return rows
}

// clipLeft returns the end of text that fits into a width. What it costs follows from the width: a line is drawn again for
// each key of a long text that is pasted.
func clipLeft(text string, width int) string {
	from := len(text)
	for from > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:from])
		if width -= runeWidth(r); width < 0 {
			break
		}
		from -= size
	}
	return text[from:]
}
