package delivery

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
)

// The pauses between two reads of a thread while a batch waits. Each read without a result doubles the pause, and each
// thing that the process reports ends it.
const (
	firstPause   = 2 * time.Second
	longestPause = 5 * time.Minute
	// lookAfterEnd is how long after the end of a turn its completion may be reported. It comes after the status.
	lookAfterEnd = 5 * time.Second
	// lookAfterAnswer is how long after an acceptance the turn is looked for in the thread.
	lookAfterAnswer = time.Minute
)

// Step does the work that is due, and may run activities. It reports whether there may be more to do. The session calls it
// where it rests, and again when Touch was called or the time of Due has come.
func (d *Deliveries) Step(ctx workflow.Context) (more bool) {
	switch {
	case d.ended:
		return false
	case d.fold.Seq == 0 && d.process == nil:
		d.next = d.awaitProcess(ctx)
		return false
	}
	d.changed = false
	d.next = d.takeStep(ctx)
	if !d.changed {
		d.writeLedger(ctx)
	}
	return d.changed
}

// HasNext reports whether a batch waits to be sent.
func (d *Deliveries) HasNext() bool {
	e := d.fold.Head()
	return e != nil && e.Replay == delivery.Automatic && d.fold.InFlight() == nil
}

// Due returns when time alone makes something due; the zero time never comes.
func (d *Deliveries) Due() time.Time { return d.next }

// takeStep does the work that is due, and returns when time alone makes more due.
func (d *Deliveries) takeStep(ctx workflow.Context) (next time.Time) {
	d.endLostEpoch(ctx)
	d.sweepDeadlines(ctx)
	d.bindProcess(ctx)
	switch {
	case d.fold.InFlight() != nil:
		return d.followAttempt(ctx)
	case d.fold.Head() == nil:
		d.problem = ""
		return time.Time{}
	}
	return d.serveHead(ctx)
}

// sweepDeadlines applies the deadlines that have passed.
func (d *Deliveries) sweepDeadlines(ctx workflow.Context) (done int) {
	done = d.sweepEarly(ctx)
	for _, p := range d.fold.Sweep(workflow.Now(ctx)) {
		if d.emitEvent(ctx, p) != nil {
			continue
		}
		done++
		if p, ok := p.(delivery.Stale); ok {
			d.host.GiveTurnUp(ctx, d.fold.Attempt(p.RequestID).Marker)
		}
	}
	return done
}

// bindProcess binds the process that serves the session, unless an attempt or a person is waited for: they are judged by
// the proofs of the old epoch.
func (d *Deliveries) bindProcess(ctx workflow.Context) {
	if d.process == nil || d.fold.Head() == nil || d.fold.Session.State == delivery.Live || d.fold.Session.State == delivery.Retired {
		return
	}
	err := d.emitEvent(ctx, delivery.Bound{Session: d.Session, Thread: d.process.Thread, Adapter: d.process.Adapter})
	if err != nil && !errors.Is(err, delivery.ErrPendingResolution) {
		d.setProblem("session_profile_mismatch: the session continues as %s thread %s, but its results are for thread %s", d.process.Adapter, d.process.Thread, d.fold.Thread)
	}
}

// serveHead sends the head, or finds out why it cannot be sent yet.
func (d *Deliveries) serveHead(ctx workflow.Context) (next time.Time) {
	next = d.fold.NextSweep()
	now, decision := workflow.Now(ctx), d.decideHead(ctx)
	switch {
	case decision.Outcome == delivery.Nothing || decision.Outcome == delivery.Operator:
		return earliest(next, after(now, d.fold.NotBefore()))
	case d.lacksBudget(ctx):
		return next
	case decision.Reason == delivery.NotLive:
		if d.process == nil {
			next = earliest(next, d.wakeProcess(ctx))
		}
		return next
	case d.host.HasTurnToBegin(ctx):
		return earliest(next, now.Add(firstPause))
	case now.Before(d.readyAt):
		return earliest(next, d.readyAt)
	}
	if !d.proved {
		if !d.proveThread(ctx) {
			return earliest(next, d.readyAt)
		}
		decision = d.decideHead(ctx)
	}
	switch decision.Outcome {
	case delivery.Start, delivery.Steer:
		if d.lost == "" && d.process != nil && !d.host.HasTurnToBegin(ctx) && !d.lacksBudget(ctx) {
			d.attemptHead(ctx, decision)
		}
		return next
	case delivery.Deny:
		d.auditDenial(ctx, decision.Reason)
		return next
	case delivery.Operator:
		return next
	}
	d.proved = false
	return earliest(next, d.backOff(ctx))
}

// lacksBudget reports whether the session's budgets let no delivery begin.
func (d *Deliveries) lacksBudget(ctx workflow.Context) bool {
	_, err := d.host.BudgetLeft(ctx)
	if err != nil {
		d.setProblem("%v", err)
	}
	return err != nil
}

