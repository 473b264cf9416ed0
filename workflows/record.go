package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
)

// acts is for method values only; the worker holds the real one.
var acts *activities.Activities

// emitEvent makes the next event and folds it in. An event out of turn is a defect
// of this program: the panic blocks the workflow task, and with it the run,
// until a mended worker takes over. Nothing is lost.
func (r *runner) emitEvent(ctx workflow.Context, p run.Payload) {
	e := r.s.Event(workflow.Now(ctx), p)
	if err := r.s.Apply(e); err != nil {
		panic(err)
	}
	r.events = append(r.events, e)
	r.chains = append(r.chains, r.s.Chain)
}

// maxEntry is how many events one activity brings at most. A run emits fewer
// between two activities; more come up only when the record has lost lines.
const maxEntry = 8

// headed is satisfied by a pointer to an activity input that embeds a header.
type headed[In any] interface {
	*In
	SetHeader(activities.Header)
}

// runActivity runs an activity with the input, whose header it fills in, and
// returns the activity's result. See recordFirst for the header.
func runActivity[In, Out any, P headed[In]](
	ctx workflow.Context, r *runner, activity func(context.Context, In) (Out, error), in In,
) (out Out, err error) {
	err = r.recordFirst(ctx, func(h activities.Header) error {
		P(&in).SetHeader(h)
		return workflow.ExecuteActivity(ctx, activity, in).Get(ctx, &out)
	})
	return out, err
}

// runBare runs an activity that takes the header alone and returns no result.
func (r *runner) runBare(ctx workflow.Context, activity func(context.Context, activities.Header) error) error {
	return r.recordFirst(ctx, func(h activities.Header) error {
		return workflow.ExecuteActivity(ctx, activity, h).Get(ctx, nil)
	})
}

// recordFirst calls execute, which runs an activity that writes the header's
// entry to the record before it acts. It also brings the Web UI up to date.
// Events that do not fit into one entry are written by the activity Record
// before. A record that has lost lines, or holds others in their place, is given
// every event that this execution still knows. A record that knows more than
// this workflow is put to a person: see dispute.
func (r *runner) recordFirst(ctx workflow.Context, execute func(activities.Header) error) error {
	r.updateUI(ctx)
	var gap, over bool // over: a person let the workflow replace later events
	for {
		h := r.header()
		h.Entry = r.nextEntry(ctx, gap)
		h.Entry.Over = over && len(h.Entry.Events) > 0
		var err error
		if r.lastRecorded(h.Entry) == r.s.Seq {
			err = execute(h)
		} else {
			err = workflow.ExecuteActivity(ctx, acts.Record, h).Get(ctx, nil)
		}
		last, behind := behindFrom(err)
		more, ahead := aheadFrom(err)
		if r.canceledInSilence(ctx, err) {
			err = ctx.Err()
		}
		switch {
		case behind:
			r.recorded = last
			gap = r.s.Seq-len(r.events) > last
			r.giveAgain(last, gap)
		case ahead:
			if err := r.settleRecord(ctx, more); err != nil {
				return err
			}
			over = true
		case err != nil:
			return err
		default:
			r.recorded = r.lastRecorded(h.Entry)
			if r.recorded == r.s.Seq {
				return nil
			}
		}
	}
}

// canceledInSilence reports whether an activity that was to be canceled ended
// without saying so, as nobody was left who could.
func (r *runner) canceledInSilence(ctx workflow.Context, err error) bool {
	return ctx.Err() != nil && isSilent(err) && r.s.Since(run.RulesAsked)
}

// nextEntry is what the record lacks, the first of it.
func (r *runner) nextEntry(ctx workflow.Context, gap bool) rundir.Entry {
	events := r.eventsSince(r.recorded)
	if len(events) == 0 {
		return rundir.Entry{}
	}
	e := rundir.Entry{
		Events: events[:min(len(events), maxEntry)], State: r.s.State, Standing: rundir.StandingOf(r.s), Gap: gap,
		Execution: workflow.GetInfo(ctx).WorkflowExecution.RunID,
	}
	if !gap && r.s.Since(run.RulesAsked) {
		e.Before = r.chainBefore(e.First())
	}
	return e
}

// chainBefore is the chain of the record up to event number n, without it; empty:
// not known.
func (r *runner) chainBefore(n int) run.Digest {
	i := n - 1 - (r.s.Seq - len(r.events)) // events of this execution that come before
	if i <= 0 || r.s.Chain == "" {
		return r.origin
	}
	return r.chains[i-1]
}

