package egress

import (
	"sync"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/egress/forwarder"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// Boxes gives boxes a way to the targets of a configuration, and adds up the targets reached from all of
// them. Each program has a proxy of its own, which ends with it.
type Boxes struct {
	config Config

	mu   sync.Mutex
	open map[*Proxy]bool
	past Traffic // of the proxies that are closed
}

// NewBoxes returns Boxes. Without targets its boxes have no network.
func NewBoxes(c Config) *Boxes { return &Boxes{config: c, open: map[*Proxy]bool{}} }

// For returns the box for programs of a spec, as [box.Box.For] does: nil for a nil box. The boxes of
// nil Boxes have no network.
func (b *Boxes) For(in *box.Box, s box.Spec) proc.Box {
	if in == nil || b == nil || len(b.config.Targets) == 0 {
		return in.For(s)
	}
	return connected{boxes: b, box: in, spec: s}
}

// Traffic returns what the programs have reached and what they were refused so far.
func (b *Boxes) Traffic() Traffic {
	b.mu.Lock()
	defer b.mu.Unlock()
	var total Traffic
	total.add(b.past)
	for p := range b.open {
		total.add(p.Traffic())
	}
	return total
}

func (b *Boxes) openProxy() (*Proxy, error) {
	p, err := Open(b.config)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[p] = true
	return p, nil
}

// close ends a proxy and keeps its traffic.
func (b *Boxes) close(p *Proxy) {
	p.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, p)
	b.past.add(p.Traffic())
}

// connected is a box whose programs reach the targets.
type connected struct {
	boxes *Boxes
	box   *box.Box
	spec  box.Spec
}

// Enclose implements [proc.Box].
func (c connected) Enclose(argv []string, dir string, env []string) (*proc.Enclosure, error) {
	p, err := c.boxes.openProxy()
	if err != nil {
		return nil, err
	}
	c.spec.Egress = &box.Egress{Socket: p.Socket(), Forwarder: forwarder.Name, Args: p.Forwarder(box.EgressSocket).Args()}
	e, err := c.box.For(c.spec).Enclose(argv, dir, env)
	if err != nil {
		c.boxes.close(p)
		return nil, err
	}
	ended, release := e.Ended, e.Close
	e.Ended = func(exitCode int) (string, error) {
		cause, err := ended(exitCode)
		if err == nil && cause == "" { // a limit says more than a forwarder that it ended
			err = p.Begun()
		}
		return cause, err
	}
	e.Close = func() {
		release()
		c.boxes.close(p)
	}
	return e, nil
}
