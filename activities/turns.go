package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// takeTurns takes a lock of the run, under which one attempt at a time does the
// same thing. While another has it, which may be of a process that is stopped,
// the heartbeat says so: "waits: process 4711 holds the answer". What names that
// which it holds.
func takeTurns(ctx context.Context, dir *rundir.Dir, name, what string, show func(Progress)) (*rundir.Lock, error) {
	return dir.Take(ctx, name, waiting(what, show))
}

// waiting shows which process has what is waited for.
func waiting(what string, show func(Progress)) func(pid int) {
	return func(pid int) {
		who := "another process"
		if pid > 0 {
			who = fmt.Sprintf("process %d", pid)
		}
		show(Progress{Doing: fmt.Sprintf("waits: %s holds %s", who, what)})
	}
}

// alone does what takes long, and what one attempt at a time may do: under the lock
// of that name, which the programs of do keep as well. What an attempt began that
// the engine has given up is not begun again: its result ends the activity.
func alone[T any](ctx context.Context, dir *rundir.Dir, name, what string, show func(Progress), do func(context.Context) (T, error)) (out T, err error) {
	waited, tell := false, waiting(what, show)
	lock, err := dir.Take(ctx, name, func(pid int) {
		waited = true
		tell(pid)
	})
	if err != nil {
		return out, err
	}
	defer lock.Unlock()
	if waited && !wanted(ctx) {
		<-ctx.Done() // as the engine is about to say
		return out, ctx.Err()
	}
	return outlast(proc.Keep(ctx, lock.File()), do)
}

// LateError is the type of the error of an attempt that has waited for another so
// long that its own time would not do.
const LateError = "Late"

// inTime returns an error when less time than the limit is left: the next attempt
// has all of it.
func inTime(ctx context.Context, limit time.Duration) error {
	end, bounded := ctx.Deadline()
	if !bounded || time.Until(end) >= limit {
		return nil
	}
	return temporal.NewApplicationErrorWithOptions("it waited for another attempt for too long", LateError,
		temporal.ApplicationErrorOptions{NextRetryDelay: retryLost})
}
