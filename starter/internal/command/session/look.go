package session

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/sessionref"
)

// sessionPoll is the time between two looks at a session that is followed.
const sessionPoll = 300 * time.Millisecond

// sessionLooks looks at a session again and again. It outlives workers and engines.
type sessionLooks struct {
	c     *factory.Factory
	s     sessionref.Found
	began bool
	again client.Client // to the engine that was found last; nil: the first one
}

func (l *sessionLooks) close() {
	if l.again != nil {
		l.again.Close()
	}
}

// nextState returns the session's state, after a pause that the first look does without. While the engine, or every worker,
// does not answer, it says so to away and waits: a session that is followed outlives that.
func (l *sessionLooks) nextState(ctx context.Context, away func(error)) (session.Snapshot, error) {
	for {
		if l.began {
			if err := pauseFor(ctx, sessionPoll); err != nil {
				return session.Snapshot{}, err
			}
		}
		l.began = true
		snap, err := l.s.State(ctx, l.s.ID)
		_, canceled := errors.AsType[*serviceerror.Canceled](err) // an engine that stops cancels the calls that it answers
		if !isAway(err) && !(canceled && ctx.Err() == nil) {
			return snap, err
		}
		away(err)
		l.findEngine(ctx)
	}
}

// findEngine looks for the engine again: one that was started after a crash may have another address.
func (l *sessionLooks) findEngine(ctx context.Context) {
	t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: l.c.RunsDir})
	if err != nil {
		return // it is not there yet
	}
	l.close()
	l.again, l.s.Temporal = t, t
}

// pauseFor waits. The error is ctx.Err().
func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
