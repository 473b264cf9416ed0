package main

import (
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

var errNotYours = errors.New("a run's own programs decide nothing, of this run or another: decide from a terminal of your own")

// mayDecide refuses a process that a run, or an agent of Ratchet, has started. It is an
// additional safeguard only. It does not stop a process that reaches the engine by other means.
func (c *console) mayDecide() error {
	if id := c.getenv(proc.RunVariable); id != "" {
		return fmt.Errorf("%w (%s is %s)", errNotYours, proc.RunVariable, id)
	}
	if c.supervised != nil && c.supervised() {
		return fmt.Errorf("%w (a worker of Ratchet started this process)", errNotYours)
	}
	return nil
}