// maxRegiven bounds how often an execution gives the record all again because
// its lines are not those that it should hold. A worker of another version, which
// words its lines otherwise, would have it so for ever.
const maxRegiven = 3

// giveAgain counts, and forgets the chain where it cannot hold: with a gap, and
// with lines that are never as they should be.
func (r *runner) giveAgain(last int, gap bool) {
	if last == 0 {
		r.regiven++
	}
	if gap || r.regiven > maxRegiven {
		r.s.Chain, r.origin = "", ""
	}
}

// lastRecorded is how far the record is with the entry.
func (r *runner) lastRecorded(e rundir.Entry) int {
	if len(e.Events) == 0 {
		return r.s.Seq
	}
	return e.First() + len(e.Events) - 1
}

// behindFrom says where the record ends that has lost lines.
func behindFrom(err error) (last int, behind bool) {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return last, ok && app.Type() == activities.BehindError && app.Details(&last) == nil
}

// aheadFrom says what the record knows beyond the workflow.
func aheadFrom(err error) (more rundir.Ahead, ahead bool) {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return more, ok && app.Type() == activities.AheadError && app.Details(&more) == nil
}

// flushRecord brings the record up to date where no activity follows at once: before
// a wait, and before history is cut. A cancellation does not undo it: what
// happened, happened.
func (r *runner) flushRecord(ctx workflow.Context) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	if len(r.eventsSince(r.recorded)) == 0 {
		r.updateUI(ctx)
		return
	}
	if err := r.runBare(acting(ctx, "Write the record"), acts.Record); err != nil {
		r.log.Error("record is behind", "error", err)
	}
}

// eventsSince returns the events after number n that this execution knows.
func (r *runner) eventsSince(n int) []run.Event {
	first := r.s.Seq - len(r.events) + 1
	return r.events[min(max(0, n-first+1), len(r.events)):]
}

// attributes are the search attributes as last sent.
type attributes struct {
	status    run.Status
	phase     run.Phase
	iteration int
}

// updateUI brings the Web UI up to date. Details cost nothing, attributes an
// event: they are sent when they change.
func (r *runner) updateUI(ctx workflow.Context) {
	s := r.visibleSnapshot()
	workflow.SetCurrentDetails(ctx, details(s, r.latestLimit()))
	now := attributes{s.State.Status, s.Phase(), s.State.Iteration}
	if now == r.shown || now.status == "" {
		return
	}
	updates := []temporal.SearchAttributeUpdate{
		attribute.Status().ValueSet(string(now.status)),
		attribute.Iteration().ValueSet(int64(now.iteration)),
		attribute.Phase().ValueSet(string(now.phase)),
	}
	if now.phase == "" {
		updates[2] = attribute.Phase().ValueUnset()
	}
	if r.shown == (attributes{}) {
		updates = append(updates, attribute.Repository().ValueSet(r.s.Input.Repository.Path))
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		r.log.Warn("search attributes not sent", "error", err)
	}
	r.shown = now
}

// A worker of the same host notices at once when another dies; see
// activities.Liveness. Heartbeat timeouts are for hosts that are lost, and longer
// than the pauses of a host that is not.
const (
	shortHeartbeat = 15 * time.Second
	longHeartbeat  = 30 * time.Second // of what is paid, or long
)

// acting is for steps on the run's own files: idempotent, so tried until they
// succeed; what will never succeed they return as a result.
func acting(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute,
		HeartbeatTimeout:    shortHeartbeat,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
		Summary:             summary,
	})
}

// Attempts at one provider call that no answer came of, those included in which
// the provider was never started. Those in which it was are counted by the
// activity, and fewer.
const thinkingAttempts = 50

// thinking is for provider calls: slow and paid. The attempt may last as long
// as the provider may, and a little for reading the context. The policy's short
// intervals are for what is wrong around the call; the provider's own errors say
// for themselves how long to wait.
func thinking(ctx workflow.Context, c activities.Call) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: c.Timeout + time.Minute,
		HeartbeatTimeout:    longHeartbeat,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1.5, MaximumInterval: 5 * time.Second, MaximumAttempts: thinkingAttempts},
		Summary:             fmt.Sprintf("%s %d: %s", c.Phase, c.Iteration, c.Provider),
	})
}

// checking is for the checks: each has its limit, and they run one by one.
func checking(ctx workflow.Context, limit time.Duration, n int, summary string) workflow.Context {
	ctx = workflow.WithHeartbeatTimeout(acting(ctx, summary), longHeartbeat)
	return workflow.WithStartToCloseTimeout(ctx, limit*time.Duration(max(n, 1))+time.Minute)
}
