package main

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/captured"
	"github.com/ratchet-dev/ratchet/internal/pty"
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

func (s *seat) types(keys string) {
	s.Helper()
	if _, err := io.WriteString(s.terminal, keys); err != nil {
		s.Fatal(err)
	}
}

// does types a line, and waits for the text that the program then shows.
func (s *seat) does(line, says string) {
	s.Helper()
	before := strings.Count(s.shown.String(), says)
	s.types(line + "\r")
	s.awaits(says, before+1)
}

// exitCode waits for the end of the program.
func (s *seat) exitCode() int {
	<-s.running.Done()
	return s.cmd.ProcessState.ExitCode()
}
