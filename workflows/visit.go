package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// desks is for method values only; the worker holds the real one.
var desks *activities.Desk

// observeLimit is that of an errand (docs/contracts/dispatch.md, 10).
const observeLimit = 30 * time.Second

// visit is one dispatch to a backend with a liveness predicate, from the lock
// to its release.
type visit struct {
	*desk
	letter activities.Letter
	to     activities.Resolved
	claim  activities.Claim
	inside bool // in the desk's section
}

// leave lets the next dispatch decide.
func (v *visit) leave() {
	if v.inside {
		v.inside = false
		v.section.Unlock()
	}
}

func (v *visit) make(ctx workflow.Context) (dispatch.Result, error) {
	var lock activities.Claimed
	if err := workflow.ExecuteActivity(handling(ctx, "Lock the target"), desks.Lock, v.claim).Get(ctx, &lock); err != nil {
		return dispatch.Result{}, v.abandon(ctx, err)
	}
	if !lock.OK {
		return reject(dispatch.TargetLocked, "", lock.Diagnostic)
	}
	receipt, why, err := v.decide(ctx)
	if err != nil {
		return dispatch.Result{}, v.abandon(ctx, err)
	}
	switch receipt.Action() {
	case dispatch.Send:
		return v.delivered(ctx, receipt, v.send(ctx)), nil
	case dispatch.Resume:
		return v.resume(ctx, receipt)
	}
	return dispatch.Result{Receipt: receipt, Diagnostic: why}, v.release(ctx)
}

// decide looks at the target and asks the table. At the default version of
// dispatchLocked an errand may be under way: one whose session nobody reaches any
// more is about to end, or was lost with its worker, and its agent may be a moment
// behind. The session is not resumed before that.
func (v *visit) decide(ctx workflow.Context) (receipt dispatch.Receipt, why string, err error) {
	for {
		seen, err := v.look(ctx)
		if err != nil {
			return receipt, "", err
		}
		if seen.Conflict {
			receipt, err = dispatch.Reject(dispatch.TargetAddressConflict, "")
			return receipt, seen.Diagnostic, err
		}
		receipt = dispatch.Resolve(v.letter.Request.Intent, seen.Liveness, false)
		if receipt.Action() != dispatch.Resume || v.errands == 0 {
			return receipt, seen.Diagnostic, nil
		}
		if err := workflow.Await(ctx, func() bool { return v.errands == 0 }); err != nil {
			return receipt, "", err
		}
	}
}

func (v *visit) look(ctx workflow.Context) (seen activities.Looked, err error) {
	if n := v.native(); n.Session != "" {
		err = workflow.ExecuteActivity(handling(ctx, "Ask the target's client whether it runs"), desks.Ask, n).Get(ctx, &seen)
		return seen, err
	}
	err = workflow.ExecuteActivity(handling(ctx, "Look whether the target lives"), desks.Look, v.target).Get(ctx, &seen)
	return seen, err
}

// native is the target by its client's own id, where it has no address of its
// own.
func (v *visit) native() (n activities.Native) {
	if v.to.Session != "" {
		n = activities.Native{Backend: v.to.Backend, Session: v.to.Session}
	}
	return n
}

// delivered releases, and is the result.
func (v *visit) delivered(ctx workflow.Context, receipt dispatch.Receipt, outcome dispatch.Outcome) dispatch.Result {
	if err := v.release(ctx); err != nil {
		outcome = outcome.Dirty(err)
	}
	return dispatch.Result{Receipt: receipt, Outcome: &outcome}
}

// release gives the lock back, whatever becomes of the dispatch.
func (v *visit) release(ctx workflow.Context) error {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	return workflow.ExecuteActivity(handling(ctx, "Release the target"), desks.Unlock, v.claim).Get(ctx, nil)
}

// abandon releases and returns the first error.
func (v *visit) abandon(ctx workflow.Context, err error) error {
	if again := v.release(ctx); again != nil {
		v.log.Error("lock left behind", "error", again)
	}
	return err
}

func (v *visit) rejected(ctx workflow.Context, why dispatch.Reason, observed dispatch.Liveness, diagnostic string) (dispatch.Result, error) {
	if err := v.release(ctx); err != nil {
		return dispatch.Result{}, err
	}
	return reject(why, observed, diagnostic)
}

