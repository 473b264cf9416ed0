package dispatch

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// acts provides method values only. The worker holds the real activities.
var acts *activities.Activities

// observeLimit is the observation limit of an owned turn (docs/contracts/dispatch.md, 10).
const observeLimit = 30 * time.Second

// delivery carries out one dispatch to a backend with a liveness predicate, from the lock to its
// release.
type delivery struct {
	*target
	message   dispatch.Message
	to        activities.ResolveResult
	lock      activities.Lock
	inSection bool // holds the target's section
}

// unlockSection releases the target's section, which lets the next dispatch decide. A second call
// does nothing.
func (v *delivery) unlockSection() {
	if v.inSection {
		v.inSection = false
		v.section.Unlock()
	}
}

func (v *delivery) run(ctx workflow.Context) (dispatch.Result, error) {
	var lock activities.LockResult
	v.holder = ""
	if err := workflow.ExecuteActivity(quickActivity(ctx, "Lock the target"), acts.Lock, v.lock).Get(ctx, &lock); err != nil {
		return dispatch.Result{}, v.releaseAfterError(ctx, err)
	}
	if !lock.OK {
		return rejectDispatch(dispatch.TargetLocked, "", lock.Diagnostic)
	}
	v.holder = lock.Diagnostic
	receipt, why, err := v.decideReceipt(ctx)
	if err != nil {
		return dispatch.Result{}, v.releaseAfterError(ctx, err)
	}
	switch receipt.Action() {
	case dispatch.Send:
		return v.releaseWithOutcome(ctx, receipt, v.sendMessage(ctx)), nil
	case dispatch.Resume:
		return v.resumeSession(ctx, receipt)
	}
	return dispatch.Result{Receipt: receipt, Diagnostic: why}, v.releaseLock(ctx)
}

// decideReceipt probes the target and resolves the receipt from the table. At the default version of
// dispatchLocked an owned turn may be in progress. If its session can no longer be reached, the turn
// is about to end or was lost with its worker, and its agent may end a moment later. decideReceipt
// waits for that end before it resumes the session.
func (v *delivery) decideReceipt(ctx workflow.Context) (receipt dispatch.Receipt, why string, err error) {
	for {
		seen, err := v.probeTarget(ctx)
		if err != nil {
			return receipt, "", err
		}
		if seen.Conflict {
			receipt, err = dispatch.Reject(dispatch.TargetAddressConflict, "")
			return receipt, seen.Diagnostic, err
		}
		receipt = dispatch.Resolve(v.message.Request.Intent, seen.Liveness, false)
		if receipt.Action() != dispatch.Resume || v.ownedTurns == 0 {
			return receipt, seen.Diagnostic, nil
		}
		if err := workflow.Await(ctx, func() bool { return v.ownedTurns == 0 }); err != nil {
			return receipt, "", err
		}
	}
}

func (v *delivery) probeTarget(ctx workflow.Context) (seen activities.LookResult, err error) {
	if n := v.nativeSession(); n.Session != "" {
		err = workflow.ExecuteActivity(quickActivity(ctx, "Ask the target's client whether it runs"), acts.Ask, n).Get(ctx, &seen)
		return seen, err
	}
	err = workflow.ExecuteActivity(quickActivity(ctx, "Check whether the target runs"), acts.Look, v.id).Get(ctx, &seen)
	return seen, err
}

// nativeSession returns the target under its client's own session id. It returns zero if the target
// has an address of its own.
func (v *delivery) nativeSession() (n activities.NativeSession) {
	if v.to.Session != "" {
		n = activities.NativeSession{Backend: v.to.Backend, Session: v.to.Session}
	}
	return n
}

// releaseWithOutcome releases the lock and returns the result of the dispatch. A failed release marks
// the outcome as dirty.
func (v *delivery) releaseWithOutcome(ctx workflow.Context, receipt dispatch.Receipt, outcome dispatch.Outcome) dispatch.Result {
	if err := v.releaseLock(ctx); err != nil {
		outcome = outcome.Dirty(err)
	}
	return dispatch.Result{Receipt: receipt, Outcome: &outcome}
}

// releaseLock releases the lock, even if the dispatch is canceled.
func (v *delivery) releaseLock(ctx workflow.Context) error {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	return workflow.ExecuteActivity(quickActivity(ctx, "Release the target"), acts.Unlock, v.lock).Get(ctx, nil)
}

// releaseAfterError releases the lock and returns err. It logs an error of the release.
func (v *delivery) releaseAfterError(ctx workflow.Context, err error) error {
	if again := v.releaseLock(ctx); again != nil {
		v.log.Error("lock left behind", "error", again)
	}
	return err
}

