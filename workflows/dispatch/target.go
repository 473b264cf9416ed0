// Package dispatch holds the workflow that carries messages to one target. It waits and calls the
// activities of package activities/dispatch. Package internal/dispatch decides.
package dispatch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows/format"
)

// Register registers the workflow and the activities of dispatches with a worker.
func Register(w worker.Registry, a *activities.Activities) {
	w.RegisterWorkflow(Dispatch)
	w.RegisterActivity(a)
}

// Update is the name of the update that sends a message to a target. It takes a
// dispatch.Message and returns a dispatch.Result.
const Update = "dispatch"

// Query is the name of the query for the dispatches of an execution. It returns a
// dispatch.History.
const Query = "dispatches"

// WorkflowID returns the id of the workflow that serves a target. Each target has one
// workflow. The engine therefore lets one dispatch at a time decide, even if several hosts ask.
func WorkflowID(target dispatch.GardenID) string { return "dispatch-" + string(target) }

// Input is the input of Dispatch.
type Input struct {
	Format format.Stamp      `json:"format"`
	Target dispatch.GardenID `json:"target"`
	// Done holds the dispatches of the previous execution, which this one continues.
	Done []dispatch.Ended `json:"done,omitempty"`
	// Idle is how long the workflow waits for another dispatch. Zero means 3 minutes.
	Idle time.Duration `json:"idle,omitempty"`
}

const (
	keptDispatches = 20
	knownMessages  = 100
	// targetIdle is the default of Input.Idle. It is longer than the minute for which
	// clients repeat a call whose answer was lost. The server recognizes a repeated message while
	// its execution is open.
	targetIdle = 3 * time.Minute
	// maxHistory is the number of events above which messages are refused while others are under
	// way. The server ends a workflow of 51,200 events. A dispatch has about 40.
	maxHistory = 40_000
)

// Dispatch carries messages to one target, one after the other, and ends when none comes for a while.
// The order of the steps is fixed (docs/contracts/dispatch.md, 6): validate, resolve, domain guard,
// lock, look, table, preflight behind a resume alone, execute, release once.
func Dispatch(ctx workflow.Context, in Input) (dispatch.History, error) {
	in.Format.Check()
	d := &target{
		id: in.Target, idle: cmp.Or(in.Idle, targetIdle), section: workflow.NewMutex(ctx),
		done: append([]dispatch.Ended{}, in.Done...), log: log.With(workflow.GetLogger(ctx), "target", string(in.Target)),
	}
	if err := in.Target.Validate(); err != nil {
		return dispatch.History{}, temporal.NewNonRetryableApplicationError(err.Error(), report.InvalidInputError, err)
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, Update, d.dispatchOnce, workflow.UpdateHandlerOptions{
		Validator: d.checkMessage, Description: "a message to the target",
	})
	if err == nil {
		err = workflow.SetQueryHandlerWithOptions(ctx, Query, func() (dispatch.History, error) { return d.history(), nil },
			workflow.QueryHandlerOptions{Description: "the last messages, and those in progress"})
	}
	if err != nil {
		return dispatch.History{}, err
	}
	long, err := d.awaitIdle(ctx)
	if late := d.drainDispatches(ctx); err == nil {
		err = late
	}
	if err == nil && long { // the next execution knows the messages of this one
		return dispatch.History{}, workflow.NewContinueAsNewError(ctx, Dispatch, Input{Target: in.Target, Done: d.done, Idle: in.Idle})
	}
	return d.history(), err
}

// target serves one target.
type target struct {
	id         dispatch.GardenID
	idle       time.Duration
	section    workflow.Mutex // held from the lock of a dispatch to its release
	open       []dispatch.Ongoing
	ownedTurns int    // number of owned turns whose agent may run
	holder     string // names the last lock that was taken and the process that took it
	done       []dispatch.Ended
	log        log.Logger
}

func (d *target) history() dispatch.History {
	return dispatch.History{Target: d.id, Ended: d.done, Open: d.open}
}

// recentDispatches returns the dispatches to keep beside a new one: a few for people to see, and the
// dispatches whose messages may be repeated.
func (d *target) recentDispatches(now time.Time) []dispatch.Ended {
	from := max(0, len(d.done)-keptDispatches+1)
	for from > 0 && len(d.done)-from < knownMessages-1 && now.Sub(d.done[from-1].At) < targetIdle {
		from--
	}
	return d.done[from:]
}

// awaitIdle returns when no message has come for a while, or between two messages when the history is
// long. long reports the second case.
func (d *target) awaitIdle(ctx workflow.Context) (long bool, err error) {
	for {
		if err := workflow.Await(ctx, d.isIdle); err != nil {
			return false, err
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return true, nil
		}
		came, err := workflow.AwaitWithTimeout(ctx, d.idle, func() bool { return !d.isIdle() })
		if err != nil || !came {
			return false, err
		}
	}
}

func (d *target) isIdle() bool { return len(d.open) == 0 && d.ownedTurns == 0 }

// drainDispatches waits until the dispatches in progress have ended and returned their results.
func (d *target) drainDispatches(ctx workflow.Context) error {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) && d.ownedTurns == 0 })
}

func (d *target) checkMessage(ctx workflow.Context, m dispatch.Message) error {
	if m.Request.Target != d.id {
		return fmt.Errorf("the message is for %s", m.Request.Target)
	}
	if m.ID == "" {
		return errors.New("the message has no id")
	}
	if missing := m.Sender.Missing(); missing != nil {
		return fmt.Errorf("the message's sender lacks %s", strings.Join(missing, ", "))
	}
	if workflow.GetInfo(ctx).GetCurrentHistoryLength() > maxHistory {
		return errors.New("too many messages went to the target while another one waits for its turn: wait until that turn ends")
	}
	return m.Request.Validate()
}

