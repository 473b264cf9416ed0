package pty_test

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/pty"
)

func TestAProgramIsAtATerminal(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "test -t 0 -a -t 1 -a -t 2 && stty size && read word && echo \"got $word\"")
	terminal, err := pty.Start(cmd, 58, 34)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if _, err := io.WriteString(terminal, "hello\n"); err != nil {
		t.Fatal(err)
	}
	shown, err := io.ReadAll(terminal)
	if ended := cmd.Wait(); err != nil || ended != nil {
		t.Fatalf("%v, %v: %q", err, ended, shown)
	}
	lines := strings.Fields(string(bytes.ReplaceAll(shown, []byte("hello\r\n"), nil)))
	if got := strings.Join(lines, " "); !strings.Contains(got, "34 58") || !strings.Contains(string(shown), "got hello\r\n") {
		t.Errorf("shown: %q", shown)
	}
}

func TestAnInterruptIsTyped(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 1; done")
	terminal, err := pty.Start(cmd, 80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if _, err := io.ReadFull(terminal, make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(terminal, "\x03"); err != nil {
		t.Fatal(err)
	}
	shown, err := io.ReadAll(terminal)
	if _ = cmd.Wait(); err != nil || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("%v, %v: %q", err, cmd.ProcessState, shown)
	}
}

func TestNoProgram(t *testing.T) {
	if _, err := pty.Start(exec.Command("/no/such/program"), 80, 24); err == nil {
		t.Error("it was started")
	}
}

func TestATerminalIsResized(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 1; done")
	terminal, err := pty.Start(cmd, 80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if _, err := io.ReadFull(terminal, make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	if err := terminal.Resize(200, 50); err != nil {
		t.Fatal(err)
	}
	shown, err := io.ReadAll(terminal)
	if ended := cmd.Wait(); err != nil || ended != nil || !strings.Contains(string(shown), "50 200") {
		t.Errorf("%v, %v: %q", err, ended, shown)
	}
}

// A person closes the window of a program that shows nothing: the read that waits for it ends, and the program is told.
func TestAClosedTerminalEndsItsProgram(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "echo ready; while :; do sleep 1; done")
	terminal, err := pty.Start(cmd, 80, 24)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(terminal, make([]byte, len("ready\r\n"))); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(terminal)
		ended <- err
	}()
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		t.Errorf("the program ended with %v", err)
	}
}
