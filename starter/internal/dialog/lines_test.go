package dialog_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// keyboard gives the keys of a test, one by one.
type keyboard chan terminal.Key

func (k keyboard) Keys() <-chan terminal.Key { return k }
func (keyboard) Pause() (resume func())      { return func() {} }

func (k keyboard) types(text string) {
	for _, char := range text {
		key := terminal.Key{Char: char}
		if char == '\n' {
			key = terminal.Key{Name: terminal.Enter}
		}
		k <- key
	}
}

// TestNoKeyBehindAnAnswerIsLost types an answer and at once the rest of a note that was half typed before the question.
// The program may take up the answer between any two of the keys.
func TestNoKeyBehindAnAnswerIsLost(t *testing.T) {
	var out captured.Output
	keys := make(keyboard)
	lines := dialog.ReadKeys(keys, terminal.NewScreen(&out, terminal.Options{}))
	for round := range 300 {
		keys.types("use a ")
		asked, ok := out.Await(t.Context(), func(said string) bool { return strings.HasSuffix(said, "use a ") })
		if !ok {
			t.Fatalf("round %d: what is typed is not shown", round)
		}
		go func() {
			if _, ok := out.Await(t.Context(), func(said string) bool { return questions(said) > questions(asked) }); ok {
				keys.types("y\ntable\n")
			}
		}()
		if line, err := lines.Ask(t.Context(), "Apply? [y n] "); line != "y" || err != nil {
			t.Fatalf("round %d: the answer is %q, %v", round, line, err)
		}
		select {
		case note := <-lines.Notes():
			if note != "use a table" {
				t.Fatalf("round %d: the note is %q", round, note)
			}
		case <-t.Context().Done():
			t.Fatalf("round %d: no note", round)
		}
	}
}

// An interrupt ends the input, too, when it gives the terminal back.
func TestAnInterruptIsNoEndOfTheInput(t *testing.T) {
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	keys := make(keyboard)
	close(keys)
	lines := dialog.ReadKeys(keys, terminal.NewScreen(&captured.Output{}, terminal.Options{}))
	eventually.Holds(t, "the input has ended", lines.Ended)
	for range 100 {
		if _, err := lines.Ask(ctx, "Apply? "); !errors.Is(err, interrupted) {
			t.Fatal(err)
		}
	}
	if _, err := lines.Ask(t.Context(), "Apply? "); !errors.Is(err, dialog.ErrUnanswered) {
		t.Error(err)
	}
}
