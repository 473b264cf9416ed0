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

const (
	// wantedEvery is the interval at which the engine is asked whether it still wants the answer of
	// an attempt that it has given up.
	wantedEvery = 2 * time.Second
	// settleEvery is the interval at which the engine is asked again once there is a result.
	settleEvery = 200 * time.Millisecond
	// settleLimit bounds the wait for an engine that may itself be paused.
	settleLimit = 2 * time.Minute
)

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
	if err == nil {
		handOver(ctx, out)
	}
	return out, err
}

// handOver ends the activity of ctx with a result if the engine has begun another attempt at it. It
// waits for an engine that does not answer, and for an attempt that is scheduled and not started: the
// engine takes no result before. It does nothing for the attempt of ctx itself.
func handOver(ctx context.Context, result any) {
	if ctx.Err() != nil && !givenUp(ctx) {
		return
	}
	info := activity.GetInfo(ctx)
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	for {
		now, err := pendingActivity(limit)
		if err == nil && (now == nil || now.GetAttempt() <= info.Attempt) {
			return
		}
		at := info.WorkflowExecution
		if err == nil && activity.GetClient(ctx).CompleteActivityByID(limit, info.Namespace, at.ID, at.RunID, info.ActivityID, result, nil) == nil {
			return
		}
		select {
		case <-limit.Done():
			return
		case <-time.After(settleEvery):
		}
	}
}

// wanted reports whether the activity of ctx is still to be done, by any attempt. If the engine
// does not answer, wanted returns true.
func wanted(ctx context.Context) bool {
	if time.Now().After(activity.GetInfo(ctx).Deadline) {
		return false
	}
	now, err := pendingActivity(context.WithoutCancel(ctx))
	return err != nil || now != nil
}

// isOver reports whether the activity of ctx has ended or is to be canceled. It asks until the
// engine answers or ctx ends.
func isOver(ctx context.Context) bool {
	for {
		now, err := pendingActivity(ctx)
		if err == nil {
			return now == nil
		}
		select {
		case <-ctx.Done():
			return true
		case <-time.After(settleEvery):
		}
	}
}

// pendingActivity returns what the engine knows of the activity of ctx. It returns nil if the
// activity has ended or is to be canceled.
func pendingActivity(ctx context.Context) (*workflow.PendingActivityInfo, error) {
	info := activity.GetInfo(ctx)
	asked, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	at := info.WorkflowExecution
	run, err := activity.GetClient(ctx).DescribeWorkflowExecution(asked, at.ID, at.RunID)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil, nil
	}
	for _, a := range run.GetPendingActivities() {
		if a.GetActivityId() == info.ActivityID && a.GetState() != enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED {
			return a, nil
		}
	}
	return nil, err
}
