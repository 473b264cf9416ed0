package session

import (
	"errors"
	"time"

	"github.com/ratchet-dev/ratchet/internal/setup"
)

// CheckChange returns nil if the sticky choice can be changed so, and otherwise an error that says why not.
func (s *Snapshot) CheckChange(c setup.Change) error {
	switch {
	case s.isLeaving():
		return ErrRetired
	case c.IsZero():
		return errors.New("nothing is chosen: want a model, a mode, or both")
	}
	return c.Apply(setup.Choice{}).Validate(s.Input.Kind())
}

// changeChoice changes the sticky choice. It holds from the next turn on: the current turn ends as it began.
func (f fold) changeChoice(c setup.Change) error {
	if f.isLeaving() {
		return outOfTurn("a choice of a session that is retired")
	}
	chosen := c.Apply(f.Input.Choice())
	f.Input.Model, f.Input.Setup.Mode = chosen.Model, chosen.Mode
	if f.Process != nil {
		f.Process.Outdated = f.Process.Choice != chosen
	}
	f.NotBefore, f.Tries = time.Time{}, 0 // the choice may have been the cause
	return nil
}
