package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// DispatchMessage is the update by which a letter goes to a target: an
// activities.Letter in, a dispatch.Result out.
const DispatchMessage = "dispatch"

// DispatchesQuery asks for the dispatches of an execution: a DispatchResult.
const DispatchesQuery = "dispatches"

// DispatchWorkflowID is the id of the workflow that serves a target. There is
// one for each, so that the engine lets one dispatch at a time decide, on
// however many hosts it is asked for.
func DispatchWorkflowID(target dispatch.GardenID) string { return "dispatch-" + string(target) }

// DispatchInput names the target that is served.
type DispatchInput struct {
	Target dispatch.GardenID `json:"target"`
	// Done are the dispatches of the execution before, which this one goes on
	// with.
	Done []Dispatched `json:"done,omitempty"`
	// Idle is how long the workflow waits for another dispatch; zero means 3
	// minutes.
	Idle time.Duration `json:"idle,omitempty"`
}

// DispatchResult holds the last dispatches to the target, oldest first.
type DispatchResult struct {
	Target     dispatch.GardenID `json:"target"`
	Dispatches []Dispatched      `json:"dispatches"`
	Open       []OpenDispatch    `json:"open,omitempty"` // those under way
}

// OpenDispatch is one that has not ended.
type OpenDispatch struct {
	ID     string          `json:"id"`
	Intent dispatch.Intent `json:"intent"`
	Since  time.Time       `json:"since"`
}

// Dispatched is one dispatch that has ended.
type Dispatched struct {
	ID     string          `json:"id"`
	Intent dispatch.Intent `json:"intent"`
	At     time.Time       `json:"at"`
	Result dispatch.Result `json:"result"`
}

const (
	keptDispatches = 20
	knownLetters   = 100
	// deskIdle is longer than clients repeat a call whose answer was lost, which is
	// a minute: the server knows a letter again as long as its execution is open.
	deskIdle = 3 * time.Minute
	// maxHistory is where letters are refused that come while others are under
	// way: the server ends a workflow of 51,200 events, and a dispatch has some 40.
	maxHistory = 40_000
)

// Dispatch carries letters to one target, one after the other, and ends when
// none comes for a while. The order of the steps is law (docs/contracts/dispatch.md, 6): validate, resolve, domain guard, lock, look, table, preflight
// behind a resume alone, execute, release once.
func Dispatch(ctx workflow.Context, in DispatchInput) (DispatchResult, error) {
	d := &desk{
		target: in.Target, idle: cmp.Or(in.Idle, deskIdle), section: workflow.NewMutex(ctx),
		done: append([]Dispatched{}, in.Done...), log: log.With(workflow.GetLogger(ctx), "target", string(in.Target)),
	}
	if err := in.Target.Validate(); err != nil {
		return DispatchResult{}, temporal.NewNonRetryableApplicationError(err.Error(), InvalidInputError, err)
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, DispatchMessage, d.dispatch, workflow.UpdateHandlerOptions{
		Validator: d.check, Description: "a letter to the target",
	})
	if err == nil {
		err = workflow.SetQueryHandlerWithOptions(ctx, DispatchesQuery, func() (DispatchResult, error) { return d.result(), nil },
			workflow.QueryHandlerOptions{Description: "the last dispatches, and those under way"})
	}
	if err != nil {
		return DispatchResult{}, err
	}
	long, err := d.attend(ctx)
	if late := d.drain(ctx); err == nil {
		err = late
	}
	if err == nil && long && workflow.GetVersion(ctx, dispatchContinues, workflow.DefaultVersion, 1) == 1 {
		return DispatchResult{}, workflow.NewContinueAsNewError(ctx, Dispatch, DispatchInput{in.Target, d.done, in.Idle})
	}
	return d.result(), err
}

// dispatchContinues has an execution with a long history go on in another, which
// knows the letters of the first: at 0 it ended, and a letter that was repeated
// then would have been another dispatch.
const dispatchContinues = "dispatch-continues"

