package activities

import (
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// maxPaid is how often the provider of one call is started at most, whatever
// keeps it from an answer: its own errors, a lost worker, a timeout. After that a
// person is asked.
const maxPaid = 5

// pay notes, on disk, that the provider is started, and says how often it was
// started for this call without an answer. One time too many is a permanent
// error.
func (a *Activities) pay(dir *rundir.Dir, c Call) (begun int, err error) {
	if begun, err = dir.Count(c.Artifact("begun")); err != nil {
		return begun, err
	}
	if begun <= maxPaid {
		return begun, nil
	}
	message := fmt.Sprintf("it was started %d times and never answered: the last time its worker was lost, or its time was up", maxPaid)
	err = dir.Log("provider-"+string(c.Phase), rundir.Error, "given up", map[string]any{
		"iteration": c.Iteration, "call": c.Number, "provider": c.Provider, "message": message,
	})
	if err != nil {
		return begun, err
	}
	return begun, temporal.NewNonRetryableApplicationError(message, string(provider.Unknown), nil, details(wasted(dir, c), retried(dir, c, maxPaid))...)
}

// settlePaid forgets the starts of a call that has an answer, or that waits for
// somebody: then it was no failure.
func settlePaid(dir *rundir.Dir, c Call) error { return dir.Forget(c.Artifact("begun")) }
