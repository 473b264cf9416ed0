package session

import (
	"context"
	"errors"
	"strconv"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// Processes are the agent processes of this worker, for deliveries.
type Processes struct{ a *Activities }

// NewProcesses returns the agent processes that RunProcess of a owns.
func NewProcesses(a *Activities) Processes { return Processes{a} }

// Find returns the agent process of an epoch, if this worker owns it and it takes input.
func (p Processes) Find(id, epoch string) (agent.Session, bool) {
	n, err := strconv.Atoi(epoch)
	if err != nil {
		return nil, false
	}
	s, err := p.a.findProcess(session.ID(id), n)
	if err != nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.Session.(agent.Watched); ok {
		return &delivering{w, s}, true
	}
	return s.Session, s.Session != nil
}

// delivering is the session in an agent process. A delivery that begins a turn is noted as a message is, so that the turn is
// the process's own; one into the current turn is a part of that.
type delivering struct {
	agent.Watched
	process *agentProcess
}

// noteSteer says that the current turn reads a delivery from now on: it starts no run and uses no tool that needs a
// permission. This stays so where the steer fails, for that may not be known in time.
func (s *agentProcess) noteSteer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.delivery = true
	}
}

// Deliver implements agent.Watched.
func (d *delivering) Deliver(ctx context.Context, m agent.Delivery) (turn string, err error) {
	if m.Expected != "" {
		d.process.noteSteer()
		return d.Watched.Deliver(ctx, m)
	}
	h := Handover{
		Session: d.process.id, Epoch: d.process.epoch, ID: m.Marker, Left: provider.Left{Tokens: m.Tokens, Cost: m.Cost},
	}
	var sent error
	res, err := d.process.handOver(h, true, func() error {
		turn, sent = d.Watched.Deliver(ctx, m)
		if _, refused := errors.AsType[*agent.Refused](sent); refused {
			return agent.ErrBusy // it surely was not taken
		}
		return sent
	})
	switch {
	case sent != nil:
		return "", sent
	case err != nil: // the note cannot be kept, and so nothing was sent
		return "", &agent.Refused{Class: delivery.NotSent, Cause: err}
	case !res.Done:
		return "", &agent.Refused{Class: delivery.Benign, Cause: errors.New(res.Reason)}
	}
	return turn, nil
}