// send puts the letter into a live session. Nobody at the socket is the one
// failure after which it is looked for again, once.
func (v *visit) send(ctx workflow.Context) dispatch.Outcome {
	got, outcome := v.deliver(ctx)
	if !got.Gone {
		return outcome
	}
	to, err := v.resolve(ctx)
	switch {
	case err != nil:
		return failed(dispatch.ControlSocket, err)
	case to.Reject != "":
		return gone(to.Reject)
	case !to.Backend.Probed():
		if !to.Deliverable {
			return gone(dispatch.MailboxUndeliverable)
		}
		return v.enqueue(ctx, v.letter).Fallback()
	}
	seen, err := v.look(ctx)
	if err != nil {
		return failed(dispatch.ControlSocket, err)
	}
	if seen.Conflict {
		return gone(dispatch.TargetAddressConflict)
	}
	if again := dispatch.Resolve(dispatch.FireAndForget, seen.Liveness, false); !again.OK() {
		return gone(again.Reason())
	}
	_, outcome = v.deliver(ctx)
	return outcome.Fallback()
}

// deliver tries once: what may have been delivered is not sent again.
func (v *visit) deliver(ctx workflow.Context) (activities.Delivered, dispatch.Outcome) {
	var got activities.Delivered
	err := workflow.ExecuteActivity(once(ctx, "Send the letter", 20*time.Second), desks.Deliver, v.letter).Get(ctx, &got)
	switch {
	case err == nil:
		return got, got.Outcome
	case unbegun(err):
		return got, failed(dispatch.ControlSocket, err)
	}
	return got, unknown(dispatch.ControlSocket, err)
}

// resume has the dormant session take a turn of which the dispatch owns the
// outcome.
func (v *visit) resume(ctx workflow.Context, receipt dispatch.Receipt) (dispatch.Result, error) {
	var trust activities.Trusted
	if err := workflow.ExecuteActivity(handling(ctx, "Look whether the directory is trusted"), desks.Trust, v.to.CWD).Get(ctx, &trust); err != nil {
		return dispatch.Result{}, v.abandon(ctx, err)
	}
	if !trust.OK {
		return v.rejected(ctx, dispatch.UntrustedFailFast, receipt.Observed(), trust.Diagnostic)
	}
	outcome, begun := v.own(ctx, trust.Approve)
	if begun || outcome.Kind == dispatch.LockRetained {
		return dispatch.Result{Receipt: receipt, Outcome: &outcome}, nil
	}
	return v.delivered(ctx, receipt, outcome), nil
}

// own has the errand carried out. Begun says that the errand has released the
// lock, as it does when the session can be reached; the next dispatch may decide
// from then on. What an errand leaves locked that ended before, or whose worker
// was lost, is its dispatch's to release. The outcome is that of the turn: the
// errand may go on with what others sent meanwhile.
func (v *visit) own(ctx workflow.Context, approve bool) (out dispatch.Outcome, begun bool) {
	v.errands++
	errand := workflow.ExecuteActivity(owning(ctx, fmt.Sprintf("A turn of %s", v.target)), desks.Own, activities.Errand{
		Letter: v.letter, Native: v.native(), Claim: v.claim, CWD: v.to.CWD, Approve: approve, Observe: observeLimit,
	})
	if begun = v.awaitBegin(ctx, errand); begun {
		v.leave()
		if out, told := v.awaitTurn(ctx, errand); told {
			v.afterwards(ctx, errand)
			return out, begun
		}
	}
	defer func() { v.errands-- }()
	err := errand.Get(ctx, &out)
	switch {
	case err == nil:
		return out, begun
	case unbegun(err):
		return dispatch.Outcome{Kind: dispatch.StartFailed, Transport: dispatch.SpawnBg, Error: problemOf(err).Message}, begun
	}
	return unknown(dispatch.SpawnBg, err), begun
}

// awaitBegin returns when the session can be reached, or the errand has ended
// without that.
func (v *visit) awaitBegin(ctx workflow.Context, errand workflow.Future) (begun bool) {
	return awaitSignal(ctx, activities.BegunSignal, errand, func(nonce string) bool { return nonce == v.claim.Nonce })
}

// awaitTurn returns when the errand has told of its turn, or has ended without
// that.
func (v *visit) awaitTurn(ctx workflow.Context, errand workflow.Future) (out dispatch.Outcome, told bool) {
	told = awaitSignal(ctx, activities.TurnSignal, errand, func(t activities.TurnEnd) bool {
		out = t.Outcome
		return t.Nonce == v.claim.Nonce
	})
	return out, told
}

