package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/intake"
)

// BegunSignal reports that the session of an owned turn can be reached and that its lock was
// released. Its payload is the nonce of the lock.
const BegunSignal = "begun"

// TurnSignal carries the result of an owned turn, a TurnEnd. The session may still
// run turns for messages of others.
const TurnSignal = "turn"

// maxAnswer limits the part of an agent's last answer that enters history.
const maxAnswer = 4 << 10

// Own starts the agent of a dormant session, sends it the message, and waits for the end of its
// turn. During the turn a session of pi has a control socket, at which others reach it like any
// live session. A session of another backend stays locked until the end. Own must be called only
// once, because a second call sends the message again. The agent dies with its worker. Own also
// releases the lock of a session that others cannot reach, in case the dispatch has ended.
func (d *Activities) Own(ctx context.Context, e OwnedTurn) (dispatch.Outcome, error) {
	e.Observe = cmp.Or(d.observe, e.Observe)
	show, stop := report.Heartbeat(ctx, report.Progress{Doing: "starts the session"})
	defer stop()
	defer d.markInUse(e.Lock.Target)()
	a, err := d.beginTurn(ctx, e)
	if errors.Is(err, errUnended) {
		return d.retainedOutcome(e), nil
	}
	if err != nil {
		return d.failedOutcome(dispatch.StartFailed, err), nil
	}
	defer d.closeAndUnlock(ctx, a, e.Lock)
	failpoint.Hit("desk.before-errand")
	message := controlsocket.Message{Text: e.Request.Message, Sender: &e.Sender, WantsReply: e.Request.WantsReply}
	err = a.Session.Send(ctx, message.Prompt())
	if errors.Is(err, agent.ErrGone) {
		return d.failedOutcome(dispatch.StartFailed, err), nil
	}
	if err != nil {
		return d.failedOutcome(dispatch.Unknown, err), nil
	}
	failpoint.Hit("desk.errand-sent")
	if e.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.Timeout)
		defer cancel()
	}
	show(report.Progress{Doing: "works"})
	out := a.runTurn(ctx, show)
	if next, ok := a.intake.Next(); ok {
		_ = signalWorkflow(ctx, TurnSignal, TurnEnd{e.Lock.Nonce, out}) // on failure the result reports it
		a.runQueuedTurns(ctx, next, show)
	}
	return out, nil
}

// closeAndUnlock ends the session, and then releases the lock of a session that others could not
// reach.
func (d *Activities) closeAndUnlock(ctx context.Context, a *ownedSession, c Lock) {
	if n := a.closeSession(); n > 0 {
		activity.GetLogger(ctx).Warn("the session ended before it processed messages that it had acknowledged", "target", string(c.Target), "messages", n)
	}
	if a.server == nil {
		_ = d.unlockSoon(ctx, c) // if it fails, the dispatch releases the lock
	}
}

// unlockSoon is Unlock for an activity that may last for days, or that is canceled: it does not wait for ever for
// another process that has the locks.
func (d *Activities) unlockSoon(ctx context.Context, c Lock) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.grace)
	defer cancel()
	return d.Unlock(ctx, c)
}

// beginTurn opens a session that takes input. If others can reach the session, beginTurn releases
// its lock and reports to the workflow. After an error the agent has received nothing.
func (d *Activities) beginTurn(ctx context.Context, e OwnedTurn) (*ownedSession, error) {
	if err := d.holdLock(ctx, e); err != nil {
		return nil, err
	}
	if r, err := d.store.Find(e.Request.Target); err == nil && d.store.IsOurs(r) {
		return nil, fmt.Errorf("it is Ratchet's session %s: a dispatch cannot resume it", r.Model)
	}
	a, err := d.openSession(ctx, e)
	if err != nil {
		return nil, err
	}
	if a.server != nil {
		if err = d.unlockSoon(ctx, e.Lock); err == nil {
			err = signalWorkflow(ctx, BegunSignal, e.Lock.Nonce)
		}
	}
	if err != nil {
		a.closeSession()
		return nil, err
	}
	return a, nil
}

