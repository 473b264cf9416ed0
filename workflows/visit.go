package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// desks is for method values only; the worker holds the real one.
var desks *activities.Desk

// Limits of an errand (facts: dispatch, section 10).
const (
	observeLimit = 30 * time.Second
	// lostErrand is how soon a worker that carries out an errand is missed. Its
	// agent has died with it by then.
	lostErrand = 10 * time.Second
)

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
	if err := workflow.ExecuteActivity(acting(ctx, "Lock the target"), desks.Lock, v.claim).Get(ctx, &lock); err != nil {
		return dispatch.Result{}, v.abandon(ctx, err)
	}
	if !lock.OK {
		return reject(dispatch.TargetLocked, "", lock.Diagnostic)
	}
	seen, err := v.look(ctx)
	switch {
	case err != nil:
		return dispatch.Result{}, v.abandon(ctx, err)
	case seen.Conflict:
		return v.rejected(ctx, dispatch.TargetAddressConflict, "", seen.Diagnostic)
	}
	receipt := dispatch.Resolve(v.letter.Request.Intent, seen.Liveness, false)
	switch receipt.Action() {
	case dispatch.Send:
		outcome := v.send(ctx)
		if err := v.release(ctx); err != nil {
			outcome = outcome.Dirty(err)
		}
		return dispatch.Result{Receipt: receipt, Outcome: &outcome}, nil
	case dispatch.Resume:
		return v.resume(ctx, receipt)
	}
	return dispatch.Result{Receipt: receipt, Diagnostic: seen.Diagnostic}, v.release(ctx)
}

func (v *visit) look(ctx workflow.Context) (seen activities.Looked, err error) {
	err = workflow.ExecuteActivity(acting(ctx, "Look whether the target lives"), desks.Look, v.target).Get(ctx, &seen)
	return seen, err
}

// release gives the lock back, whatever becomes of the dispatch.
func (v *visit) release(ctx workflow.Context) error {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	return workflow.ExecuteActivity(acting(ctx, "Release the target"), desks.Unlock, v.claim).Get(ctx, nil)
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
		out, err := v.enqueue(ctx, v.letter)
		if err != nil {
			return failed(dispatch.MetaMailbox, err)
		}
		return out.Fallback()
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
	if err != nil {
		return got, unknown(dispatch.ControlSocket, err)
	}
	return got, got.Outcome
}

// resume has the dormant session take a turn of which the dispatch owns the
// outcome. The errand releases the lock itself when the session can be
// reached, and says so; what it left behind when its worker died is released
// here.
func (v *visit) resume(ctx workflow.Context, receipt dispatch.Receipt) (dispatch.Result, error) {
	var trust activities.Trusted
	if err := workflow.ExecuteActivity(acting(ctx, "Look whether the directory is trusted"), desks.Trust, v.to.CWD).Get(ctx, &trust); err != nil {
		return dispatch.Result{}, v.abandon(ctx, err)
	}
	if !trust.OK {
		return v.rejected(ctx, dispatch.UntrustedFailFast, receipt.Observed(), trust.Diagnostic)
	}
	var outcome dispatch.Outcome
	errand := workflow.ExecuteActivity(owning(ctx, fmt.Sprintf("A turn of %s", v.target)), desks.Own, activities.Errand{
		Letter: v.letter, Claim: v.claim, CWD: v.to.CWD, Approve: trust.Approve, Observe: observeLimit,
	})
	v.awaitBegin(ctx, errand)
	if err := errand.Get(ctx, &outcome); err != nil {
		outcome = unknown(dispatch.SpawnBg, err)
	}
	if outcome.Kind != dispatch.LockRetained {
		if err := v.release(ctx); err != nil {
			outcome = outcome.Dirty(err)
		}
	}
	return dispatch.Result{Receipt: receipt, Outcome: &outcome}, nil
}

// awaitBegin lets the next dispatch decide as soon as the session can be
// reached, or the errand has ended without that.
func (v *visit) awaitBegin(ctx workflow.Context, errand workflow.Future) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	begun := workflow.GetSignalChannel(ctx, activities.BegunSignal)
	for over := false; !over; {
		workflow.NewSelector(ctx).
			AddReceive(begun, func(c workflow.ReceiveChannel, _ bool) {
				var nonce string
				c.Receive(ctx, &nonce)
				over = nonce == v.claim.Nonce
			}).
			AddFuture(errand, func(workflow.Future) { over = true }).
			Select(ctx)
	}
	v.leave()
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
	return workflow.WithHeartbeatTimeout(once(ctx, summary, 7*24*time.Hour), lostErrand)
}

// unknown is what became of a message that may have been delivered.
func unknown(by dispatch.Transport, err error) dispatch.Outcome {
	return dispatch.Outcome{Kind: dispatch.Unknown, Transport: by, Error: problemOf(err).Message}
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
func dispatchDetails(target dispatch.GardenID, done []Dispatched) string {
	var m markdown
	m.printf("## Dispatches to %s\n\n", code(string(target)))
	for i := len(done) - 1; i >= 0; i-- {
		d := done[i]
		how := string(d.Result.Receipt.Reason())
		if d.Result.Outcome != nil {
			how = string(d.Result.Outcome.Kind)
		}
		m.printf("- %s, %s: **%s**", clock(d.At), string(d.Intent), text(how))
		if hint := d.Result.Hint(); hint != "" {
			m.printf(", %s", text(hint))
		}
		m.printf("\n")
	}
	return m.String()
}
