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

// wantedEvery is the interval at which the engine is asked whether it still wants the answer of an
// attempt that it has given up.
const wantedEvery = 2 * time.Second

// endure returns a context that ends with ctx, with one exception: the engine has given the attempt
// up and begins another, as after a pause longer than the heartbeat timeout. Paid work then
// continues, because the next attempt waits for its answer. In that case the context ends when the
// answer is no longer wanted. Stop ends the context at any time.
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

// outlast runs long work that no later attempt can find. The work continues after the engine has
// given the attempt up, and its result then becomes the result of the attempt that waits for it.
// The caller holds the lock that the other attempt waits for, and releases it after outlast.
func outlast[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	enduring, stop := endure(ctx)
	defer stop()
	out, err := do(enduring)
	if err == nil && overtaken(ctx) {
		handOver(ctx, out)
	}
	return out, err
}

// overtaken reports whether the engine has given the attempt up, even if the engine has not said
// this yet.
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
	handOverLimit = 20 * time.Second // for the next attempt to begin: the engine takes no result before
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

// wanted reports whether the activity of ctx is still to be done, by any attempt. If the engine
// does not answer, wanted returns true.
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