// desk serves one target.
type desk struct {
	target  dispatch.GardenID
	idle    time.Duration
	section workflow.Mutex // held from the lock to its release
	open    []OpenDispatch
	errands int // of them, those whose agent may run
	done    []Dispatched
	log     log.Logger
}

func (d *desk) result() DispatchResult { return DispatchResult{d.target, d.done, d.open} }

// show has the Web UI tell what is under way and what was last.
func (d *desk) show(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, dispatchDetails(d.target, d.open, d.done[max(0, len(d.done)-keptDispatches):]))
}

// recent are the dispatches to keep beside a new one: a few for people to see,
// and those whose letters may be given again.
func (d *desk) recent(now time.Time) []Dispatched {
	from := max(0, len(d.done)-keptDispatches+1)
	for from > 0 && len(d.done)-from < knownLetters-1 && now.Sub(d.done[from-1].At) < deskIdle {
		from--
	}
	return d.done[from:]
}

// attend returns when no letter came for a while, or between two of them when
// the history is long.
func (d *desk) attend(ctx workflow.Context) (long bool, err error) {
	for {
		if err := workflow.Await(ctx, d.idles); err != nil {
			return false, err
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return true, nil
		}
		came, err := workflow.AwaitWithTimeout(ctx, d.idle, func() bool { return !d.idles() })
		if err != nil || !came {
			return false, err
		}
	}
}

func (d *desk) idles() bool { return len(d.open) == 0 && d.errands == 0 }

// drain lets the dispatches under way end: what was begun is told.
func (d *desk) drain(ctx workflow.Context) error {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) && d.errands == 0 })
}

func (d *desk) check(ctx workflow.Context, l activities.Letter) error {
	if l.Request.Target != d.target {
		return fmt.Errorf("the letter is for %s", l.Request.Target)
	}
	if l.ID == "" {
		return errors.New("the letter has no id")
	}
	if missing := l.Sender.Missing(); missing != nil {
		return fmt.Errorf("the letter's sender lacks %s", strings.Join(missing, ", "))
	}
	if workflow.GetInfo(ctx).GetCurrentHistoryLength() > maxHistory {
		return errors.New("too many dispatches went to the target while one owned its turn: wait for the end of that one")
	}
	return l.Request.Validate()
}

func (d *desk) dispatch(ctx workflow.Context, l activities.Letter) (dispatch.Result, error) {
	if i := slices.IndexFunc(d.done, func(p Dispatched) bool { return p.ID == l.ID }); i >= 0 {
		return d.done[i].Result, nil // in the execution before
	}
	d.open = append(d.open, OpenDispatch{l.ID, l.Request.Intent, workflow.Now(ctx).UTC()})
	d.show(ctx)
	defer func() {
		d.open = slices.DeleteFunc(d.open, func(o OpenDispatch) bool { return o.ID == l.ID })
		d.show(ctx)
	}()
	res, err := d.serve(ctx, l)
	if err != nil {
		return res, err
	}
	d.done = append(slices.Clone(d.recent(workflow.Now(ctx))), Dispatched{l.ID, l.Request.Intent, workflow.Now(ctx).UTC(), res})
	return res, nil
}

// serve is one dispatch, up to its outcome.
func (d *desk) serve(ctx workflow.Context, l activities.Letter) (dispatch.Result, error) {
	to, err := d.resolve(ctx)
	if err != nil {
		return dispatch.Result{}, err
	}
	if to.Reject != "" {
		return reject(to.Reject, "", to.Diagnostic)
	}
	if !to.Backend.Probed() && (l.Request.Intent != dispatch.OwnedOutcome || to.Session == "") {
		return d.mail(ctx, l, to)
	}
	if to.Recordless && l.Request.Intent == dispatch.OwnedOutcome {
		return reject(dispatch.BadTarget, "", "a session listens there that has no record: it can be sent to, and not resumed")
	}
	busy, err := d.enter(ctx, l, to)
	if err != nil {
		return dispatch.Result{}, err
	}
	if busy != "" {
		return reject(dispatch.TargetLocked, "", busy)
	}
	v := &visit{desk: d, letter: l, to: to, claim: activities.Claim{Target: d.target, Nonce: nonce(ctx, l)}, inside: true}
	defer v.leave()
	return v.make(ctx)
}

