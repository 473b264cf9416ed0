package agenttest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

var _ agent.Watched = (*fakeSession)(nil)

// ReadMode is the mode of a Fake in which a session may do nothing but read.
const ReadMode = "read-only"

// beginTurn begins a turn with a message. The caller holds the lock.
func (s *fakeSession) beginTurn(text, marker string) string {
	s.keepMessage(fakemodel.Message{Role: fakemodel.User, Texts: []string{text}})
	within, interrupt := context.WithCancel(context.Background())
	t := &fakeTurn{fakeSession: s, id: uuid.NewString(), interrupt: interrupt, done: make(chan struct{})}
	s.turn = t
	s.past.mu.Lock()
	s.past.turns = append(s.past.turns, agent.ThreadTurn{ID: t.id, Status: "inProgress", Markers: []string{marker}})
	s.past.mu.Unlock()
	s.queue.Put(agent.TurnOpened{ID: t.id})
	s.queue.Put(agent.UserMessage{Turn: t.id, Marker: marker, First: true})
	go t.runTurn(within)
	return t.id
}

// closeTurn reports the end of the turn. The caller holds the lock.
func (t *fakeTurn) closeTurn(status string) {
	t.past.mu.Lock()
	for i := range t.past.turns {
		if turn := &t.past.turns[i]; turn.ID == t.id {
			turn.Status, turn.Ended = status, true
		}
	}
	t.past.mu.Unlock()
	t.queue.Put(agent.TurnClosed{ID: t.id, Status: status, At: time.Now()})
}

// takeSteered reports whether the turn was given messages that the model has not seen.
func (t *fakeTurn) takeSteered() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	some := t.steered > 0
	t.steered = 0
	return some
}

// Capabilities implements agent.Watched.
func (s *fakeSession) Capabilities() delivery.Capabilities {
	return delivery.Capabilities{
		ThreadStart: true, ThreadResume: true, TurnStart: true, CurrentStateSync: true, TurnCompleted: true, NegativeEnds: true,
		Steer: delivery.SteerProof{SameTurn: true, Reconciles: true, Ordered: true, Smoke: true, KeepsAnswers: true},
	}
}

// Thread implements agent.Watched.
func (s *fakeSession) Thread(ctx context.Context) (agent.Thread, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil || s.gone {
		return agent.Thread{}, errors.Join(err, agent.ErrGone)
	}
	reads := s.o.Sandbox == agent.ReadOnly || s.o.Choice().Mode == ReadMode
	t := agent.Thread{ID: s.id, Status: "idle", Allows: &delivery.Allows{Approval: s.o.Sandbox == agent.WorkspaceWrite && !reads, Network: s.o.Network, Write: !reads}}
	if s.turn != nil {
		t.Status, t.Active = "active", []agent.ActiveTurn{{ID: s.turn.id, Kind: delivery.RegularTurn}}
	}
	s.past.mu.Lock()
	defer s.past.mu.Unlock()
	t.Turns = slices.Clone(s.past.turns)
	return t, nil
}

// Deliver implements agent.Watched.
func (s *fakeSession) Deliver(ctx context.Context, d agent.Delivery) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := func(class delivery.Refusal, why error) (string, error) {
		return "", &agent.Refused{Class: class, Cause: why}
	}
	switch {
	case ctx.Err() != nil:
		return refused(delivery.NotSent, ctx.Err())
	case s.gone:
		return refused(delivery.NotSent, agent.ErrGone)
	case d.Expected == "" && s.turn != nil:
		return refused(delivery.Benign, agent.ErrBusy)
	case d.Expected != "" && (s.turn == nil || s.turn.id != d.Expected):
		return refused(delivery.Benign, agent.ErrNoTurn)
	}
	if s.fake.Took != nil {
		s.fake.Took(d)
	}
	failpoint.Hit("delivery.sent")
	if d.Expected == "" {
		return s.beginTurn(d.Text, d.Marker), nil
	}
	s.keepMessage(fakemodel.Message{Role: fakemodel.User, Texts: []string{d.Text}})
	s.turn.steered++
	s.past.mu.Lock()
	last := &s.past.turns[len(s.past.turns)-1]
	last.Markers = append(last.Markers, d.Marker)
	s.past.mu.Unlock()
	s.queue.Put(agent.UserMessage{Turn: s.turn.id, Marker: d.Marker})
	return s.turn.id, nil
}
