package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
)

// wantedEvery is how often the engine is asked whether an answer is still wanted
// that it has given up.
const wantedEvery = 2 * time.Second

// endure returns a context that ends with ctx, but for one reason: the engine has
// given the attempt up and begins another, as after a pause longer than the
// heartbeat timeout. What is paid goes on then, for the next attempt waits for its
// answer, until nobody wants it any more. Stop ends it.
func endure(ctx context.Context) (enduring context.Context, stop func()) {
	enduring, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-enduring.Done():
			return
		case <-ctx.Done():
		}
		for givenUp(ctx) && wanted(ctx) {
			select {
			case <-enduring.Done():
				return
			case <-time.After(wantedEvery):
			}
		}
		cancel(context.Cause(ctx))
	}()
	return enduring, func() { cancel(nil) }
}

func givenUp(ctx context.Context) bool {
	_, ok := errors.AsType[*serviceerror.NotFound](context.Cause(ctx))
	return ok
}

// outlast does what takes long and is found by no later attempt: it goes on when
// the engine has given the attempt up, and its result is then that of the attempt
// which waits for it. The caller holds what that one waits for, and gives it back
// after outlast.
func outlast[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	enduring, stop := endure(ctx)
	defer stop()
	out, err := do(enduring)
	if err == nil && overtaken(ctx) {
		handOver(ctx, out)
	}
	return out, err
}

// overtaken reports whether the engine has given the attempt up, though it may not
// have said so yet.
func overtaken(ctx context.Context) bool {
	if ctx.Err() != nil {
		return givenUp(ctx)
	}
	asked, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	err := activity.GetClient(ctx).RecordActivityHeartbeat(asked, activity.GetInfo(ctx).TaskToken)
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	return gone
}

const (
	handOverLimit = 20 * time.Second // for the next attempt to begin: a result is taken from none that has not
	handOverEvery = 200 * time.Millisecond
)

// handOver ends the activity of ctx with a result, whichever attempt is under way.
func handOver(ctx context.Context, result any) {
	info := activity.GetInfo(ctx)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverLimit)
	defer cancel()
	at := info.WorkflowExecution
	for wanted(ctx) && end.Err() == nil {
		if activity.GetClient(ctx).CompleteActivityByID(end, info.Namespace, at.ID, at.RunID, info.ActivityID, result, nil) == nil {
			return
		}
		select {
		case <-end.Done():
		case <-time.After(handOverEvery):
		}
	}
}

// wanted reports whether the activity of ctx is still to be done, by whatever
// attempt. An engine that does not answer has not said otherwise.
func wanted(ctx context.Context) bool {
	info := activity.GetInfo(ctx)
	if time.Now().After(info.Deadline) {
		return false
	}
	asked, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportLimit)
	defer cancel()
	at := info.WorkflowExecution
	run, err := activity.GetClient(ctx).DescribeWorkflowExecution(asked, at.ID, at.RunID)
	if err != nil {
		_, gone := errors.AsType[*serviceerror.NotFound](err)
		return !gone
	}
	return pending(run.GetPendingActivities(), info.ActivityID)
}

func pending(list []*workflow.PendingActivityInfo, id string) bool {
	for _, a := range list {
		if a.GetActivityId() == id {
			return a.GetState() != enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED
		}
	}
	return false
}
