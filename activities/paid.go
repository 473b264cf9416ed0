package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// maxPaid bounds the starts of the provider of one call, for any reason that
// prevents an answer: the provider's errors, a lost worker, a timeout. After that a person is asked.
const maxPaid = 5

// countStart counts, on disk, a start of the provider, and returns the number of
// starts for this call that have no answer yet. Over maxPaid it returns a permanent
// error.
func (a *Activities) countStart(dir *rundir.Dir, c Call) (begun int, err error) {
	if begun, err = dir.Count(c.Artifact("begun")); err != nil {
		return begun, err
	}
	if begun <= maxPaid {
		return begun, nil
	}
	message := fmt.Sprintf("it was started %d times and never answered; the last time it timed out or its worker was lost", maxPaid)
	err = dir.Log("provider-"+string(c.Phase), rundir.Error, "given up", map[string]any{
		"iteration": c.Iteration, "call": c.Number, "provider": c.Provider, "message": message,
	})
	if err != nil {
		return begun, err
	}
	return begun, temporal.NewNonRetryableApplicationError(message, string(failure.Unknown), nil)
}

// resetStarts resets the count of a call that has an answer or waits for a person, for
// these starts were no failures.
func resetStarts(dir *rundir.Dir, c Call) error { return dir.Forget(c.Artifact("begun")) }

// notSavedError returns the error of a paid call that the disk did not take: it says what the call has used, and is not
// retried, for a retry would be paid before a person knows.
func notSavedError(what string, cause error, used run.Usage, before []run.Retry) error {
	message := fmt.Sprintf("%s could not be saved: %s; free disk space, then answer to repeat the call", what, display.Line(cause.Error()))
	return temporal.NewNonRetryableApplicationError(message, string(failure.Unknown), cause, used, before)
}

// addUsage is addStoredUsage for an attempt whose provider has reported the usage seen. If the engine asked the attempt to end,
// the error is a cancellation with the usage of all attempts, because the call is not made again.
func (a *Activities) addUsage(ctx context.Context, c Call, seen run.Usage, err error) error {
	stopped := errors.Is(err, context.Canceled) || temporal.IsCanceledError(err)
	if !stopped || !temporal.IsCanceledError(context.Cause(ctx)) { // an end of the worker is no cancellation
		return a.addStoredUsage(c, err)
	}
	return temporal.NewCanceledError(a.totalUsage(c).Most(seen))
}

// totalUsage returns what all attempts at a call have used, as it is on disk.
func (a *Activities) totalUsage(c Call) run.Usage {
	dir := a.runs.Run(c.RunID)
	if r, lost := findAnswer(dir, c); lost == nil {
		return r.usage
	}
	note, _ := a.runs.Slot(c.RunID, c.Slot).Note() // of an agent; it may hold the answer of a worker that died then
	return failedUsage(dir, c).Add(session.AnswerUsage(note, providerRequest(c, "", "", nil)))
}

// addStoredUsage adds to the error of a call what its attempts were paid, as it is on disk. An error that has details has
// this already.
func (a *Activities) addStoredUsage(c Call, err error) error {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); err == nil || ok && app.HasDetails() {
		return err
	}
	dir := a.runs.Run(c.RunID)
	retries := failedRetries(dir, c, maxPaid)
	if r, lost := findAnswer(dir, c); lost == nil {
		retries = r.retries
	}
	return addSpent(err, a.totalUsage(c), retries)
}

// addSpent adds to the error of an activity what answers before it were paid. The phase then begins another call, which
// does not find them. A retryable error gets it, too: it can be the last one that the engine sees.
func addSpent(err error, used run.Usage, before []run.Retry) error {
	makePermanent(&err)
	if end, ok := errors.AsType[*temporal.CanceledError](err); ok && end.HasDetails() {
		var last run.Usage
		_ = end.Details(&last) // see addUsage
		return temporal.NewCanceledError(used.Add(last))
	}
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case !ok && (err == nil || errors.Is(err, context.Canceled) || temporal.IsCanceledError(err)):
		return err
	case !ok:
		return temporal.NewApplicationErrorWithOptions(err.Error(), string(failure.Unknown), temporal.ApplicationErrorOptions{Details: []any{used, before}})
	case app.Type() == BehindError || app.Type() == AheadError: // their details name events, and the same call is made again
		return err
	}
	var later run.Usage
	var retries []run.Retry
	if app.HasDetails() {
		_ = app.Details(&later, &retries) // no other error of a call has details of another kind
	}
	return temporal.NewApplicationErrorWithOptions(app.Message(), app.Type(), temporal.ApplicationErrorOptions{ // without a cause, by which it would be made again
		NonRetryable: app.NonRetryable(), NextRetryDelay: app.NextRetryDelay(), Category: app.Category(),
		Details: []any{used.Add(later), run.AddRetries(before, retries)},
	})
}
