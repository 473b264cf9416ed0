package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// newDecider returns the decider that asks the person at the terminal.
func newDecider(c *factory.Factory, screen *terminal.Screen, id run.ID) *dialog.Person {
	p := &dialog.Person{
		Screen: screen, Lines: c.TypedLines(screen), Name: c.UserName(), Report: reportsOf(c, id),
		Load: func(ref run.Ref) ([]byte, error) {
			dir, err := c.OpenRecord(id)
			if err != nil {
				return nil, err
			}
			return dir.Load(ref)
		},
	}
	if c.Screen {
		p.Page = func(text string) error { return pageText(c, text) }
		p.NewReply = func(text string) (dialog.Draft, error) { return newReply(c, text) }
	}
	return p
}

// pageText shows a text in the person's pager.
func pageText(c *factory.Factory, text string) error {
	pager := c.Getenv("PAGER")
	if pager == "" {
		if _, err := exec.LookPath("less"); err != nil {
			return errors.New("there is no pager: set PAGER, or install less")
		}
		pager = "less -R"
	}
	cmd := exec.Command("sh", "-c", pager)
	cmd.Env = c.Environ
	if c.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Environ(), "LESS=FRX")
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), c.Out, c.Err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the pager %q: %w", pager, err)
	}
	return nil
}

// newReply begins the reply by which a person refuses a patch.
func newReply(c *factory.Factory, text string) (dialog.Draft, error) {
	return newDraft(c, "ratchet-*.reason.txt", text, "or give the reason in one line with n")
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
func tellEvents(c *factory.Factory, screen *terminal.Screen, id run.ID) func(run.Event) error {
	t := &story.Teller{Style: screen.Style, Report: reportsOf(c, id)}
	return func(e run.Event) error {
		for _, line := range t.Tell(e) {
			screen.Wrapped(line)
		}
		return nil
	}
}
