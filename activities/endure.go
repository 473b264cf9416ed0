package activities

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"

	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

const (
	// wantedEvery is the interval at which the engine is asked whether it still wants the answer of
	// an attempt that it has given up.
	wantedEvery = 2 * time.Second
	// askEvery is the interval at which a question or report to the engine is repeated.
	askEvery = 200 * time.Millisecond
	// reportFor bounds the report of a result to an engine that may itself be paused, again and
	// again.
	reportFor = 10 * time.Minute
	// reportLimit bounds one report or question to the engine.
	reportLimit = 5 * time.Second
)

// endure returns a context that ends with ctx, with one exception: the engine has given the attempt
// up and begins another, as after a pause longer than the heartbeat timeout. Paid work then
// continues, because the next attempt waits for its answer. In that case the context ends when the
// answer is no longer wanted, as when another host has the step: its attempt does not wait for an answer on this one. Stop
// ends the context at any time.
func endure(ctx context.Context) (enduring context.Context, stop func()) {
	enduring, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-enduring.Done():
			return
		case <-ctx.Done():
		}
		for givenUp(ctx) && isWanted(ctx) {
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

// outlastAttempt runs long work that no later attempt can find. The work continues after the engine has
// given the attempt up, and its result then becomes the result of the attempt that waits for it.
// The caller holds the lock that the other attempt waits for, and releases it after outlastAttempt: by
// then the engine has the result.
func outlastAttempt[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	enduring, stop := endure(ctx)
	defer stop()
	out, err := do(enduring)
	if err == nil && reportResult(ctx, out) {
		err = activity.ErrResultPending // which says that the result needs no other report
	}
	return out, err
}

// reportResult ends the activity of ctx with a result, whether or not the engine has given the
// attempt up. It reports until the engine has a result of the activity or wants none, and returns
// true then. An attempt that the SDK reports is lost if it is given up in that moment, as by an
// engine that pauses.
func reportResult(ctx context.Context, result any) bool {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportFor)
	defer cancel()
	for !reportOnce(limit, result) {
		select {
		case <-limit.Done():
			return false
		case <-time.After(askEvery):
		}
	}
	return true
}

// reportOnce is one report of reportResult. The engine takes the result of an attempt that it has
// given up once the next attempt has started.
func reportOnce(ctx context.Context, result any) bool {
	asked, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	info, engine := activity.GetInfo(ctx), activity.GetClient(ctx)
	err := engine.CompleteActivity(asked, info.TaskToken, result, nil)
	if _, refused := errors.AsType[*serviceerror.NotFound](err); !refused {
		return err == nil
	}
	now, err := pendingActivity(asked)
	if err != nil || now == nil {
		return err == nil
	}
	at := info.WorkflowExecution
	return engine.CompleteActivityByID(asked, info.Namespace, at.ID, at.RunID, info.ActivityID, result, nil) == nil
}

// isWanted reports whether the activity of ctx is still to be done, by any attempt of this host. If the engine
// does not answer, wanted returns true.
func isWanted(ctx context.Context) bool {
	if time.Now().After(activity.GetInfo(ctx).Deadline) {
		return false
	}
	now, err := pendingActivity(context.WithoutCancel(ctx))
	return err != nil || now != nil && !isElsewhere(ctx, now)
}

// hostKey is the key of the name of this host in the context of an activity that Attend has prepared.
type hostKey struct{}

// isElsewhere reports whether a worker of another host has the activity.
func isElsewhere(ctx context.Context, now *workflow.PendingActivityInfo) bool {
	own, attended := ctx.Value(hostKey{}).(string)
	_, host, _ := strings.Cut(now.GetLastWorkerIdentity(), "@")
	return attended && host != "" && host != own
}

// isCurrent reports whether the engine waits for the attempt of ctx, and for no later one. It asks
// until the engine answers or ctx ends.
func isCurrent(ctx context.Context) bool {
	for {
		now, err := pendingActivity(ctx)
		if err == nil {
			return now != nil && now.GetAttempt() == activity.GetInfo(ctx).Attempt
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(askEvery):
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
	run, err := temporalclient.Describe(asked, activity.GetClient(ctx), at.ID, at.RunID)
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
