// Package intake takes the messages that peers send to an agent's session by its
// control socket while another caller runs its turns. A message goes into the
// turn in progress, or waits for a turn of its own.
package intake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// maxWaiting bounds the messages that wait for their turn.
const maxWaiting = 32

var errFull = errors.New("too many messages are waiting already")

// Intake is a controlsocket.Session around an agent's session. New returns one.
type Intake struct {
	Options

	mu     sync.Mutex
	id     dispatch.GardenID
	closed bool
	parked bool
	wait   []controlsocket.Message
	last   *controlsocket.LastMessage
}

// Options configure an Intake.
type Options struct {
	// Steer takes messages into the current turn; nil: every message waits for
	// a turn of its own.
	Steer agent.Steerer
	Dir   string
	Model *controlsocket.Model // nil: not known
	// End carries out a peer's abort.
	End func(context.Context) error
}

// New returns an Intake that takes messages until it is closed.
func New(o Options) *Intake { return &Intake{Options: o} }

// SetID sets the garden id by which peers know the session.
func (i *Intake) SetID(id dispatch.GardenID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.id = id
}

// Next removes the oldest waiting message and returns it. When none waits, it closes the intake,
// which ensures that no message is left behind.
func (i *Intake) Next() (m controlsocket.Message, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.wait) == 0 {
		i.closed = true
		return controlsocket.Message{}, false
	}
	m = i.wait[0]
	i.wait = i.wait[1:]
	return m, true
}

// Close refuses every later message. It returns the messages that still wait. Next still returns
// them too.
func (i *Intake) Close() (waiting []controlsocket.Message) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	return i.wait
}

// Park refuses messages until Unpark, while it is unknown whether the session will ever have a turn
// for them.
func (i *Intake) Park() { i.setParked(true) }

// Unpark takes messages again, unless the intake is closed.
func (i *Intake) Unpark() { i.setParked(false) }

func (i *Intake) setParked(parked bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.parked = parked
}

// SetLastMessage keeps the agent's last message.
func (i *Intake) SetLastMessage(text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = &controlsocket.LastMessage{Role: "assistant", Content: text, Timestamp: time.Now().UnixMilli()}
}

// Info implements controlsocket.Session. A session is never idle: it ends when
// nothing is left for it to do.
func (i *Intake) Info(context.Context) (controlsocket.Info, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return controlsocket.Info{SessionID: string(i.id), CWD: i.Dir, Model: i.Model}, nil
}

// Send implements controlsocket.Session. Without a Steer, and between turns, a
// message that asks to be steered waits for a turn of its own; the returned
// delivery says so. An intake that is closed or parked returns ErrNotReady and
// keeps nothing.
func (i *Intake) Send(ctx context.Context, m controlsocket.Message) (dispatch.Delivery, error) {
	if m.Mode == dispatch.Steer && i.Steer != nil && i.isOpen() {
		if taken, err := i.steerTurn(ctx, m.Prompt()); taken || err != nil {
			return dispatch.Steered, err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.closed || i.parked:
		return "", controlsocket.ErrNotReady
	case len(i.wait) == maxWaiting:
		return "", errFull
	}
	i.wait = append(i.wait, m)
	return dispatch.Followed, nil
}

// steerTurn reports whether the current turn has taken the message.
func (i *Intake) steerTurn(ctx context.Context, text string) (bool, error) {
	err := i.Steer.Steer(ctx, text)
	if err == nil {
		return true, nil
	}
	if _, refused := errors.AsType[*failure.Error](err); refused || errors.Is(err, agent.ErrNoTurn) {
		return false, nil
	}
	return false, fmt.Errorf("%w: %w", controlsocket.ErrUncertain, err)
}

// isOpen reports whether the intake takes messages.
func (i *Intake) isOpen() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return !i.closed && !i.parked
}

// Abort implements controlsocket.Session.
func (i *Intake) Abort(ctx context.Context) error { return i.End(ctx) }

// LastMessage implements controlsocket.Session.
func (i *Intake) LastMessage(context.Context) (*controlsocket.LastMessage, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.last, nil
}
