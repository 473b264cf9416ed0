package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// newPerson returns the decider that asks the person at the terminal.
func (c *cli) newPerson(screen *terminal.Screen, id run.ID) *dialog.Person {
	p := &dialog.Person{
		Screen: screen, Lines: c.typedLines(screen), Name: c.userName(), Report: c.reportsOf(id),
		Load: func(ref run.Ref) ([]byte, error) {
			dir, err := c.openRecord(id)
			if err != nil {
				return nil, err
			}
			return dir.Load(ref)
		},
	}
	if c.screen {
		p.Page = func(text string) error { return c.pageText(text) }
		p.NewReply = func(text string) (dialog.Draft, error) { return c.newReply(text) }
	}
	return p
}

// typedLines returns the lines that the person types while the command works.
func (c *console) typedLines(screen *terminal.Screen) *dialog.Lines {
	if c.lines == nil {
		c.lines = c.readTyped(screen)
	}
	return c.lines
}

// readTyped returns the lines that the person types: key by key on a terminal, else line by line.
func (c *console) readTyped(screen *terminal.Screen) *dialog.Lines {
	f, ok := c.in.(*os.File)
	if !ok || !c.interactive {
		return dialog.ReadLines(c.in, screen)
	}
	k, err := terminal.OpenKeyboard(f)
	if err != nil { // a terminal of another kind: it shows typed characters by itself
		return dialog.ReadLines(c.in, screen)
	}
	if c.screen && c.getenv("TERM") != "dumb" {
		k.HoldPastes(c.out)
	}
	c.atEnd = append(c.atEnd, k.Close)
	return dialog.ReadKeys(k, screen)
}

// pageText shows a text in the person's pager.
func (c *cli) pageText(text string) error {
	pager := c.getenv("PAGER")
	if pager == "" {
		if _, err := exec.LookPath("less"); err != nil {
			return errors.New("there is no pager: set PAGER, or install less")
		}
		pager = "less -R"
	}
	cmd := exec.Command("sh", "-c", pager)
	cmd.Env = c.environ
	if c.getenv("LESS") == "" {
		cmd.Env = append(cmd.Environ(), "LESS=FRX")
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), c.out, c.err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the pager %q: %w", pager, err)
	}
	return nil
}

// newReply begins the reply by which a person refuses a patch.
func (c *cli) newReply(text string) (dialog.Draft, error) {
	return c.newDraft("ratchet-*.reason.txt", text, "or give the reason in one line with n")
}

// baselineLines tell at a gate what the checks said before the patch.
func baselineLines(a run.PendingApproval) []string {
	var lines []string
	if a.Baseline != "" {
		lines = append(lines, "baseline: "+story.OneLine(a.Baseline, 300))
	}
	for _, c := range a.Before {
		lines = append(lines, "failed before, too: "+story.OneLine(c, 160))
	}
	return lines
}

// tellEvents returns a function that prints a run's events as a story.
func (c *cli) tellEvents(screen *terminal.Screen, id run.ID) func(run.Event) error {
	t := &story.Teller{Style: screen.Style, Report: c.reportsOf(id)}
	return func(e run.Event) error {
		for _, line := range t.Tell(e) {
			screen.Wrapped(line)
		}
		return nil
	}
}
