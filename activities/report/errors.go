package report

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// The types of errors that several packages make or read.
const (
	// LostError ends an attempt whose worker died. Like a heartbeat timeout, it does not say how far
	// the attempt came.
	LostError = "WorkerLost"
	// InvalidInputError ends a workflow that never began: its input is refused.
	InvalidInputError = "InvalidInput"
)

// RetryLost is the delay of the engine between a lost attempt and the next one.
const RetryLost = 100 * time.Millisecond

// LookInterval is the longest time between two looks at a run that works, whose end something waits for.
const LookInterval = 5 * time.Second

// NotOver returns the error of a look at a run that is not over, of the given type. The engine calls again, later if the run
// waits for a person: this takes no room in a history and no place in a worker.
func NotOver(id run.ID, status run.Status, kind string) error {
	var o temporal.ApplicationErrorOptions
	if status.Waiting() {
		o.NextRetryDelay = 6 * LookInterval
	}
	return temporal.NewApplicationErrorWithOptions(fmt.Sprintf("run %s is %s", id, status), kind, o)
}

// Permanent returns an error of Temporal, of the given type, that is not retried.
func Permanent(kind string, err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), kind, err)
}

// ProblemOf returns the error of an activity in the form that records and results keep.
func ProblemOf(err error) run.Problem {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return run.Problem{Code: cmp.Or(app.Type(), "UNKNOWN"), Message: app.Message()}
	}
	if _, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		return run.Problem{Code: "TIMEOUT", Message: err.Error()}
	}
	return run.Problem{Code: "UNKNOWN", Message: err.Error()}
}

// IsUnbegun reports whether an activity with a single attempt ended because no worker began it in time. It surely had
// no effect.
func IsUnbegun(err error) bool {
	late, ok := errors.AsType[*temporal.TimeoutError](err)
	return ok && late.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// IsSilent reports whether an activity ended without a report of its result: its worker was not heard
// from in time, or was found dead.
func IsSilent(err error) bool {
	if _, late := errors.AsType[*temporal.TimeoutError](err); late {
		return true
	}
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && app.Type() == LostError
}
