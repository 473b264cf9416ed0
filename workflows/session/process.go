package session

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities/report"
	activities "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// startProcess starts the activity that owns the agent's process. Its end is folded in by a coroutine of
// its own, after every report that it sent.
func (r *runner) startProcess(ctx workflow.Context) {
	due := r.s.NextProcess()
	if !r.applyEvent(ctx, due) {
		return
	}
	epoch := r.s.Process.Epoch
	held, end := workflow.WithCancel(ctx)
	r.end = end
	var closed func()
	r.process, closed = workflow.WithCancel(ctx)
	process := workflow.ExecuteActivity(processContext(held), acts.RunProcess, activities.ProcessInput{
		Session: r.s.Input, Epoch: epoch, Choice: due.Choice, Fresh: due.Fresh,
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer end()
		var res activities.ProcessResult
		err := process.Get(ctx, &res)
		r.drainReports(ctx)
		e := endOf(epoch, res, err)
		closed()
		r.detachProcess(e)
		r.applyEvent(ctx, e)
	})
}

// endOf returns how a process ended. An activity that did not report it is lost with its worker.
func endOf(epoch int, res activities.ProcessResult, err error) session.ProcessEnded {
	e := session.ProcessEnded{Epoch: epoch, End: res.End, Reason: res.Reason, Found: res.Found}
	switch {
	case err == nil:
	case temporal.IsCanceledError(err):
		e.End = session.Ended
	case report.IsSilent(err):
		e.End, e.Reason = session.WasLost, "the worker with the agent's process ended or does not answer"
	default:
		e.End, e.Reason = session.Died, report.ProblemOf(err).Message
	}
	return e
}

// stopProcess asks the process's owner to end it in good order.
func (r *runner) stopProcess(ctx workflow.Context) {
	if r.s.Process != nil && r.applyEvent(ctx, session.ProcessStopping{}) {
		r.end()
	}
}

// handOver gives the agent the next message, or asks it to continue the turn that was cut off.
func (r *runner) handOver(ctx workflow.Context) {
	decided := r.s.Permit()
	if !r.applyEvent(ctx, session.HandingBegun{}) {
		return
	}
	t := *r.s.Turn
	h := activities.Handover{
		Session: r.s.Input.ID, Epoch: r.s.Process.Epoch, ID: t.ID, Part: t.Parts, Text: t.Text,
		Permits: r.s.Permits, Decided: decided, Left: r.budgetLeft(),
	}
	if h.Part > 0 {
		h.Text = ""
	}
	given, err := r.callOwner(ctx, owner.Say, h, "Send message "+t.ID)
	if !given && err == nil && !r.applyEvent(ctx, session.NotHanded{ID: t.ID}) {
		return // the turn has ended since
	}
	if !given {
		r.stopProcess(ctx) // it takes no input, or it is not known whether it took this one
	}
}

// budgetLeft returns what a turn may use.
func (r *runner) budgetLeft() provider.Left {
	tokens, cost := r.s.Left()
	return provider.Left{Tokens: boundOf(tokens), Cost: boundOf(cost)}
}

// boundOf returns what a turn may use of the rest of a budget. Zero is no bound, as in the rest. Where nothing is left,
// as after a question about the budget that was answered with stop, the turn ends at the first sign of use.
func boundOf[T int64 | run.Micros](left T) T {
	if left < 0 {
		return 1
	}
	return left
}

// sendDecision sends the agent a decision.
func (r *runner) sendDecision(ctx workflow.Context) {
	ask := r.s.NextDecided()
	p := r.s.Permit()
	if p == nil {
		p = &run.Permit{CallID: ask.Permission.CallID, Digest: ask.Permission.Digest}
	}
	v := activities.Verdict{Session: r.s.Input.ID, Epoch: r.s.Process.Epoch, Permit: *p, Final: ask.Decided.Final}
	_, err := r.callOwner(ctx, owner.Decide, v, "Send the decision on "+ask.ApprovalID)
	if err != nil {
		r.stopProcess(ctx)
		return
	}
	r.applyEvent(ctx, session.DecisionSent{ApprovalID: ask.ApprovalID})
}

// callOwner runs an activity of the process's owner, once. Done is false, without an error, if it surely had no
// effect. An error says that this is not known.
func (r *runner) callOwner(ctx workflow.Context, activity, in any, summary string) (done bool, err error) {
	if !r.s.Process.Ready() {
		return false, nil
	}
	var res activities.HandResult
	err = workflow.ExecuteActivity(ownerActivity(r.process, r.s.Process.Queue, summary), activity, in).Get(ctx, &res)
	if report.IsUnbegun(err) { // if it was canceled with its process this is unknown: the note on disk has the answer
		return false, nil
	}
	return res.Done, err
}

const (
	// heartbeatTimeout detects the loss of the host. It is longer than the pauses of a host that is not
	// lost.
	heartbeatTimeout = 30 * time.Second
	// processLimit bounds a process. Afterwards the agent is resumed.
	processLimit = 30 * 24 * time.Hour
)

// processContext returns a context for RunProcess: one attempt. A cancellation waits for the end of the process.
func processContext(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: AgentQueue(workflow.GetInfo(ctx).TaskQueueName), StartToCloseTimeout: processLimit, HeartbeatTimeout: heartbeatTimeout, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: "The agent's process",
	})
}

// ownerActivity returns a context for an activity of the process's owner, which must not run twice. When
// the process ends, no one waits for it any longer: a worker that died with it reports nothing.
func ownerActivity(ctx workflow.Context, queue, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: time.Minute, ScheduleToStartTimeout: time.Minute,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: summary,
	})
}

// retireAttempts bounds the attempts at a checkout that cannot be read, such as one whose repository is gone. They take
// some five minutes. The session ends all the same, and the checkout stays.
const retireAttempts = 10

// retireSession ends the session: it keeps the diff of the checkout and removes the checkout.
func (r *runner) retireSession(ctx workflow.Context) error {
	if err := r.deliveries.Retire(ctx); err != nil { // a cancellation does not wait
		r.log.Warn("results left open", "reason", err.Error())
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: heartbeatTimeout, Summary: "Keep the changes, remove the checkout",
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: retireAttempts},
	})
	var kept activities.Retired
	err := workflow.ExecuteActivity(ctx, acts.Retire, r.s.Input).Get(ctx, &kept)
	if err != nil {
		r.log.Error("checkout left behind", "error", err)
	}
	r.applyEvent(ctx, session.Retirement{Found: kept.Found})
	r.result = Result{ID: r.s.Input.ID, Usage: r.s.Usage, Changes: kept.Changes, Reason: r.s.Reason}
	return nil
}

// readingActivity returns a context for an activity that changes nothing.
func readingActivity(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 5 * time.Minute, HeartbeatTimeout: heartbeatTimeout, Summary: "Read the changes of the checkout",
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 3},
	})
}
