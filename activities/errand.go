package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
)

// BegunSignal says that the session of an errand can be reached and that its
// lock was released; its payload is the claim's nonce.
const BegunSignal = "begun"

// Limits of an errand.
const (
	maxAnswer = 4 << 10
	stopGrace = 5 * time.Second // facts: dispatch, section 10
)

// Own starts the agent of a dormant session, gives it the letter, and waits
// for the end of its turn. Meanwhile the session has a control socket, by which
// others reach it as any live one. A second call would give the letter once
// more: it may be called once. The agent dies with its worker.
func (d *Desk) Own(ctx context.Context, e Errand) (dispatch.Outcome, error) {
	show, stop := pulse(ctx, Beat{Doing: "starts the session"})
	defer stop()
	a, err := d.attend(ctx, e)
	if err != nil {
		return spawned(dispatch.StartFailed, err), nil
	}
	defer a.close()
	if err := d.Unlock(ctx, e.Claim); err != nil {
		return spawned(dispatch.StartFailed, err), nil
	}
	if err := begun(ctx, e.Claim); err != nil {
		return dispatch.Outcome{}, err
	}
	failpoint.Hit("desk.before-errand")
	letter := controlsocket.Message{Text: e.Request.Message, Sender: &e.Sender, WantsReply: e.Request.WantsReply}
	if err := a.Session.Send(ctx, letter.Prompt()); err != nil {
		return spawned(dispatch.Unknown, err), nil
	}
	failpoint.Hit("desk.errand-sent")
	if e.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.Timeout)
		defer cancel()
	}
	show(Beat{Doing: "works"})
	return a.outcome(ctx, show)
}

// attend starts the session and serves its socket.
func (d *Desk) attend(ctx context.Context, e Errand) (*attended, error) {
	within, cancel := context.WithTimeout(ctx, e.Observe)
	defer cancel()
	s, err := d.resume(e.Approve).Start(within, agent.Options{Dir: e.CWD, Resume: string(e.Request.Target), Sandbox: agent.FullAccess, Network: true})
	if err != nil {
		return nil, fmt.Errorf("start the session: %w", err)
	}
	a := &attended{Session: s, id: e.Request.Target, dir: e.CWD, busy: true}
	if a.server, err = controlsocket.Listen(within, d.dirs.Socket(e.Request.Target), a); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func spawned(kind dispatch.Kind, err error) dispatch.Outcome {
	return dispatch.Outcome{Kind: kind, Transport: dispatch.SpawnBg, Error: clip(err.Error(), maxSummary)}
}

// attended is a session of ours that others reach by its control socket: what
// they send waits for the end of the turn under way.
type attended struct {
	agent.Session
	id     dispatch.GardenID
	dir    string
	server *controlsocket.Server

	mu   sync.Mutex
	busy bool
	wait []string // messages for the turns to come
	last *controlsocket.LastMessage
}

func (a *attended) close() {
	if a.server != nil {
		_ = a.server.Close() // peers look elsewhere from then on
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	_ = a.Stop(ctx) // by force at the latest
}

// outcome follows the turn of the letter, and then those that others asked
// for meanwhile.
func (a *attended) outcome(ctx context.Context, show func(Beat)) (dispatch.Outcome, error) {
	out, err := a.turn(ctx, show)
	for err == nil && out.Kind == dispatch.Completed {
		next, ok := a.next()
		if !ok {
			break
		}
		if err := a.Session.Send(ctx, next); err != nil {
			break // the letter's turn is over: its outcome stands
		}
		if _, err := a.turn(ctx, show); err != nil {
			break
		}
	}
	return out, err
}

// turn follows one turn to its end.
func (a *attended) turn(ctx context.Context, show func(Beat)) (dispatch.Outcome, error) {
	var said strings.Builder
	for {
		select {
		case <-ctx.Done():
			return a.cutOff(ctx)
		case event, ok := <-a.Events():
			if !ok {
				return spawned(dispatch.ChildExited, errors.New("the session ended in the middle of a turn")), nil
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
				return exitedChild(e), nil
			case agent.Turn:
				return a.ended(e), nil
			}
		}
	}
}

// cutOff is the outcome of a turn that was given no more time. An activity that
// was canceled is canceled.
func (a *attended) cutOff(ctx context.Context) (dispatch.Outcome, error) {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return dispatch.Outcome{}, ctx.Err()
	}
	out := spawned(dispatch.ChildExited, errors.New("its time was up, and it was ended"))
	out.TimedOut = true
	return out, nil
}

func exitedChild(e agent.Exit) dispatch.Outcome {
	how := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != "" {
		how = e.Signal
	}
	out := spawned(dispatch.ChildExited, fmt.Errorf("the session's process ended (%s): %s", how, e.Stderr))
	if e.Signal == "" {
		out.ExitCode = &e.Code
	}
	return out
}

func (a *attended) ended(t agent.Turn) dispatch.Outcome {
	a.mu.Lock()
	a.last = &controlsocket.LastMessage{Role: "assistant", Content: t.Text, Timestamp: time.Now().UnixMilli()}
	a.mu.Unlock()
	out := dispatch.Outcome{Kind: dispatch.Completed, Transport: dispatch.SpawnBg, Answer: clip(t.Text, maxAnswer)}
	if t.Status == agent.Completed {
		return out
	}
	out.Kind, out.Error = dispatch.TurnFailed, string(t.Status)
	if t.Err != nil {
		out.Error = clip(t.Err.Error(), maxSummary)
	}
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

// Info implements controlsocket.Session.
func (a *attended) Info(context.Context) (controlsocket.Info, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return controlsocket.Info{SessionID: string(a.id), CWD: a.dir, Idle: !a.busy}, nil
}

// Send implements controlsocket.Session: the message has a turn of its own
// after those under way.
func (a *attended) Send(_ context.Context, m controlsocket.Message) (dispatch.Delivery, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.busy {
		return "", controlsocket.ErrNotReady
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
