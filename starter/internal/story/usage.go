package story

import (
	"github.com/ratchet-dev/ratchet/internal/run"
)

// UsageOf returns the usage that an event records.
func UsageOf(e run.Event) (u run.Usage) {
	var found *run.Usage
	switch p := e.Payload.(type) {
	case run.PhaseCompleted:
		found = p.Usage
	case run.PhaseFailed:
		found = p.Usage
	case run.PatchProduced:
		found = p.Usage
	case run.EvaluationPassed:
		found = p.Usage
	case run.EvaluationFailedFixable:
		found = p.Usage
	case run.EvaluationFailedBlocked:
		found = p.Usage
	case run.RunFailed:
		found = p.Usage
	case run.RunCanceled:
		found = p.Usage
	}
	if found != nil {
		u = *found
	}
	return u
}