func (v *delivery) releaseAndReject(ctx workflow.Context, why dispatch.Reason, observed dispatch.Liveness, diagnostic string) (dispatch.Result, error) {
	if err := v.releaseLock(ctx); err != nil {
		return dispatch.Result{}, err
	}
	return rejectDispatch(why, observed, diagnostic)
}

// sendMessage sends the message to a live session. If no process listens at the socket, sendMessage
// looks for the target again, once. It retries after no other failure.
func (v *delivery) sendMessage(ctx workflow.Context) dispatch.Outcome {
	got, outcome := v.deliverOnce(ctx)
	if !got.Gone {
		return outcome
	}
	to, err := v.resolveTarget(ctx)
	switch {
	case err != nil:
		return failedOutcome(dispatch.ControlSocket, err)
	case to.Reject != "":
		return goneOutcome(to.Reject)
	case !to.Backend.Probed():
		if !to.Deliverable {
			return goneOutcome(dispatch.MailboxUndeliverable)
		}
		return v.enqueueMessage(ctx, v.message).Fallback()
	}
	seen, err := v.probeTarget(ctx)
	if err != nil {
		return failedOutcome(dispatch.ControlSocket, err)
	}
	if seen.Conflict {
		return goneOutcome(dispatch.TargetAddressConflict)
	}
	if again := dispatch.Resolve(dispatch.FireAndForget, seen.Liveness, false); !again.OK() {
		return goneOutcome(again.Reason())
	}
	_, outcome = v.deliverOnce(ctx)
	return outcome.Fallback()
}

// deliverOnce makes one attempt. A message that may have been delivered is not sent again.
func (v *delivery) deliverOnce(ctx workflow.Context) (activities.DeliverResult, dispatch.Outcome) {
	var got activities.DeliverResult
	err := workflow.ExecuteActivity(singleActivity(ctx, "Send the message", 20*time.Second), acts.Deliver, v.message).Get(ctx, &got)
	switch {
	case err == nil:
		return got, got.Outcome
	case isUnbegun(err):
		return got, failedOutcome(dispatch.ControlSocket, err)
	}
	return got, unknownOutcome(dispatch.ControlSocket, err)
}

// resumeSession resumes the dormant session for one turn. The dispatch owns the outcome of the turn.
func (v *delivery) resumeSession(ctx workflow.Context, receipt dispatch.Receipt) (dispatch.Result, error) {
	var trust activities.TrustResult
	if err := workflow.ExecuteActivity(quickActivity(ctx, "Check whether the directory is trusted"), acts.Trust, v.to.CWD).Get(ctx, &trust); err != nil {
		return dispatch.Result{}, v.releaseAfterError(ctx, err)
	}
	if !trust.OK {
		return v.releaseAndReject(ctx, dispatch.UntrustedFailFast, receipt.Observed(), trust.Diagnostic)
	}
	outcome, begun := v.runOwnedTurn(ctx, trust.Approve)
	if begun || outcome.Kind == dispatch.LockRetained {
		return dispatch.Result{Receipt: receipt, Outcome: &outcome}, nil
	}
	return v.releaseWithOutcome(ctx, receipt, outcome), nil
}

// runOwnedTurn starts the owned turn and returns its outcome. begun reports whether the owned turn
// has released the lock, which it does when the session can be reached. The next dispatch may decide
// from then on. If the owned turn ends before, or its worker is lost, the dispatch releases the lock.
// The outcome describes this turn only: the session may still run turns for messages of others.
func (v *delivery) runOwnedTurn(ctx workflow.Context, approve bool) (out dispatch.Outcome, begun bool) {
	v.ownedTurns++
	turn := workflow.ExecuteActivity(ownedTurnActivity(ctx, fmt.Sprintf("A turn of %s", v.id)), acts.Own, activities.OwnedTurn{
		Message: v.message, NativeSession: v.nativeSession(), Lock: v.lock, CWD: v.to.CWD, Approve: approve, Observe: observeLimit,
	})
	if begun = v.awaitBegin(ctx, turn); begun {
		v.unlockSection()
		if out, told := v.awaitTurn(ctx, turn); told {
			v.awaitInBackground(ctx, turn)
			return out, begun
		}
	}
	defer func() { v.ownedTurns-- }()
	err := turn.Get(ctx, &out)
	switch {
	case err == nil:
		return out, begun
	case isUnbegun(err):
		return dispatch.Outcome{Kind: dispatch.StartFailed, Transport: dispatch.SpawnBg, Error: report.ProblemOf(err).Message}, begun
	}
	return unknownOutcome(dispatch.SpawnBg, err), begun
}