// lockWait bounds how long dispatches to one target wait for each other.
const lockWait = 2 * time.Second

// dispatchLocked bounds that wait, and refuses to own a session whose turn a
// dispatch owns already. At the default version a dispatch waits for as long as
// the one before it decides.
const dispatchLocked = "dispatch-locked"

// Why a receipt says target-locked.
const (
	turnOwned = "a dispatch owns its turn, and the session has not ended"
	stillBusy = "another dispatch is under way"
)

// enter takes the section, which the caller gives back. It returns why not when
// another dispatch keeps the target busy: busy is empty when the section is taken.
func (d *desk) enter(ctx workflow.Context, l activities.Letter, to activities.Resolved) (busy string, err error) {
	owned := func() bool { return l.Request.Intent == dispatch.OwnedOutcome && d.errands > 0 }
	if !owned() && d.section.TryLock(ctx) {
		return "", nil
	}
	if workflow.GetVersion(ctx, dispatchLocked, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return d.queue(ctx, to)
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

// queue is enter at the default version.
func (d *desk) queue(ctx workflow.Context, to activities.Resolved) (busy string, err error) {
	if to.Session != "" && !d.free(ctx) {
		return turnOwned, nil
	}
	return "", d.section.Lock(ctx)
}

// free waits for the section of a session that nobody reaches in its turn, unless
// it is held for all of one: that can take days.
func (d *desk) free(ctx workflow.Context) bool {
	err := workflow.Await(ctx, func() bool { return d.errands > 0 || !d.section.IsLocked() })
	return err != nil || d.errands == 0 // who is canceled hears of it from the section
}

func (d *desk) resolve(ctx workflow.Context) (to activities.Resolved, err error) {
	err = workflow.ExecuteActivity(handling(ctx, "Resolve the target"), desks.Resolve, d.target).Get(ctx, &to)
	return to, err
}

// mail serves a backend whose liveness nobody can tell.
func (d *desk) mail(ctx workflow.Context, l activities.Letter, to activities.Resolved) (dispatch.Result, error) {
	receipt := dispatch.Resolve(l.Request.Intent, dispatch.Unsupported, to.Deliverable)
	if !receipt.OK() {
		return dispatch.Result{Receipt: receipt, Diagnostic: to.Diagnostic}, nil
	}
	outcome := d.enqueue(ctx, l)
	return dispatch.Result{Receipt: receipt, Outcome: &outcome}, nil
}

// enqueue may be tried several times: a letter with one id is one mail. Where no
// try has said what became of it, it may lie there.
func (d *desk) enqueue(ctx workflow.Context, l activities.Letter) (out dispatch.Outcome) {
	err := workflow.ExecuteActivity(handling(ctx, "Put the letter into the mailbox"), desks.Enqueue, l).Get(ctx, &out)
	if err == nil {
		return out
	}
	if _, told := errors.AsType[*temporal.ApplicationError](err); told && !silent(err) {
		return failed(dispatch.MetaMailbox, err)
	}
	return unknown(dispatch.MetaMailbox, err)
}

func reject(why dispatch.Reason, observed dispatch.Liveness, diagnostic string) (dispatch.Result, error) {
	receipt, err := dispatch.Reject(why, observed)
	return dispatch.Result{Receipt: receipt, Diagnostic: diagnostic}, err
}

// nonce tells this dispatch's lock from every other.
func nonce(ctx workflow.Context, l activities.Letter) string {
	return string(run.DigestOf([]byte(workflow.GetInfo(ctx).WorkflowExecution.RunID + " " + l.ID)))[:16]
}
