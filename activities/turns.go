package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// takeTurns takes a lock of the run, under which one attempt at a time does the same work. While
// another process holds the lock, even a stopped one, the heartbeat says so: "waits: process 4711
// holds the answer". The parameter what names the thing that the process holds.
func takeTurns(ctx context.Context, dir *rundir.Dir, name, what string, show func(report.Progress)) (*rundir.Lock, error) {
	return dir.Take(ctx, name, describeHolder(what, show))
}

// describeHolder returns a function that shows which process holds the thing named by what.
func describeHolder(what string, show func(report.Progress)) func(pid int) {
	return func(pid int) {
		who := "another process"
		if pid > 0 {
			who = fmt.Sprintf("process %d", pid)
		}
		show(report.Progress{Doing: fmt.Sprintf("waits: %s holds %s", who, what)})
	}
}

// alone runs do, which takes long, under the named lock of the run. One attempt at a time holds
// this lock, and the programs of do keep it as well. It is released once the engine has the result,
// and only the attempt that the engine waits for begins under it. So do is begun again only after
// an error, or when the process that ran it has died.
func alone[T any](ctx context.Context, dir *rundir.Dir, name, what string, show func(report.Progress), do func(context.Context) (T, error)) (out T, err error) {
	lock, err := takeTurns(ctx, dir, name, what, show)
	if err != nil {
		return out, err
	}
	if !isCurrent(ctx) {
		lock.Unlock()
		<-ctx.Done() // the next heartbeat is refused
		return out, ctx.Err()
	}
	defer lock.Unlock()
	return outlastAttempt(proc.Keep(ctx, lock.File()), do)
}

// LateError is the type of the error of an attempt that has too little time left after it waited
// for another attempt.
const LateError = "Late"

// inTime returns an error if less time than the limit is left. The next attempt has all of its
// time.
func inTime(ctx context.Context, limit time.Duration) error {
	end, bounded := ctx.Deadline()
	if !bounded || time.Until(end) >= limit {
		return nil
	}
	return temporal.NewApplicationErrorWithOptions("it waited too long for another attempt", LateError,
		temporal.ApplicationErrorOptions{NextRetryDelay: report.RetryLost})
}