// awaitBegin waits until the session can be reached or the owned turn has ended. begun reports
// whether the session can be reached.
func (v *delivery) awaitBegin(ctx workflow.Context, turn workflow.Future) (begun bool) {
	return awaitSignal(ctx, activities.BegunSignal, turn, func(nonce string) bool { return nonce == v.lock.Nonce })
}

// awaitTurn waits until the owned turn has reported its outcome or has ended. told reports whether
// the outcome was reported.
func (v *delivery) awaitTurn(ctx workflow.Context, turn workflow.Future) (out dispatch.Outcome, told bool) {
	told = awaitSignal(ctx, activities.TurnSignal, turn, func(t activities.TurnEnd) bool {
		out = t.Outcome
		return t.Nonce == v.lock.Nonce
	})
	return out, told
}

// awaitSignal waits for a signal that meant accepts, or for the end of the owned turn. It reports
// whether the signal came. It drops signals of other owned turns and signals that cannot be decoded.
func awaitSignal[M any](ctx workflow.Context, name string, turn workflow.Future, meant func(M) bool) (came bool) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	signals := workflow.GetSignalChannel(ctx, name)
	for over := false; !over && !came; {
		workflow.NewSelector(ctx).
			AddReceive(signals, func(c workflow.ReceiveChannel, _ bool) {
				var m M
				came = c.ReceiveAsync(&m) && meant(m)
			}).
			AddFuture(turn, func(workflow.Future) { over = true }).
			Select(ctx)
	}
	return came
}

// awaitInBackground waits for the end of the owned turn in a coroutine of its own.
func (v *delivery) awaitInBackground(ctx workflow.Context, turn workflow.Future) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer stop()
		defer func() { v.ownedTurns-- }()
		_ = turn.Get(ctx, nil) // the turn has reported its outcome
	})
}

// quickAttempts bounds the attempts of a quick activity. They follow each other at quickInterval, so
// that the last one starts about 5 s after the first failure. Each worker that dies uses one up, and
// one that dies at every start uses them all up.
const (
	quickAttempts = 25
	quickInterval = 200 * time.Millisecond
)

// quickActivity returns a context for an activity that succeeds at once or not at all, and that may
// run twice. The caller learns of a failure soon. Each call ends by itself within its limit: a call
// that ran beside its successor could take a lock that is never released.
func quickActivity(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second, WaitForCancellation: true, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: quickInterval, BackoffCoefficient: 1, MaximumAttempts: quickAttempts},
	})
}

// singleActivity returns a context for an activity that must not run twice.
func singleActivity(ctx workflow.Context, summary string, limit time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: limit, ScheduleToStartTimeout: time.Minute, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: summary,
	})
}

// heartbeatTimeout detects the loss of the host that runs an owned turn. It is longer than the pauses of
// a host that is not lost.
const heartbeatTimeout = 30 * time.Second

// ownedTurnActivity returns a context for an owned turn: one attempt, with a limit of 7 days.
func ownedTurnActivity(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithHeartbeatTimeout(singleActivity(ctx, summary, 7*24*time.Hour), heartbeatTimeout)
}

// isUnbegun reports whether an activity with a single attempt surely had no effect. A
// cancellation does not end an activity that has begun.
func isUnbegun(err error) bool {
	return temporal.IsCanceledError(err) || report.IsUnbegun(err)
}

// unknownOutcome returns the outcome of a message that may have been delivered.
func unknownOutcome(by dispatch.Transport, err error) dispatch.Outcome {
	out := dispatch.Outcome{Kind: dispatch.Unknown, Transport: by, Error: report.ProblemOf(err).Message}
	if report.IsSilent(err) {
		out.Error = "the worker ended, or lost the server, before it could report the result"
	}
	return out
}

// failedOutcome returns the outcome of a message that was not sent. The target is not the cause.
func failedOutcome(by dispatch.Transport, err error) dispatch.Outcome {
	return dispatch.Outcome{Kind: dispatch.ExecutionFailed, Transport: by, Error: report.ProblemOf(err).Message}
}

// goneOutcome returns the outcome of a message whose target the second look did not find.
func goneOutcome(why dispatch.Reason) dispatch.Outcome {
	return dispatch.Outcome{
		Kind: dispatch.Rejected, Transport: dispatch.ControlSocket, RejectReason: why,
		Error: "nothing listened any more, and the second look found: " + string(why),
	}
}
