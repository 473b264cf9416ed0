package activities

import (
	"sync"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// claims are the locks that this process holds. The lock on disk says only that
// this process has it; a workflow that was terminated gives none back.
type claims struct {
	mu   sync.Mutex
	held map[dispatch.GardenID]claimed
	uses map[dispatch.GardenID]int // activities that need the lock
}

type claimed struct{ nonce, run string }

func (c *claims) took(claim Claim, run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = map[dispatch.GardenID]claimed{}
	}
	c.held[claim.Target] = claimed{claim.Nonce, run}
}

func (c *claims) gave(claim Claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[claim.Target].nonce == claim.Nonce {
		delete(c.held, claim.Target)
	}
}

// abandoned says whether we hold the lock for an execution that is over. A target
// has one open execution at a time, so over is each but the one that asks.
func (c *claims) abandoned(id dispatch.GardenID, nonce, asks string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.held[id]
	return ok && h.nonce == nonce && h.run != asks && c.uses[id] == 0
}

// using says, until done, that something goes on under the lock of the target.
func (d *Desk) using(id dispatch.GardenID) (done func()) {
	add := func(n int) {
		d.claims.mu.Lock()
		defer d.claims.mu.Unlock()
		if d.claims.uses == nil {
			d.claims.uses = map[dispatch.GardenID]int{}
		}
		if d.claims.uses[id] += n; d.claims.uses[id] == 0 {
			delete(d.claims.uses, id)
		}
	}
	add(1)
	return func() { add(-1) }
}
