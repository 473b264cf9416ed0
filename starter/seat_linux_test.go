package main

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/pty"
)

// seat is a person who watches a program, at a terminal of theirs.
type seat struct {
	*testing.T
	cmd      *exec.Cmd
	terminal *pty.Terminal
	shown    captured.Output
	running  context.Context // ends after the program, when all that it has shown is in shown
}

// sitDown starts the program at a terminal of that size.
func sitDown(t *testing.T, cmd *exec.Cmd, columns, rows int) *seat {
	t.Helper()
	running, end := context.WithCancelCause(t.Context())
	s := &seat{T: t, cmd: cmd, running: running}
	var err error
	if s.terminal, err = pty.Start(cmd, columns, rows); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.terminal.Close()
		if t.Failed() {
			t.Logf("shown:\n%s", s.shown.String())
		}
	})
	go func() {
		_, _ = io.Copy(&s.shown, s.terminal)
		end(errors.Join(errors.New("the program has ended"), cmd.Wait()))
	}()
	return s
}

// awaits waits until the program has shown a text so many times.
func (s *seat) awaits(text string, times int) {
	s.Helper()
	limit, cancel := context.WithTimeout(s.running, 5*time.Minute)
	defer cancel()
	if _, ok := s.shown.Await(limit, func(shown string) bool { return strings.Count(shown, text) >= times }); !ok {
		s.Fatalf("%q is not shown %d times: %v", text, times, context.Cause(limit))
	}
}

// awaitsAfter waits until the program has shown a text behind the last of another.
func (s *seat) awaitsAfter(mark, text string) {
	s.Helper()
	limit, cancel := context.WithTimeout(s.running, 5*time.Minute)
	defer cancel()
	behind := func(shown string) bool {
		at := strings.LastIndex(shown, mark)
		return at >= 0 && strings.Contains(shown[at:], text)
	}
	if _, ok := s.shown.Await(limit, behind); !ok {
		s.Fatalf("%q is not shown behind %q: %v", text, mark, context.Cause(limit))
	}
}

// awaitsPrompt waits until the program reads a line: what it has shown ends with a prompt, behind which nothing is
// typed. A line that is begun before answers nothing.
func (s *seat) awaitsPrompt() {
	s.Helper()
	limit, cancel := context.WithTimeout(s.running, 5*time.Minute)
	defer cancel()
	if _, ok := s.shown.Await(limit, endsInPrompt); !ok {
		s.Fatalf("no prompt is shown: %v", context.Cause(limit))
	}
}

// promptEnd matches the end of what a program shows while it reads a line. Colours may surround the blank.
var promptEnd = regexp.MustCompile(`(\]|\)|:|to the board)(\x1b\[\d*m)* (\x1b\[\d*m)*$`)

func endsInPrompt(shown string) bool {
	return promptEnd.MatchString(shown[max(len(shown)-100, 0):])
}

// types presses keys at once. A line for a prompt is typed by answers.
func (s *seat) types(keys string) {
	s.Helper()
	if _, err := io.WriteString(s.terminal, keys); err != nil {
		s.Fatal(err)
	}
}

// answers types a line at the next prompt. It returns the length of what had been shown before.
func (s *seat) answers(line string) (before int) {
	s.Helper()
	s.awaitsPrompt()
	before = len(s.shown.String())
	s.types(line + "\r")
	return before
}

// does types a line at the next prompt, and waits for the text that the program then shows.
func (s *seat) does(line, says string) {
	s.Helper()
	before := s.answers(line)
	limit, cancel := context.WithTimeout(s.running, 5*time.Minute)
	defer cancel()
	if _, ok := s.shown.Await(limit, func(shown string) bool { return strings.Contains(shown[before:], says) }); !ok {
		s.Fatalf("%q is not shown behind the answer %q: %v", says, line, context.Cause(limit))
	}
}

// exitCode waits for the end of the program.
func (s *seat) exitCode() int {
	s.Helper()
	select {
	case <-s.running.Done():
	case <-time.After(5 * time.Minute):
		s.Fatal("the program does not end")
	}
	return s.cmd.ProcessState.ExitCode()
}