// awaitSignal waits for a signal that is meant, or for the end of the errand.
// Those of other errands, and those that nobody can read, are dropped.
func awaitSignal[M any](ctx workflow.Context, name string, errand workflow.Future, meant func(M) bool) (came bool) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	signals := workflow.GetSignalChannel(ctx, name)
	for over := false; !over && !came; {
		workflow.NewSelector(ctx).
			AddReceive(signals, func(c workflow.ReceiveChannel, _ bool) {
				var m M
				came = c.ReceiveAsync(&m) && meant(m)
			}).
			AddFuture(errand, func(workflow.Future) { over = true }).
			Select(ctx)
	}
	return came
}

// afterwards sees the errand to its end.
func (v *visit) afterwards(ctx workflow.Context, errand workflow.Future) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer stop()
		defer func() { v.errands-- }()
		_ = errand.Get(ctx, nil) // the outcome was told
	})
}

// handlingAttempts end some 5 s after the first that failed. They are more than
// that takes, for each worker that dies uses one up.
const handlingAttempts = 8

// handling is for what is done at once or not at all, and may be done twice.
// Who waits for it is told before long that it cannot be done. A call ends by
// itself within its limit: one that went on beside its successor could take a
// lock that nobody releases.
func handling(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second, WaitForCancellation: true, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: time.Second, MaximumAttempts: handlingAttempts},
	})
}

// once is for what must not happen twice.
func once(ctx workflow.Context, summary string, limit time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: limit, ScheduleToStartTimeout: time.Minute, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: summary,
	})
}

// owning is once for a turn that lasts as long as it takes.
func owning(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithHeartbeatTimeout(once(ctx, summary, 7*24*time.Hour), longHeartbeat)
}

// unbegun says of an activity that is done once that no worker had begun it: a
// cancellation ends none that was.
func unbegun(err error) bool {
	late, ok := errors.AsType[*temporal.TimeoutError](err)
	return temporal.IsCanceledError(err) || ok && late.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// unknown is what became of a message that may have been delivered.
func unknown(by dispatch.Transport, err error) dispatch.Outcome {
	out := dispatch.Outcome{Kind: dispatch.Unknown, Transport: by, Error: problemOf(err).Message}
	if silent(err) {
		out.Error = "the worker that did it ended, or lost the server, before it could tell"
	}
	return out
}

// silent reports whether an activity ended without saying how: its worker was not
// heard of in time, or was found dead.
func silent(err error) bool {
	if _, late := errors.AsType[*temporal.TimeoutError](err); late {
		return true
	}
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && app.Type() == activities.LostError
}

// failed is a message that was not sent, for no reason of the target's.
func failed(by dispatch.Transport, err error) dispatch.Outcome {
	return dispatch.Outcome{Kind: dispatch.ExecutionFailed, Transport: by, Error: problemOf(err).Message}
}

// gone is a message whose target a second look did not find.
func gone(why dispatch.Reason) dispatch.Outcome {
	return dispatch.Outcome{
		Kind: dispatch.Rejected, Transport: dispatch.ControlSocket, RejectReason: why,
		Error: "nobody listened any more, and the second look found: " + string(why),
	}
}

// dispatchDetails is what the Web UI shows of a target.
func dispatchDetails(target dispatch.GardenID, open []OpenDispatch, done []Dispatched) string {
	var m markdown
	m.printf("## Dispatches to %s\n\n", code(string(target)))
	for _, o := range slices.Backward(open) {
		m.printf("- %s, %s: **under way**\n", clock(o.Since), string(o.Intent))
	}
	for i := len(done) - 1; i >= 0; i-- {
		d := done[i]
		how := string(d.Result.Receipt.Reason())
		if d.Result.Outcome != nil {
			how = string(d.Result.Outcome.Kind)
		}
		m.printf("- %s, %s: **%s**", clock(d.At), string(d.Intent), text(how))
		if d.Result.Diagnostic != "" {
			m.printf(" (%s)", text(d.Result.Diagnostic))
		}
		if hint := d.Result.Hint(); hint != "" {
			m.printf(", %s", text(hint))
		}
		m.printf("\n")
	}
	return m.String()
}
