package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/intake"
)

// ownedSession is a session whose turn a dispatch owns. Its intake holds the
// messages that others send during the turn.
type ownedSession struct {
	agent.Session
	acts   *Activities
	intake *intake.Intake
	server *controlsocket.Server // nil: it has no address
	unsent int                   // messages that were taken from the intake and that the agent did not take
}

// closeSession stops the session, and then closes its socket, because a peer that finds no listener
// there may resume the session. After twice the grace it returns even if the session has not ended.
// The socket then stays and refuses messages. Left is the number of messages of others that had no
// turn.
func (a *ownedSession) closeSession() (left int) {
	left = a.unsent + len(a.intake.Close())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, cancel := context.WithTimeout(context.Background(), a.acts.grace)
		defer cancel()
		_ = a.Stop(ctx) // by force at the latest
		if a.server != nil {
			_ = a.server.Close()
		}
	}()
	select {
	case <-ended:
	case <-time.After(2 * a.acts.grace):
	}
	return left
}

// runQueuedTurns runs a turn for each message that others sent meanwhile, as long
// as the session lives and ctx lasts.
func (a *ownedSession) runQueuedTurns(ctx context.Context, m controlsocket.Message, show func(report.Progress)) {
	for ok := true; ok; m, ok = a.intake.Next() {
		if a.Session.Send(ctx, m.Prompt()) != nil {
			a.unsent++
			return
		}
		a.runTurn(ctx, show)
	}
}

// runTurn follows one turn to its end.
func (a *ownedSession) runTurn(ctx context.Context, show func(report.Progress)) dispatch.Outcome {
	said := int64(0) // bytes; the text itself may be long
	for {
		select {
		case <-ctx.Done():
			return a.acts.cutOffOutcome(ctx)
		case event, ok := <-a.Events():
			if !ok {
				return a.acts.failedOutcome(dispatch.ChildExited, errors.New("the session ended in the middle of a turn"))
			}
			switch e := event.(type) {
			case agent.Text:
				said += int64(len(e.Text))
				show(report.Progress{Doing: "works", Bytes: said})
			case agent.ToolUse:
				show(report.Progress{Doing: "uses " + e.Tool, Bytes: said})
			case agent.Permission: // the session is the user's; Ratchet may not grant the request
				_ = a.Decide(ctx, agent.PermissionDecision{CallID: e.CallID, Verdict: agent.Deny, Reason: "no person is there to decide"})
			case agent.Exit:
				return a.acts.exitOutcome(e)
			case agent.Turn:
				return a.turnOutcome(e)
			}
		}
	}
}

// cutOffOutcome returns the outcome of a turn that was given no more time.
func (d *Activities) cutOffOutcome(ctx context.Context) dispatch.Outcome {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return d.failedOutcome(dispatch.ChildExited, fmt.Errorf("the turn was cut off, and the session ended: %w", context.Cause(ctx)))
	}
	out := d.failedOutcome(dispatch.ChildExited, errors.New("it ran out of time and was ended"))
	out.TimedOut = true
	return out
}

func (d *Activities) exitOutcome(e agent.Exit) dispatch.Outcome {
	how := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != "" {
		how = e.Signal
	}
	out := d.failedOutcome(dispatch.ChildExited, fmt.Errorf("the session's process ended (%s): %s", how, e.Stderr))
	if e.Signal == "" {
		out.ExitCode = &e.Code
	}
	return out
}

func (a *ownedSession) turnOutcome(t agent.Turn) dispatch.Outcome {
	a.intake.SetLastMessage(t.Text)
	out := dispatch.Outcome{Kind: dispatch.Completed, Transport: dispatch.SpawnBg}
	if t.Status != agent.Completed {
		out = a.acts.failedOutcome(dispatch.TurnFailed, cmp.Or(t.Err, errors.New(string(t.Status))))
	}
	out.Answer = display.Clip(a.acts.secrets.String(t.Text), maxAnswer)
	return out
}