func (d *target) dispatchOnce(ctx workflow.Context, l dispatch.Message) (dispatch.Result, error) {
	if i := slices.IndexFunc(d.done, func(p dispatch.Ended) bool { return p.ID == l.ID }); i >= 0 {
		return d.done[i].Result, nil // known from the previous execution
	}
	d.open = append(d.open, dispatch.Ongoing{ID: l.ID, Intent: l.Request.Intent, Since: workflow.Now(ctx).UTC()})
	defer func() {
		d.open = slices.DeleteFunc(d.open, func(o dispatch.Ongoing) bool { return o.ID == l.ID })
	}()
	res, err := d.serveMessage(ctx, l)
	if err != nil {
		return res, err
	}
	d.done = append(slices.Clone(d.recentDispatches(workflow.Now(ctx))), dispatch.Ended{ID: l.ID, Intent: l.Request.Intent, At: workflow.Now(ctx).UTC(), Result: res})
	return res, nil
}

// serveMessage carries out one dispatch, up to its outcome.
func (d *target) serveMessage(ctx workflow.Context, l dispatch.Message) (dispatch.Result, error) {
	to, err := d.resolveTarget(ctx)
	if err != nil {
		return dispatch.Result{}, err
	}
	if to.Reject != "" {
		return rejectDispatch(to.Reject, "", to.Diagnostic)
	}
	if !to.Backend.Probed() && (l.Request.Intent != dispatch.OwnedOutcome || to.Session == "") {
		return d.mailMessage(ctx, l, to)
	}
	if to.Recordless && l.Request.Intent == dispatch.OwnedOutcome {
		return rejectDispatch(dispatch.BadTarget, "", "a session without a record listens there: it takes messages, but cannot be resumed")
	}
	busy, err := d.lockSection(ctx, l)
	if err != nil {
		return dispatch.Result{}, err
	}
	if busy != "" {
		return rejectDispatch(dispatch.TargetLocked, "", strings.TrimSuffix(busy+": "+d.holder, ": "))
	}
	v := &delivery{target: d, message: l, to: to, lock: activities.Lock{Target: d.id, Nonce: lockNonce(ctx, l)}, inSection: true}
	defer v.unlockSection()
	return v.run(ctx)
}

// lockWait bounds how long dispatches to one target wait for each other.
const lockWait = 2 * time.Second

// Diagnostics of a receipt with the reason target-locked.
const (
	turnOwned = "another message waits for its turn, and the session has not ended"
	stillBusy = "another message is in progress"
)

// lockSection locks the section, which the caller must unlock. If another dispatch keeps the target
// busy for longer than lockWait, or owns the turn that this one wants to own, busy says so. busy is
// empty if the section is locked.
func (d *target) lockSection(ctx workflow.Context, l dispatch.Message) (busy string, err error) {
	owned := func() bool { return l.Request.Intent == dispatch.OwnedOutcome && d.ownedTurns > 0 }
	if !owned() && d.section.TryLock(ctx) {
		return "", nil
	}
	if !owned() {
		_, err = workflow.AwaitWithTimeout(ctx, lockWait, func() bool { return owned() || !d.section.IsLocked() })
	}
	switch {
	case err != nil:
		return "", err
	case owned():
		return turnOwned, nil
	case !d.section.TryLock(ctx):
		return stillBusy, nil
	}
	return "", nil
}

func (d *target) resolveTarget(ctx workflow.Context) (to activities.ResolveResult, err error) {
	err = workflow.ExecuteActivity(quickActivity(ctx, "Resolve the target"), acts.Resolve, d.id).Get(ctx, &to)
	return to, err
}

// mailMessage serves a backend whose liveness cannot be determined.
func (d *target) mailMessage(ctx workflow.Context, l dispatch.Message, to activities.ResolveResult) (dispatch.Result, error) {
	receipt := dispatch.Resolve(l.Request.Intent, dispatch.Unsupported, to.Deliverable)
	if !receipt.OK() {
		return dispatch.Result{Receipt: receipt, Diagnostic: to.Diagnostic}, nil
	}
	outcome := d.enqueueMessage(ctx, l)
	return dispatch.Result{Receipt: receipt, Outcome: &outcome}, nil
}

// enqueueMessage puts the message into the mailbox. It may make several attempts, because a message
// with one id is one mail. If no attempt has reported its result, the outcome is unknown: the message
// may be in the mailbox.
func (d *target) enqueueMessage(ctx workflow.Context, l dispatch.Message) (out dispatch.Outcome) {
	err := workflow.ExecuteActivity(quickActivity(ctx, "Put the message into the mailbox"), acts.Enqueue, l).Get(ctx, &out)
	if err == nil {
		return out
	}
	if _, told := errors.AsType[*temporal.ApplicationError](err); told && !report.IsSilent(err) {
		return failedOutcome(dispatch.MetaMailbox, err)
	}
	return unknownOutcome(dispatch.MetaMailbox, err)
}

func rejectDispatch(why dispatch.Reason, observed dispatch.Liveness, diagnostic string) (dispatch.Result, error) {
	receipt, err := dispatch.Reject(why, observed)
	return dispatch.Result{Receipt: receipt, Diagnostic: diagnostic}, err
}

// lockNonce returns the nonce that distinguishes this dispatch's lock from every other.
func lockNonce(ctx workflow.Context, l dispatch.Message) string {
	return string(run.DigestOf([]byte(workflow.GetInfo(ctx).WorkflowExecution.RunID + " " + l.ID)))[:16]
}
