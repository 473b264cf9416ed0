package pi

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
)

var (
	_ agent.Watched  = (*session)(nil)
	_ agent.Modelled = (*session)(nil)
)

// errUnproved refuses a message into the current turn. Pi takes one, and may take it up in another run of its own after
// the turn has settled: that it never does is not proved.
var errUnproved = errors.New("it is not proved that pi takes the message into this turn")

// Capabilities implements agent.Watched.
func (s *session) Capabilities() delivery.Capabilities { return agent.OwnedCapabilities() }

// Thread implements agent.Watched. Pi itself says whether it works; what its turns are is the account of its one owner,
// because pi begins none by itself.
func (s *session) Thread(ctx context.Context) (agent.Thread, error) {
	if !s.Child.Alive() {
		return agent.Thread{}, agent.ErrGone
	}
	data, err := s.callPi(ctx, "get_state")
	if err != nil {
		return agent.Thread{}, err
	}
	now := decodeLenient[state](data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.SessionID != s.id {
		return agent.Thread{}, badRequest("pi was asked for session %s and returned %q", s.id, now.SessionID)
	}
	t := s.owned.Thread(s.id, allowsOf(s.trust, s.o))
	if now.Running && t.Status == "idle" {
		t.Status = "active" // a turn that Ratchet did not begin
	}
	return t, nil
}

// allowsOf returns what the session's tools may do. The gate denies a session that may only read everything but to read,
// without asking. The user's extensions are beyond the gate.
func allowsOf(t Trust, o agent.Options) *delivery.Allows {
	if o.Sandbox == agent.ReadOnly && t == TrustNobody {
		return &delivery.Allows{}
	}
	return &delivery.Allows{Approval: o.Sandbox != agent.FullAccess, Network: true, Write: true}
}

// Deliver implements agent.Watched. The marker is the id of the turn, and stands in the text, by which pi tells that it
// has taken the message up.
func (s *session) Deliver(ctx context.Context, d agent.Delivery) (string, error) {
	var malformed error
	if d.Marker == "" || !strings.Contains(d.Text, d.Marker) {
		malformed = badRequest("a result whose text lacks its marker %q", d.Marker)
	}
	if err := d.CheckOwned(ctx, errUnproved, malformed); err != nil {
		return "", err
	}
	t, err := s.beginTurn(d.Text, d.Marker)
	if err != nil {
		return "", agent.RefuseOwned(err)
	}
	failpoint.Hit("delivery.sent")
	select {
	case <-t.taken:
		return t.id, nil
	case <-t.ended:
		return s.endedDelivery(t)
	case <-s.Over:
		return "", agent.ErrGone
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// endedDelivery returns the answer to a delivery whose turn has ended: pi may have taken the message up just before.
func (s *session) endedDelivery(t *turn) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.isTaken {
		return t.id, nil
	}
	return "", badRequest("pi ended a turn that lacks its message: %s", t.failure)
}

// takeUserMessage takes a user's message that pi has taken up.
func (s *session) takeUserMessage(t *turn, text string) {
	t.messages++
	m := agent.UserMessage{Turn: t.id, First: t.messages == 1}
	if t.marker != "" && strings.Contains(text, t.marker) {
		m.Marker = t.marker
	}
	if t.messages == 1 {
		s.Queue.Put(agent.TurnOpened{ID: t.id})
	}
	s.Queue.Put(m)
	if m.Marker != "" && !t.isTaken {
		t.isTaken = true
		close(t.taken)
	}
}

// closeOwned reports the end of a turn that pi has settled.
func (s *session) closeOwned(t *turn) {
	s.owned.End(t.id, t.end.Status)
	if t.messages > 0 {
		s.Queue.Put(agent.TurnClosed{ID: t.id, Status: string(t.end.Status), At: time.Now()})
	}
}
