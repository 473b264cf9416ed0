package claude

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
)

var (
	_ agent.Watched  = (*session)(nil)
	_ agent.Modelled = (*session)(nil)
)

// errNoSteer refuses a message into the current turn: the client queues it for a turn of its own.
var errNoSteer = errors.New("claude takes no messages during a turn")

// Capabilities implements agent.Watched.
func (s *session) Capabilities() delivery.Capabilities { return agent.OwnedCapabilities() }

// Thread implements agent.Watched. The client has no read of its thread, and begins no turn by itself (see noTools): the
// account of its one owner is the read.
func (s *session) Thread(ctx context.Context) (agent.Thread, error) {
	if err := ctx.Err(); err != nil {
		return agent.Thread{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Child.Alive() {
		return agent.Thread{}, agent.ErrGone
	}
	return s.owned.Thread(s.id.id, allowsOf(s.o)), nil
}

// allowsOf returns what the session's tools may do. A session that may only read has three tools, none of which asks.
func allowsOf(o agent.Options) *delivery.Allows {
	if o.Sandbox == agent.ReadOnly {
		return &delivery.Allows{}
	}
	return &delivery.Allows{Approval: o.Choice().Mode != bypassMode, Network: true, Write: true}
}

// Deliver implements agent.Watched. The client repeats the message when it takes it up, with the marker, which is the id
// of the turn.
func (s *session) Deliver(ctx context.Context, d agent.Delivery) (string, error) {
	var malformed error
	if d.Text == "" || uuid.Validate(d.Marker) != nil {
		malformed = badRequest("a result without a text, or with the marker %q", d.Marker)
	}
	if err := d.CheckOwned(ctx, errNoSteer, malformed); err != nil {
		return "", err
	}
	t, err := s.beginTurn(d.Text, d.Marker, true)
	if err != nil {
		return "", agent.RefuseOwned(err)
	}
	if err := s.sendPrompt(ctx, d.Text, d.Marker); err != nil {
		return "", err // a part of it may have been written
	}
	failpoint.Hit("delivery.sent")
	select {
	case <-t.taken:
		return t.id, nil
	case <-s.Over:
		return "", agent.ErrGone
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// takeReplay takes the client's repetition of a message of ours: it has begun the turn.
func (s *session) takeReplay(line []byte) bool {
	f := parseMessage(line)
	t := s.turn
	if !f.Replay || t == nil || f.UUID != t.id || t.isTaken {
		return false
	}
	t.isTaken = true
	close(t.taken)
	s.Queue.Put(agent.TurnOpened{ID: t.id})
	m := agent.UserMessage{Turn: t.id, First: true}
	if t.delivery {
		m.Marker = t.id
	}
	s.Queue.Put(m)
	return true
}
