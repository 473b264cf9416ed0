package factory

import (
	"bufio"
	"errors"
	"strings"

	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// AskToAgree asks the person at the terminal. Anything but yes is an error, after which nothing is done.
func (c *Factory) AskToAgree(question string) error {
	if !c.Interactive {
		return usage.Errorf("nothing was changed: this is not a terminal, so agree with --yes")
	}
	c.Printf("%s [y/N] ", question)
	line, _ := bufio.NewReader(c.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was changed")
}
