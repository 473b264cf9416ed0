package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/workflows/page"
)

// acts provides method values only. The worker holds the real activities.
var acts *activities.Activities

// emitEvent creates the next event and folds it into the snapshot. It panics if the event is out of
// turn, which is a defect of this program. The panic blocks the workflow task, and with it the run,
// until a fixed worker takes over. Nothing is lost.
func (r *runner) emitEvent(ctx workflow.Context, p run.Payload) {
	e, did, was := r.s.Event(workflow.Now(ctx), p), r.s.Next.Do, *r.s
	if err := r.s.Apply(e); err != nil {
		panic(err)
	}
	if did == run.Work && e.Type != run.ApprovalRequestedEvent { // the work has ended
		r.unreported = Unreported{}
	}
	r.events = append(r.events, e)
	r.chains = append(r.chains, r.s.Chain)
	r.countEvent(ctx, &was, e)
	r.sendNotice(ctx, e)
}

// maxEntry is the maximum number of events that one activity writes to the record. A run emits fewer
// between two activities. More are due only when the record has lost lines.
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

// recordFirst calls execute, which runs an activity that writes the header's entry to the record
// before it acts. It also brings the Web UI up to date. If the events do not fit into one entry, the
// activity Record writes the first of them before. If the record has lost lines, or holds other lines
// in their place, recordFirst gives it every event that this execution still knows. If the record
// knows more than this workflow, recordFirst asks a person: see mismatch.
func (r *runner) recordFirst(ctx workflow.Context, execute func(activities.Header) error) error {
	r.updateUI(ctx)
	var gap, over bool // over: a person lets the workflow replace the later events
	for {
		h := r.inputHeader()
		h.Entry = r.nextEntry(ctx, gap)
		h.Entry.Over = over && len(h.Entry.Events) > 0
		upTo := r.lastRecorded(h.Entry)
		whole := upTo == r.s.Seq
		var err error
		if whole {
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
			if err := r.resolveMismatch(ctx, more); err != nil {
				return err
			}
			over = true
		case err != nil:
			return err
		default: // other attempts may have emitted and recorded events meanwhile
			r.recorded = max(r.recorded, upTo)
			if whole {
				return nil
			}
		}
	}
}

// canceledInSilence reports whether an activity that was asked to cancel ended without a report,
// because no worker was left to send it.
func (r *runner) canceledInSilence(ctx workflow.Context, err error) bool {
	return ctx.Err() != nil && report.IsSilent(err)
}

// nextEntry returns an entry with the first events that the record lacks, maxEntry at most.
func (r *runner) nextEntry(ctx workflow.Context, gap bool) rundir.Entry {
	events := r.eventsSince(r.recorded)
	if len(events) == 0 {
		return rundir.Entry{}
	}
	e := rundir.Entry{
		Events: events[:min(len(events), maxEntry)], State: r.s.State, Standing: rundir.StandingOf(r.s), Gap: gap,
		Execution: workflow.GetInfo(ctx).WorkflowExecution.RunID,
	}
	if !gap {
		e.Before = r.chainBefore(e.First())
	}
	return e
}

// chainBefore returns the chain of the record up to event number n, exclusive. The chain is empty if it
// is not known.
func (r *runner) chainBefore(n int) run.Digest {
	i := n - 1 - (r.s.Seq - len(r.events)) // number of events of this execution before event n
	if i <= 0 || r.s.Chain == "" {
		return r.origin
	}
	return r.chains[i-1]
}

// maxRegiven bounds how often an execution gives the record all events again because the record holds
// other lines than it should. A worker of another version words its lines differently, and would
// cause that without end.
const maxRegiven = 3

// giveAgain counts how often the record is given all events again. It forgets the chain where the
// chain cannot hold: with a gap, and after more than maxRegiven times.
func (r *runner) giveAgain(last int, gap bool) {
	if last == 0 {
		r.regiven++
	}
	if gap || r.regiven > maxRegiven {
		r.s.Chain, r.origin = "", ""
	}
}

// lastRecorded returns the number of the last event in the record once the entry is written.
func (r *runner) lastRecorded(e rundir.Entry) int {
	if len(e.Events) == 0 {
		return r.s.Seq
	}
	return e.First() + len(e.Events) - 1
}

// behindFrom returns the number of the last event in a record that has lost lines. behind reports
// whether err says that the record has lost lines.
func behindFrom(err error) (last int, behind bool) {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return last, ok && app.Type() == activities.BehindError && app.Details(&last) == nil
}

// aheadFrom returns a description of the events that the record knows beyond the workflow. ahead
// reports whether err says that there are any.
func aheadFrom(err error) (more rundir.Ahead, ahead bool) {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return more, ok && app.Type() == activities.AheadError && app.Details(&more) == nil
}

// flushRecord brings the record up to date where no activity follows at once: before a wait, and before
// the history is cut. A cancellation of the run does not prevent it, because the events have happened.
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

// attributes holds the search attributes that were sent last.
type attributes struct {
	status    run.Status
	phase     run.Phase
	iteration int
}

// updateUI brings the Web UI up to date. It sends the details at every call, because they cost no event.
// It sends the search attributes when they change, because they cost an event.
func (r *runner) updateUI(ctx workflow.Context) {
	s := r.visibleSnapshot()
	r.showDetails(ctx)
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
		updates = append(updates, attribute.Repository().ValueSet(r.s.Input.Repository.Shown()))
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		r.log.Warn("search attributes not sent", "error", err)
	}
	r.shown = now
}

// showDetails brings the page of the run in the Web UI up to date, which costs no event.
func (r *runner) showDetails(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, page.OfRun(r.visibleSnapshot(), r.latestLimit(), r.refused))
}

// Heartbeat timeouts detect the loss of a host. They are longer than the pauses of a host that is not
// lost. A worker of the same host notices at once when another dies: see activities.Liveness.
const (
	shortHeartbeat = 15 * time.Second
	longHeartbeat  = 30 * time.Second // of activities that are paid or long
)

// acting returns a context for steps on the run's own files. The steps are idempotent and are tried
// until they succeed. They return a failure that is final as a result.
func acting(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute,
		HeartbeatTimeout:    shortHeartbeat,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
		Summary:             summary,
	})
}

// thinkingAttempts bounds the attempts at one provider call that bring no answer. It includes the
// attempts that never started the provider. The activity counts the attempts that started it, and
// allows fewer of them.
const thinkingAttempts = 50

// thinking returns a context for a provider call, which is slow and paid. The attempt may last as long
// as the provider may, and a minute more for reading the context. The policy's short intervals are for
// failures around the call. The provider's own errors carry the time to wait.
func thinking(ctx workflow.Context, c activities.Call) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: c.Timeout + time.Minute,
		HeartbeatTimeout:    longHeartbeat,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1.5, MaximumInterval: 5 * time.Second, MaximumAttempts: thinkingAttempts},
		Summary:             fmt.Sprintf("%s %d: %s", c.Phase, c.Iteration, c.Provider),
	})
}

// preparing is the time that checks have for making their worktree.
const preparing = 10 * time.Minute

// checkContext returns a context for n checks, which run one by one. limit bounds each check.
func checkContext(ctx workflow.Context, limit time.Duration, n int, summary string) workflow.Context {
	ctx = workflow.WithHeartbeatTimeout(acting(ctx, summary), longHeartbeat)
	return workflow.WithStartToCloseTimeout(ctx, limit*time.Duration(max(n, 1))+preparing+time.Minute)
}
