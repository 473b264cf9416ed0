package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// attended is a session of ours that others reach by its control socket: what
// they send waits for the end of the turn under way.
type attended struct {
	agent.Session
	desk   *Desk
	id     dispatch.GardenID
	dir    string
	server *controlsocket.Server // nil: it has no address

	mu   sync.Mutex
	busy bool
	wait []string // messages for the turns to come
	last *controlsocket.LastMessage
}

// close ends the session, and its socket after it: who finds nobody there may
// resume the session. One that does not end in time is left to, its socket with
// it, where it refuses what comes.
func (a *attended) close() {
	a.refuse()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, cancel := context.WithTimeout(context.Background(), a.desk.grace)
		defer cancel()
		_ = a.Stop(ctx) // by force at the latest
		if a.server != nil {
			_ = a.server.Close()
		}
	}()
	select {
	case <-ended:
	case <-time.After(2 * a.desk.grace):
	}
}

// follow gives the session what others sent meanwhile, a turn each, as long as
// it lives and there is time.
func (a *attended) follow(ctx context.Context, show func(Beat)) {
	for {
		text, ok := a.next()
		if !ok || a.Session.Send(ctx, text) != nil {
			return
		}
		a.turn(ctx, show)
	}
}

// turn follows one turn to its end.
func (a *attended) turn(ctx context.Context, show func(Beat)) dispatch.Outcome {
	var said strings.Builder
	for {
		select {
		case <-ctx.Done():
			return a.desk.cutOff(ctx)
		case event, ok := <-a.Events():
			if !ok {
				return a.desk.spawned(dispatch.ChildExited, errors.New("the session ended in the middle of a turn"))
			}
			switch e := event.(type) {
			case agent.Text:
				said.WriteString(e.Text)
				show(Beat{Doing: "works", Bytes: int64(said.Len())})
			case agent.ToolUse:
				show(Beat{Doing: "uses " + e.Tool, Bytes: int64(said.Len())})
			case agent.Permission: // the session is its user's own; what its agent asks for all the same is not ours to give
				_ = a.Decide(ctx, agent.Decision{CallID: e.CallID, Verdict: agent.Deny, Reason: "nobody is here to decide"})
			case agent.Exit:
				return a.desk.exited(e)
			case agent.Turn:
				return a.ended(e)
			}
		}
	}
}

// cutOff is the outcome of a turn that was given no more time.
func (d *Desk) cutOff(ctx context.Context) dispatch.Outcome {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return d.spawned(dispatch.ChildExited, errors.New("the dispatch was canceled, and the session ended"))
	}
	out := d.spawned(dispatch.ChildExited, errors.New("its time was up, and it was ended"))
	out.TimedOut = true
	return out
}

func (d *Desk) exited(e agent.Exit) dispatch.Outcome {
	how := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != "" {
		how = e.Signal
	}
	out := d.spawned(dispatch.ChildExited, fmt.Errorf("the session's process ended (%s): %s", how, e.Stderr))
	if e.Signal == "" {
		out.ExitCode = &e.Code
	}
	return out
}

func (a *attended) ended(t agent.Turn) dispatch.Outcome {
	a.mu.Lock()
	a.last = &controlsocket.LastMessage{Role: "assistant", Content: t.Text, Timestamp: time.Now().UnixMilli()}
	a.mu.Unlock()
	out := dispatch.Outcome{Kind: dispatch.Completed, Transport: dispatch.SpawnBg}
	if t.Status != agent.Completed {
		out = a.desk.spawned(dispatch.TurnFailed, cmp.Or(t.Err, errors.New(string(t.Status))))
	}
	out.Answer = clip(a.desk.secrets.String(t.Text), maxAnswer)
	return out
}

// next is the message for the next turn; without one the session is idle and
// takes no more.
func (a *attended) next() (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.wait) == 0 {
		a.busy = false
		return "", false
	}
	text := a.wait[0]
	a.wait = a.wait[1:]
	return text, true
}

// refuse has the session take no more.
func (a *attended) refuse() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy = false
}

// Info implements controlsocket.Session.
func (a *attended) Info(context.Context) (controlsocket.Info, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return controlsocket.Info{SessionID: string(a.id), CWD: a.dir, Idle: !a.busy}, nil
}

// maxWaiting bounds the messages that wait for their turn.
const maxWaiting = 32

var errFull = errors.New("too many messages wait for their turn already")

// Send implements controlsocket.Session: the message has a turn of its own
// after those under way.
func (a *attended) Send(_ context.Context, m controlsocket.Message) (dispatch.Delivery, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !a.busy:
		return "", controlsocket.ErrNotReady
	case len(a.wait) == maxWaiting:
		return "", errFull
	}
	a.wait = append(a.wait, m.Prompt())
	return dispatch.Followed, nil
}

// LastMessage implements controlsocket.Session.
func (a *attended) LastMessage(context.Context) (*controlsocket.LastMessage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last, nil
}

// Abort implements controlsocket.Session.
func (a *attended) Abort(ctx context.Context) error { return a.Interrupt(ctx) }