// wakeProcess wakes the session unless it must not be woken now. It returns when time alone lets it be woken.
func (d *Deliveries) wakeProcess(ctx workflow.Context) (next time.Time) {
	at, err := d.host.CheckWake(ctx)
	if err != nil {
		d.setProblem("%v", err)
		return at
	}
	d.host.WakeProcess(ctx)
	return time.Time{}
}

func (d *Deliveries) decideHead(ctx workflow.Context) delivery.Decision {
	e := d.fold.Head()
	if e == nil {
		return delivery.Decision{Outcome: delivery.Nothing, Reason: delivery.NotOpen}
	}
	decision := d.fold.Decide(e.Batch.ID, workflow.Now(ctx))
	if decision.Outcome != delivery.Start && decision.Outcome != delivery.Steer {
		d.problem = string(decision.Reason)
	}
	return decision
}

// auditDenial adds a line to the audit, once, when a batch is not delivered because the known facts contradict each other.
func (d *Deliveries) auditDenial(ctx workflow.Context, r delivery.Reason) {
	batch := d.fold.Head().Batch.ID
	if key := batch + " " + string(r); d.denied != key {
		d.denied = key
		line := d.fold.Denied(workflow.Now(ctx), batch, r)
		d.enter(ledger.Entry{Audit: []delivery.Line{line}})
	}
}

// backOff begins a pause, and returns its end.
func (d *Deliveries) backOff(ctx workflow.Context) time.Time {
	d.pause = min(max(2*d.pause, firstPause), longestPause)
	d.readyAt = workflow.Now(ctx).Add(d.pause)
	return d.readyAt
}

// proveThread reads the thread and folds what the read proves. After a failed read nothing is known, and the epoch ends.
func (d *Deliveries) proveThread(ctx workflow.Context) bool {
	if d.process == nil {
		return false
	}
	managed, last := d.fold.Session, d.state.Entries
	var out activities.ProveResult
	err := runActivity(quickActivity(d.host.ReachProcess(ctx), "Read what the session's thread does"), &out, acts.ProveThread, activities.ProveInput{
		Session: d.Session, Process: d.process.ID, Managed: managed, Record: d.state.Unrecorded,
	})
	if err != nil {
		problem := report.ProblemOf(err)
		d.setProblem("the state of the thread is not proved: %s", problem.Message)
		if problem.Code == activities.ReadError {
			_ = d.emitEvent(ctx, delivery.Invalidated{Session: managed.ID, Epoch: managed.Epoch, Reason: "the thread could not be read"})
		}
		d.backOff(ctx)
		return false
	}
	d.markRecorded(last)
	if d.emitEvent(ctx, out.Proved) != nil {
		d.backOff(ctx)
		return false
	}
	d.proved = true
	return true
}

// attemptHead records an attempt and sends it once.
func (d *Deliveries) attemptHead(ctx workflow.Context, decision delivery.Decision) {
	e, s := d.fold.Head(), d.fold.Session
	b := delivery.Begun{
		Batch: e.Batch.ID, Generation: e.Generation + 1, RequestID: newID(ctx), Marker: newID(ctx), Kind: delivery.TurnStart,
		Expected: decision.Turn, Adapter: s.Adapter, Session: s.ID, Epoch: s.Epoch,
		ActivityRevision: s.Activity.Revision, CapabilityRevision: s.Capabilities.Revision,
	}
	if decision.Outcome == delivery.Steer {
		b.Kind = delivery.TurnSteer
	}
	if b.Kind == delivery.TurnStart && !d.host.BeginTurn(ctx, b.Marker) {
		d.setProblem("the session has a turn")
		d.backOff(ctx)
		return
	}
	begun, _, err := d.fold.Begin(b, workflow.Now(ctx))
	if err != nil || begun == nil || d.emitEvent(ctx, *begun) != nil {
		d.host.TakeTurnBack(ctx, b.Marker)
		d.setProblem("the rules for results refuse the attempt: %v", err)
		d.backOff(ctx)
		return
	}
	d.proved, d.problem = false, ""
	last := d.state.Entries
	left, _ := d.host.BudgetLeft(ctx)
	var out activities.DeliverResult
	err = runActivity(singleActivity(d.host.ReachProcess(ctx), "Deliver batch "+b.Batch), &out, acts.SendDelivery, activities.DeliverInput{
		Session: d.Session, Process: d.process.ID, Attempt: b, Text: e.Batch.Text(b.Marker, b.Generation), Record: d.state.Unrecorded, Left: left,
	})
	d.takeAnswer(ctx, b, last, out, err)
}