// holdLock makes the lock name this process, because the process that took it may have ended since.
// It returns an error if the lock was free meanwhile: earlier observations of the target are then
// no longer valid. The time for the session to begin bounds the wait for other processes that change locks.
func (d *Activities) holdLock(ctx context.Context, e OwnedTurn) error {
	c := e.Lock
	waiting, cancel := context.WithTimeout(ctx, e.Observe)
	defer cancel()
	lock, err := d.locks.Acquire(waiting, c.Target, c.Nonce)
	if err == nil && !lock.Again {
		err = errors.New("the lock of the target was lost")
	}
	if err == nil {
		d.held.addLock(c, activity.GetInfo(ctx).WorkflowExecution.RunID)
	}
	return err
}

// openSession starts the session, and serves its socket if its backend has one. For a session of
// another backend, a socket would be a second address (docs/contracts/dispatch.md, 4.1).
func (d *Activities) openSession(ctx context.Context, e OwnedTurn) (*ownedSession, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Observe)
	defer cancel()
	s, err := d.startAgent(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("start the session: %w", err)
	}
	steer, _ := s.(agent.Steerer)
	a := &ownedSession{Session: s, acts: d, intake: intake.New(intake.Options{Steer: steer, Dir: e.CWD, End: s.Interrupt})}
	a.intake.SetID(e.Request.Target)
	if !e.sessionBackend().Probed() {
		return a, nil
	}
	if a.server, err = controlsocket.Listen(ctx, d.dirs.Socket(e.Request.Target), a.intake); err != nil {
		a.closeSession()
		return nil, err
	}
	return a, nil
}

// errUnended reports an agent that was asked to end and whose end was not seen.
var errUnended = errors.New("its agent ran out of time and was asked to end, but did not end")

// startAgent begins the session while ctx lasts, and gives up after a further grace. The lock then
// stays until the agent has ended, at the latest with this process: two agents on one session would
// spoil it.
func (d *Activities) startAgent(ctx context.Context, e OwnedTurn) (agent.Session, error) {
	type birth struct {
		session agent.Session
		err     error
	}
	done := make(chan birth, 1)
	r, ok := d.resume(e.sessionBackend(), e.Approve)
	if !ok {
		return nil, fmt.Errorf("this worker does not resume sessions of %s", e.sessionBackend())
	}
	r.Options.Dir, r.Options.Resume = e.CWD, cmp.Or(e.Session, string(e.Request.Target))
	go func() {
		s, err := r.Start(ctx, r.Options)
		done <- birth{s, err}
	}()
	select {
	case b := <-done:
		return b.session, b.err
	case <-ctx.Done():
	}
	select {
	case b := <-done:
		return b.session, b.err
	case <-time.After(d.grace):
	}
	ended := d.markInUse(e.Lock.Target)
	go func() {
		defer ended()
		if b := <-done; b.err == nil {
			_ = b.session.Stop(context.Background())
		}
		_ = d.Unlock(context.Background(), e.Lock)
	}()
	return nil, errUnended
}

func (e OwnedTurn) sessionBackend() dispatch.Backend {
	return cmp.Or(e.NativeSession.Backend, dispatch.Pi)
}

// retainedOutcome returns the outcome of a turn whose lock stays. It names this process, as the
// lock does, because the agent ends with the process.
func (d *Activities) retainedOutcome(e OwnedTurn) dispatch.Outcome {
	out := d.failedOutcome(dispatch.LockRetained, errUnended)
	path, _ := d.locks.Path(e.Lock.Target)
	out.Retention = dispatch.KillUnconfirmed
	out.Diagnostic = &dispatch.Diagnostic{
		GardenID: e.Lock.Target, PID: os.Getpid(), Socket: d.dirs.Socket(e.Lock.Target), LockPath: path,
		ObserveTimeoutMs: e.Observe.Milliseconds(), KillGraceMs: d.grace.Milliseconds(),
	}
	return out
}

// failedOutcome returns the outcome of an owned turn that failed.
func (d *Activities) failedOutcome(kind dispatch.Kind, err error) dispatch.Outcome {
	return dispatch.Outcome{Kind: kind, Transport: dispatch.SpawnBg, Error: report.Summary(d.secrets.String(err.Error()))}
}
