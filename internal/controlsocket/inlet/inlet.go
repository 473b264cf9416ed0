// Package inlet lets peers reach an agent's session by its control socket while
// somebody else gives it turns: what they send goes into the turn under way, or
// waits for a turn of its own.
package inlet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// maxWaiting bounds the messages that wait for their turn.
const maxWaiting = 32

var errFull = errors.New("too many messages wait for their turn already")

// Inlet is a controlsocket.Session around an agent's. New makes one.
type Inlet struct {
	Options

	mu     sync.Mutex
	id     dispatch.GardenID
	closed bool
	wait   []string
	last   *controlsocket.LastMessage
}

// Options are what an Inlet is made of.
type Options struct {
	Session agent.Session
	Dir     string
	Model   string // empty: not known
	// End is what a peer's abort does.
	End func(context.Context) error
}

// New makes one that takes messages until it is closed.
func New(o Options) *Inlet { return &Inlet{Options: o} }

// Name says by which garden id peers know the session.
func (i *Inlet) Name(id dispatch.GardenID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.id = id
}

// Next takes the message whose turn it is; without one the inlet is closed, so
// that none is left behind.
func (i *Inlet) Next() (string, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.wait) == 0 {
		i.closed = true
		return "", false
	}
	text := i.wait[0]
	i.wait = i.wait[1:]
	return text, true
}

// Close has it take no more. Left are the messages that had no turn.
func (i *Inlet) Close() (left int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	return len(i.wait)
}

// Said keeps what the agent said last.
func (i *Inlet) Said(text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = &controlsocket.LastMessage{Role: "assistant", Content: text, Timestamp: time.Now().UnixMilli()}
}

// Info implements controlsocket.Session. A session is never idle: it ends when
// nothing is left for it to do.
func (i *Inlet) Info(context.Context) (controlsocket.Info, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	info := controlsocket.Info{SessionID: string(i.id), CWD: i.Dir}
	if i.Model != "" {
		info.Model = &controlsocket.Model{ID: i.Model}
	}
	return info, nil
}

// Send implements controlsocket.Session. Steering into a turn is for agents that
// can be steered; with others, and between turns, the message waits for a turn of
// its own, which the answer says.
func (i *Inlet) Send(ctx context.Context, m controlsocket.Message) (dispatch.Delivery, error) {
	if m.Mode == dispatch.Steer && i.open() {
		if taken, err := i.steer(ctx, m.Prompt()); taken || err != nil {
			return dispatch.Steered, err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.closed:
		return "", controlsocket.ErrNotReady
	case len(i.wait) == maxWaiting:
		return "", errFull
	}
	i.wait = append(i.wait, m.Prompt())
	return dispatch.Followed, nil
}

// steer says whether the turn under way has taken the message.
func (i *Inlet) steer(ctx context.Context, text string) (bool, error) {
	s, ok := i.Session.(agent.Steerer)
	if !ok {
		return false, nil
	}
	err := s.Steer(ctx, text)
	if err == nil {
		return true, nil
	}
	if _, refused := errors.AsType[*provider.Error](err); refused || errors.Is(err, agent.ErrNoTurn) {
		return false, nil
	}
	return false, fmt.Errorf("%w: %w", controlsocket.ErrUncertain, err)
}

func (i *Inlet) open() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return !i.closed
}

// Abort implements controlsocket.Session.
func (i *Inlet) Abort(ctx context.Context) error { return i.End(ctx) }

// LastMessage implements controlsocket.Session.
func (i *Inlet) LastMessage(context.Context) (*controlsocket.LastMessage, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.last, nil
}
