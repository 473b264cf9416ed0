package dialog

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// maxLine is the maximum length of a line that a person types.
const maxLine = run.MaxTextBytes + 1

// ErrUnanswered reports that the person left, or decides later.
var ErrUnanswered = errors.New("no one answered")

// Lines gives the lines that a person types. A line answers a question only if it was begun after the
// question: an earlier line cannot be meant for it.
type Lines struct {
	screen *terminal.Screen
	keys   Keyboard    // nil: the terminal, or a pipe, gives whole lines
	lines  chan string // holds the line that answers, at most one
	notes  chan string // holds lines that were typed while nothing was asked
	ended  chan struct{}

	mu     sync.Mutex
	prompt string // of the question in progress; empty: none
	typed  terminal.Typed
	half   terminal.Typed // the half typed note that the question in progress has put aside
}

// Keyboard gives the keys that a person presses; see [terminal.Keyboard].
type Keyboard interface {
	Keys() <-chan terminal.Key
	Pause() (resume func())
}

// maxNotes bounds the lines that wait in Notes. More are dropped.
const maxNotes = 16

func newLines(screen *terminal.Screen) *Lines {
	return &Lines{screen: screen, lines: make(chan string, 1), notes: make(chan string, maxNotes), ended: make(chan struct{})}
}

// ReadLines reads whole lines.
func ReadLines(r io.Reader, screen *terminal.Screen) *Lines {
	l := newLines(screen)
	go func() {
		defer close(l.ended)
		scan := bufio.NewScanner(r)
		scan.Buffer(make([]byte, 0, 4096), maxLine)
		for scan.Scan() {
			l.takeLine(strings.TrimSpace(scan.Text()))
		}
	}()
	return l
}

// ReadKeys reads keys, and shows the typed characters on the screen.
func ReadKeys(k Keyboard, screen *terminal.Screen) *Lines {
	l := newLines(screen)
	l.keys = k
	go func() {
		defer close(l.ended)
		for key := range k.Keys() {
			if !l.pressKey(key) {
				return
			}
		}
	}()
	return l
}

// pressKey handles a key. It returns false at the end of the input.
func (l *Lines) pressKey(key terminal.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case key.Name == terminal.EndInput && l.typed.String() == "":
		return false
	case key.Name == terminal.Escape:
		l.typed.Take()
	case l.typed.Press(key):
		if l.prompt != "" { // it was shown up to the last key
			l.screen.SetTyped(l.prompt, l.typed.String())
		}
		line := l.typed.Take()
		if l.prompt != "" {
			l.screen.KeepTyped()
		}
		l.takeLocked(line)
	}
	l.showLocked()
	return true
}

// notePrompt stands before a line that is typed while nothing is asked.
const notePrompt = "  › "

// showLocked shows the typed line.
func (l *Lines) showLocked() {
	if l.keys == nil {
		return
	}
	prompt := l.prompt
	if prompt == "" && l.typed.String() != "" {
		prompt = notePrompt
	}
	l.screen.SetTyped(prompt, l.typed.String())
}

func (l *Lines) takeLine(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.takeLocked(line)
}

// takeLocked gives a line to the question in progress, or keeps it as a note. With its answer a question is over at
// once: the next key belongs to the note that was half typed before it.
func (l *Lines) takeLocked(line string) {
	if l.prompt != "" {
		l.prompt = ""
		l.typed, l.half = l.half, terminal.Typed{}
		l.lines <- line
		return
	}
	if line == "" {
		return
	}
	select {
	case l.notes <- line:
	default:
	}
}

// Notes returns the channel of the lines that were typed while nothing was asked.
func (l *Lines) Notes() <-chan string { return l.notes }

// Typing reports whether the person sees typed characters while nothing is asked.
func (l *Lines) Typing() bool { return l.keys != nil }

// Ended reports whether the input has ended: nothing will be answered any more.
func (l *Lines) Ended() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// Ask asks a question and waits for one line. The error is ErrUnanswered at the end of the input. A note
// that was half typed comes back afterwards.
func (l *Lines) Ask(ctx context.Context, prompt string) (string, error) {
	if l.keys != nil {
		prompt = l.screen.FitPrompt(prompt)
	}
	l.beginPrompt(prompt)
	defer l.endPrompt()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case line := <-l.lines:
		return line, nil
	case <-l.ended:
	}
	select {
	case line := <-l.lines:
		return line, nil
	default:
	}
	if ctx.Err() != nil { // an interrupt gives the terminal back, which ends the input
		return "", context.Cause(ctx)
	}
	return "", ErrUnanswered
}

// beginPrompt shows the prompt, and puts a half typed note aside.
func (l *Lines) beginPrompt(prompt string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.half, l.typed = l.typed, terminal.Typed{}
	l.prompt = prompt
	select {
	case <-l.lines:
	default:
	}
	if l.keys == nil {
		l.screen.Prompt(prompt)
	}
	l.showLocked()
}

// endPrompt ends a question that no line has answered.
func (l *Lines) endPrompt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.prompt == "" {
		return
	}
	l.prompt = ""
	l.screen.SetTyped("", "")
	l.screen.Line("")
	l.typed, l.half = l.half, terminal.Typed{}
	l.showLocked()
}

// Suspend gives the terminal to another program until resume is called.
func (l *Lines) Suspend() (resume func()) {
	l.screen.SetTyped("", "")
	l.screen.Clear()
	if l.keys == nil {
		return func() {}
	}
	return l.keys.Pause()
}
