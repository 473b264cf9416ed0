package dispatch

import (
	"sync"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// heldLocks records the locks that this process holds. The lock on disk says only that this process
// has it. A workflow that was terminated releases no lock.
type heldLocks struct {
	mu   sync.Mutex
	held map[dispatch.GardenID]heldLock
	uses map[dispatch.GardenID]int // activities that need the lock
}

type heldLock struct{ nonce, run string }

func (c *heldLocks) addLock(claim Lock, run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = map[dispatch.GardenID]heldLock{}
	}
	c.held[claim.Target] = heldLock{claim.Nonce, run}
}

func (c *heldLocks) removeLock(claim Lock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[claim.Target].nonce == claim.Nonce {
		delete(c.held, claim.Target)
	}
}

// isAbandoned reports whether this process holds the lock for an execution that has
// ended. A target has one open execution at a time, so every execution other than
// the asking one has ended.
func (c *heldLocks) isAbandoned(id dispatch.GardenID, nonce, asks string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.held[id]
	return ok && h.nonce == nonce && h.run != asks && c.uses[id] == 0
}

// markInUse marks the lock of the target as in use until done is called.
func (d *Activities) markInUse(id dispatch.GardenID) (done func()) {
	add := func(n int) {
		d.held.mu.Lock()
		defer d.held.mu.Unlock()
		if d.held.uses == nil {
			d.held.uses = map[dispatch.GardenID]int{}
		}
		if d.held.uses[id] += n; d.held.uses[id] == 0 {
			delete(d.held.uses, id)
		}
	}
	add(1)
	return func() { add(-1) }
}