// takeAnswer folds the answer to an attempt. Without one the attempt stays: it is unknown whether it was accepted.
func (d *Deliveries) takeAnswer(ctx workflow.Context, b delivery.Begun, last int, out activities.DeliverResult, err error) {
	now := workflow.Now(ctx)
	if temporal.IsCanceledError(err) || report.IsUnbegun(err) {
		out, err = activities.DeliverResult{Refused: delivery.NotSent, Reason: report.Summary(err.Error())}, nil
	}
	switch {
	case err == nil && out.Refused == "":
		d.markRecorded(last)
		_ = d.emitEvent(ctx, delivery.Accepted{RequestID: b.RequestID, Turn: out.Turn, At: out.At, Session: b.Session, Epoch: b.Epoch})
		d.pause, d.lookAt = 0, now.Add(lookAfterAnswer)
	case err == nil:
		_ = d.emitEvent(ctx, delivery.Refused{RequestID: b.RequestID, Class: out.Refused, Reason: out.Reason})
		d.host.TakeTurnBack(ctx, b.Marker)
		d.setProblem("the attempt was refused (%s): %s", out.Refused, out.Reason)
		d.backOff(ctx)
	default:
		d.setProblem("the attempt may or may not have been accepted: %s", report.ProblemOf(err).Message)
		d.lookAt = now
	}
}

// followAttempt looks for the attempt in flight in its thread, at growing intervals: an event may have been missed. An
// attempt that has outlived its epoch without an answer ends with the look of the process that follows.
func (d *Deliveries) followAttempt(ctx workflow.Context) (next time.Time) {
	next = d.fold.NextSweep()
	a, s := *d.fold.InFlight(), d.fold.Session
	current := s.State == delivery.Live && s.Epoch == a.Epoch
	switch {
	case !current && a.State != delivery.AcceptPending:
		return next
	case d.process == nil:
		return earliest(next, d.wakeProcess(ctx))
	case workflow.Now(ctx).Before(d.lookAt):
		return earliest(next, d.lookAt)
	}
	var out activities.ReconcileResult
	err := runActivity(quickActivity(d.host.ReachProcess(ctx), "Look up the outcome of an attempt"), &out, acts.ReconcileDelivery, activities.ReconcileInput{
		Session: d.Session, Process: d.process.ID, Epoch: a.Epoch, Marker: a.Marker,
	})
	switch {
	case err != nil:
		d.setProblem("cannot look up the attempt: %s", report.ProblemOf(err).Message)
	case !current:
		_ = d.emitEvent(ctx, delivery.Unanswered{RequestID: a.RequestID, Shown: shownBy(out)})
	case out.Marked != nil:
		_ = d.emitEvent(ctx, *out.Marked)
		if out.Turn != nil {
			_ = d.emitEvent(ctx, *out.Turn)
		}
	}
	d.pause = min(max(2*d.pause, lookAfterEnd), longestPause)
	d.lookAt = workflow.Now(ctx).Add(d.pause)
	return earliest(d.fold.NextSweep(), d.lookAt)
}

// shownBy says for a person what the process that follows reads of an attempt without an answer.
func shownBy(out activities.ReconcileResult) string {
	switch {
	case out.Marked == nil && out.Recent:
		return "" // it cannot know
	case out.Marked == nil:
		return "the next agent process does not find the message in the thread"
	case out.Turn == nil:
		return fmt.Sprintf("the next agent process finds the message in turn %s, which has not ended", out.Marked.Turn)
	}
	return fmt.Sprintf("the next agent process finds the message in turn %s: %s", out.Marked.Turn, out.Turn.What)
}

// writeLedger writes what the ledger lacks. If it cannot be written, the next activity carries it again, and no attempt
// begins without it.
func (d *Deliveries) writeLedger(ctx workflow.Context) {
	if len(d.state.Unrecorded) == 0 {
		return
	}
	last := d.state.Entries
	err := runActivity(quickActivity(ctx, "Record the results"), nil, acts.RecordDelivery, activities.RecordInput{Session: d.Session, Record: d.state.Unrecorded})
	if err != nil {
		d.setProblem("the ledger cannot be written: %s", report.ProblemOf(err).Message)
		return
	}
	d.markRecorded(last)
}

// runActivity runs an activity to its end.
func runActivity(ctx workflow.Context, out any, activity any, in any) error {
	return workflow.ExecuteActivity(ctx, activity, in).Get(ctx, out)
}

// newID returns a random id, which a replay returns again.
func newID(ctx workflow.Context) (id string) {
	_ = workflow.SideEffect(ctx, func(workflow.Context) any { return uuid.NewString() }).Get(&id)
	return id
}

// quickActivity returns a context for an activity that reads, or that may be repeated. The loop repeats it.
func quickActivity(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: workflow.GetActivityOptions(ctx).TaskQueue, StartToCloseTimeout: 30 * time.Second, ScheduleToStartTimeout: time.Minute, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: summary,
	})
}

// singleActivity returns a context for the activity that sends. It must not run twice.
func singleActivity(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: workflow.GetActivityOptions(ctx).TaskQueue, StartToCloseTimeout: 90 * time.Second, ScheduleToStartTimeout: time.Minute, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: deliverAttempts}, Summary: summary,
	})
}

// deliverAttempts is how often an attempt is sent. Any other number delivers twice: see the kill suite.
const deliverAttempts = 1

// earliest returns the earlier of two times; the zero time never comes.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// after returns t if it is after now, else the zero time.
func after(now, t time.Time) time.Time {
	if t.After(now) {
		return t
	}
	return time.Time{}
}
