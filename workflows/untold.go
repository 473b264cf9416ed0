package workflows

import "github.com/ratchet-dev/ratchet/internal/run"

// untold is what the work under way knows and no event tells yet. The event that ends the work tells it.
type untold struct {
	// Restored says how the branch was moved before the checks or while they ran; nil: it was not.
	Restored *run.Restored
}
