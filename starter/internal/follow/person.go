package follow

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/artifacts"
	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
	"github.com/ratchet-dev/ratchet/starter/internal/draft"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// NewPerson returns the decider that asks the person at the terminal.
func NewPerson(c *factory.Factory, screen *terminal.Screen, id run.ID) *dialog.Person {
	p := &dialog.Person{
		Screen: screen, Lines: c.TypedLines(screen), Name: c.UserName(), Report: artifacts.Reports(c, id),
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
		p.NewReply = func(text string) (dialog.Draft, error) {
			return draft.New(c, "ratchet-*.reason.txt", text, "or give the reason in one line with n")
		}
		p.NewEdit = func(patch string) (dialog.Draft, error) {
			return draft.New(c, "ratchet-*.diff", patch, "or give a patch with `"+c.Hint("edit %s --patch FILE", id)+"`")
		}
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
