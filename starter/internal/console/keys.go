package console

import (
	"os"

	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// TypedLines returns the lines that the person types while the command works.
func (c *Console) TypedLines(screen *terminal.Screen) *dialog.Lines {
	if c.lines == nil {
		c.lines = c.ReadTyped(screen)
	}
	return c.lines
}

// ReadTyped returns the lines that the person types: key by key on a terminal, else line by line.
func (c *Console) ReadTyped(screen *terminal.Screen) *dialog.Lines {
	f, ok := c.In.(*os.File)
	if !ok || !c.Interactive {
		return dialog.ReadLines(c.In, screen)
	}
	k, err := terminal.OpenKeyboard(f)
	if err != nil { // a terminal of another kind: it shows typed characters by itself
		return dialog.ReadLines(c.In, screen)
	}
	if c.Screen && c.Getenv("TERM") != "dumb" {
		k.HoldPastes(c.Out)
	}
	c.atEnd = append(c.atEnd, k.Close)
	return dialog.ReadKeys(k, screen)
}
