package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// output is the standard output of a command. It keeps the first error of a write: what prints line by line does not
// look at each, and the command says at its end that its output is cut off.
type output struct {
	io.Writer

	mu    sync.Mutex
	first error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil {
		o.first = err
	}
	return n, err
}

// Failed returns the first error of a write. A closed pipe counts as an error.
func (o *output) Failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

// Unwritten returns the error of an output that is cut off. A reader that has gone, such as head, wanted no more of it:
// that is no error.
func (o *output) Unwritten() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil || errors.Is(o.first, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("the output is cut off: %w", o.first)
}

// ScreenOn returns the screen on which a command shows things to a person.
func (c *Console) ScreenOn(w io.Writer) *terminal.Screen {
	if w == c.Out {
		w = c.Stdout
	}
	return terminal.NewScreen(w, terminal.Options{Color: c.wantsColors(), Live: c.Screen, Width: c.Width, Notice: terminal.Notices(c.Getenv), Silent: c.IsSilent()})
}

// ErrorScreen returns the screen for what goes to the standard error while a command works.
func (c *Console) ErrorScreen() *terminal.Screen {
	f, ok := c.Err.(*os.File)
	if !ok || !IsTerminal(f) {
		return terminal.NewScreen(c.Err, terminal.Options{})
	}
	return terminal.NewScreen(f, terminal.Options{Color: c.wantsColors(), Live: true, Width: func() int { return screenColumns(f) }})
}

func (c *Console) wantsColors() bool {
	return c.Screen && !c.Plain && c.Getenv("NO_COLOR") == "" && c.Getenv("TERM") != "dumb"
}

func (c *Console) Style() terminal.Style { return terminal.Colors(c.wantsColors()) }

// Columns returns the width of the screen; zero: the output is no screen.
func (c *Console) Columns() int {
	if !c.Screen || c.Width == nil {
		return 0
	}
	return c.Width()
}

// PrintWrapped prints lines, which a screen breaks between words. The lines of a command to copy are not printed so: the
// terminal itself wraps them in a way that it copies whole.
func (c *Console) PrintWrapped(format string, args ...any) {
	screen := c.ScreenOn(c.Out)
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		screen.Wrapped(line)
	}
}

// PrintJSON writes one object on one line. The line holds nothing that a terminal obeys.
func (c *Console) PrintJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := c.Out.Write(display.JSON(b.Bytes()))
	return err
}

// Printf prints to the standard output. Its error is reported at the end of the command; see output.
func (c *Console) Printf(format string, args ...any) {
	fmt.Fprintf(c.Stdout, format, args...)
}

// Ago returns how long ago a moment was.
func (c *Console) Ago(t time.Time) string { return display.Age(c.Now().Sub(t)) }
