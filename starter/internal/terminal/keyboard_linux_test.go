package terminal_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/pty"
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
