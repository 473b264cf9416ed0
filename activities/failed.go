package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// keepError keeps the text that came before the error, and returns the error that
// says whether to try again. The error carries the usage of all attempts.
func (t *attempt) keepError(ctx context.Context, partial []byte, spent run.Usage, cause error) error {
	dir, c := t.dir, t.Call
	perr, ok := errors.AsType[*failure.Error](cause)
	if !ok {
		if ctx.Err() != nil { // a worker that stops, or a cancellation: no attempt has failed
			if err := keepUsage(dir, c, spent); err != nil {
				return notSavedError("the call was stopped, and its usage", err, failedUsage(dir, c).Add(spent), failedRetries(dir, c, maxPaid))
			}
			return ctx.Err()
		}
		perr = &failure.Error{Code: failure.Unknown, Message: cause.Error(), Retriable: true}
	}
	n := 1
	for ; n <= maxPaid; n++ {
		if _, _, err := dir.Find(attemptText(c, n)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	message, used := t.redact.String(perr.Message), failedUsage(dir, c).Add(spent)
	err := keepFailure(dir, c, n, run.Problem{Code: string(perr.Code), Message: message}, partial, spent)
	if err == nil {
		err = dir.Log("provider-"+string(c.Phase), rundir.Error, "failed", map[string]any{
			"iteration": c.Iteration, "call": c.Number, "attempt": n, "provider": c.Provider, "code": perr.Code,
			"message": message, "retriable": perr.Retriable, "retryAfter": perr.RetryAfter.String(), "bytes": len(partial),
		})
	}
	if err != nil {
		return notSavedError("the call failed ("+message+"), and its result", err, used, failedRetries(dir, c, n-1))
	}
	return temporal.NewApplicationErrorWithOptions(message, string(perr.Code), temporal.ApplicationErrorOptions{
		NonRetryable:   !perr.Retriable || max(n, t.begun) >= maxPaid,
		NextRetryDelay: cmp.Or(perr.RetryAfter, time.Second<<(n-1)),
		Details:        []any{used, failedRetries(dir, c, n-1)},
	})
}

// keepFailure stores the outcome of attempt n, the text last: an attempt counts once the file with its text exists.
func keepFailure(dir *rundir.Dir, c Call, n int, p run.Problem, partial []byte, spent run.Usage) error {
	if spent != (run.Usage{}) {
		if _, err := keepJSON(dir, attemptUsage(c, n), spent); err != nil {
			return err
		}
	}
	if _, err := keepJSON(dir, attemptError(c, n), p); err != nil {
		return err
	}
	_, err := dir.Keep(attemptText(c, n), partial)
	return err
}

func attemptUsage(c Call, n int) string { return c.Artifact(fmt.Sprintf("attempt-%d.usage.json", n)) }

// failedUsage returns the usage of the attempts at the call that brought no answer.
func failedUsage(dir *rundir.Dir, c Call) run.Usage {
	sum := usageIn(dir, cutUsage(c))
	for n := 1; n <= maxPaid; n++ {
		sum = sum.Add(usageIn(dir, attemptUsage(c, n)))
	}
	return sum
}

// usageIn returns the usage that an artifact holds; none if there is no such artifact.
func usageIn(dir *rundir.Dir, name string) (used run.Usage) {
	if b, _, err := dir.Find(name); err != nil || json.Unmarshal(b, &used) != nil {
		return run.Usage{}
	}
	return used
}

// attemptText names the text that attempt n wrote before it ended in an error.
func attemptText(c Call, n int) string { return c.Artifact(fmt.Sprintf("attempt-%d.raw.txt", n)) }
