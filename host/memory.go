package host

import (
	"cmp"
	"runtime/debug"

	"go.temporal.io/sdk/worker"
)

// garbagePercent is the share of garbage, of what a worker holds, at which it collects. Most of what a worker holds waits
// for a person, and it allocates little: half of Go's own setting costs it nothing that can be measured.
const garbagePercent = 50

// boundMemory bounds what the process holds for the workflows that wait. The user's own GOGC wins.
func (h *Host) boundMemory() {
	worker.SetStickyWorkflowCacheSize(cmp.Or(h.config.CachedRuns, DefaultCachedRuns) + 1) // the SDK holds one less
	if _, set := h.config.lookup("GOGC"); !set {
		debug.SetGCPercent(garbagePercent)
	}
}
