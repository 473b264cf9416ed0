package main

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

// failed returns the first error of a write, that of a reader that has gone included.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

// unwritten returns the error of an output that is cut off. A reader that has gone, such as head, wanted no more of it:
// that is no error.
func (o *output) unwritten() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil || errors.Is(o.first, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("the output is cut off: %w", o.first)
}

// screenOn returns the screen on which a command shows things to a person.
func (c *console) screenOn(w io.Writer) *terminal.Screen {
	if w == c.out {
		w = c.stdout
	}
	return terminal.NewScreen(w, terminal.Options{Color: c.wantsColors(), Live: c.screen, Width: c.width, Notice: terminal.Notices(c.getenv), Silent: c.isSilent()})
}

// errorScreen returns the screen for what the standard error tells while a command works.
func (c *console) errorScreen() *terminal.Screen {
	f, ok := c.err.(*os.File)
	if !ok || !isTerminal(f) {
		return terminal.NewScreen(c.err, terminal.Options{})
	}
	return terminal.NewScreen(f, terminal.Options{Color: c.wantsColors(), Live: true, Width: func() int { return screenColumns(f) }})
}

func (c *console) wantsColors() bool {
	return c.screen && !c.plain && c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb"
}

func (c *console) style() terminal.Style { return terminal.Colors(c.wantsColors()) }

// columns returns the width of the screen; zero: the output is no screen.
func (c *console) columns() int {
	if !c.screen || c.width == nil {
		return 0
	}
	return c.width()
}

// printWrapped prints lines, which a screen breaks between words. The lines of a command to copy are not printed so: the
// terminal itself wraps them in a way that it copies whole.
func (c *console) printWrapped(format string, args ...any) {
	screen := c.screenOn(c.out)
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		screen.Wrapped(line)
	}
}

// printJSON writes one object on one line. The line holds nothing that a terminal obeys.
func (c *console) printJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := c.out.Write(display.JSON(b.Bytes()))
	return err
}

// printf prints to the standard output. Its error is told at the end of the command; see output.
func (c *console) printf(format string, args ...any) {
	fmt.Fprintf(c.stdout, format, args...)
}
