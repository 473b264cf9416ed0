package host

import (
	"cmp"
	"context"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

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

const (
	// freeEvery is the interval at which the process looks whether it is idle.
	freeEvery = 10 * time.Second
	// idleBytes is the most that an idle process allocates in one interval. A worker without work polls and sweeps,
	// which takes some 100 KB.
	idleBytes = 4 << 20
	// worthBytes is the least that the process has allocated since it last gave memory back.
	worthBytes = 16 << 20
)

// freeWhenIdle gives memory back to the system whenever the process has become idle, until ctx ends or stop is called.
// The Go runtime collects garbage when a process allocates. One whose workflows all wait would keep the garbage of
// their beginnings for days.
func freeWhenIdle(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(freeEvery)
		defer tick.Stop()
		var m memory
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				m.freeIfIdle()
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// memory remembers what the process had allocated, in total, at the last look and when it last gave memory back.
type memory struct{ seen, freed uint64 }

func (m *memory) freeIfIdle() {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	if m.isDue(sample[0].Value.Uint64()) {
		debug.FreeOSMemory()
	}
}

// isDue reports whether the process is idle and has memory to give back. allocated is what it has allocated in total.
func (m *memory) isDue(allocated uint64) bool {
	idle := allocated-m.seen <= idleBytes
	m.seen = allocated
	if !idle || allocated-m.freed < worthBytes {
		return false
	}
	m.freed = allocated
	return true
}
