package main

import (
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

var errNotYours = errors.New("a run's own programs decide nothing, of this run or another: decide from a terminal of your own")

// mayDecide refuses what a run, or an agent of Ratchet, has started. It is a
// belt: who reaches the engine by other means is not held.
func (c console) mayDecide() error {
	if id := c.getenv(proc.RunVariable); id != "" {
		return fmt.Errorf("%w (%s is %s)", errNotYours, proc.RunVariable, id)
	}
	if c.supervised != nil && c.supervised() {
		return fmt.Errorf("%w (a worker of Ratchet started this process)", errNotYours)
	}
	return nil
}
