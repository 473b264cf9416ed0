package terminal_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/test/pty"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// TestAClosedKeyboardTakesNoKeyOfTheNext types while one reader of a terminal has ended and the next one has begun. The
// goroutine of the first may have been about to read when it was closed.
func TestAClosedKeyboardTakesNoKeyOfTheNext(t *testing.T) {
	user, program, err := pty.OpenPair(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	defer program.Close()
	first, err := terminal.OpenKeyboard(program)
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	for range first.Keys() { // its goroutine has ended
	}
	next, err := terminal.OpenKeyboard(program)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	for _, want := range "abcdefgh" {
		if _, err := user.WriteString(string(want)); err != nil {
			t.Fatal(err)
		}
		if n, err := first.ReadOnce(); n != 0 || err == nil {
			t.Fatalf("the first keyboard has read %d bytes, %v", n, err)
		}
		if key := <-next.Keys(); key.Char != want {
			t.Fatalf("%q was typed, the next keyboard has %+v", want, key)
		}
	}
}

// TestAKeyboardThatIsClosedInAPauseLeavesTheTerminalAlone closes the keyboard while a pager has the terminal, as an
// interrupt does. The pager keeps its mode, and the shell has its own one after both.
func TestAKeyboardThatIsClosedInAPauseLeavesTheTerminalAlone(t *testing.T) {
	user, program, err := pty.OpenPair(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	defer program.Close()
	shell := readMode(t, program)
	k, err := terminal.OpenKeyboard(program)
	if err != nil {
		t.Fatal(err)
	}
	resume := k.Pause()
	pager := shell
	pager.Lflag &^= unix.ICANON
	setMode(t, program, pager)
	k.Close()
	if got := readMode(t, program); got != pager {
		t.Errorf("the pager has the mode %+v, it set %+v", got, pager)
	}
	setMode(t, program, shell) // the pager ends
	resume()
	if got := readMode(t, program); got != shell {
		t.Errorf("the shell has the mode %+v, it had %+v", got, shell)
	}
}

func readMode(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	mode, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *mode
}

func setMode(t *testing.T, f *os.File, mode unix.Termios) {
	t.Helper()
	if err := unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, &mode); err != nil {
		t.Fatal(err)
	}
}

// TestAKeyboardEndsWithItsTerminal closes the window of a program that ignores the hang-up, as nohup has it: a read of
// such a terminal returns at once, without a byte and without an error.
func TestAKeyboardEndsWithItsTerminal(t *testing.T) {
	user, program, err := pty.OpenPair(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	k, err := terminal.OpenKeyboard(program)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	user.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range k.Keys() {
		}
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("it reads still")
	}
}

// A paste is marked while the keyboard has the terminal, and never for another program.
func TestPastesAreHeldWhileTheKeyboardHasTheTerminal(t *testing.T) {
	user, program, err := pty.OpenPair(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	defer program.Close()
	k, err := terminal.OpenKeyboard(program)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	var told strings.Builder
	k.HoldPastes(&told)
	resume := k.Pause()
	resume()
	if _, err := user.WriteString("\x1b[200~a\ny\r"); err != nil {
		t.Fatal(err)
	}
	for _, want := range "a y " {
		if key := <-k.Keys(); key.Char != want {
			t.Errorf("pasted: %+v, want %q", key, want)
		}
	}
	k.Close()
	if want := "\x1b[?2004h\x1b[?2004l\x1b[?2004h\x1b[?2004l"; told.String() != want {
		t.Errorf("the terminal was told %q, want %q", told.String(), want)
	}
}
