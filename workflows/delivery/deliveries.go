// Package delivery is the half of a session's workflow that delivers results of background work into the session
// (docs/contracts/delivery.md). It keeps the queue, proves what the thread does, sends one attempt at a time, observes
// it, and gives every end that is not proved to a person. Package internal/delivery decides.
package delivery

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// acts provides method values only. The worker holds the real activities.
var acts *activities.Activities

// Host is what the deliveries need of the session's workflow. Its methods do not block.
type Host interface {
	// ReachProcess returns a context whose activities run on the worker that holds the session's process. It ends with
	// the process.
	ReachProcess(ctx workflow.Context) workflow.Context
	// CheckWake returns why WakeProcess must not be called now, and when it may be: the zero time is after Touch.
	CheckWake(ctx workflow.Context) (at time.Time, err error)
	// WakeProcess starts the session's process unless it runs or starts already. Attach reports when it runs.
	WakeProcess(ctx workflow.Context)
	// HasTurnToBegin reports whether the session is about to begin a turn for a person, who goes first.
	HasTurnToBegin(ctx workflow.Context) bool
	// BudgetLeft returns the budget of a delivery's turn. The error says why no turn may begin. Touch reports a raised budget.
	BudgetLeft(ctx workflow.Context) (provider.Left, error)
	// BeginTurn gives the session's turn to the delivery with the id. It reports false if the session has a turn.
	BeginTurn(ctx workflow.Context, id string) bool
	// TakeTurnBack says that the delivery surely began no turn. GiveTurnUp says that this is not known and that the
	// delivery does not wait for it any more.
	TakeTurnBack(ctx workflow.Context, id string)
	GiveTurnUp(ctx workflow.Context, id string)
	// Touch says that Step has something to do.
	Touch()
}

// Settings say how a session takes deliveries.
type Settings struct {
	Session string          `json:"session"` // the managed session
	Mode    delivery.Mode   `json:"mode,omitempty"`
	Limits  delivery.Limits `json:"limits,omitzero"`
}

// State is what another execution of the session's workflow continues with.
type State struct {
	Fold    delivery.Snapshot `json:"fold"`
	Entries int               `json:"entries,omitempty"` // of the ledger, so far
	// Unrecorded are the last entries, which the ledger may lack.
	Unrecorded []ledger.Entry `json:"unrecorded,omitempty"`
	// Early are batches that wait for the session to name its thread.
	Early []Early `json:"early,omitempty"`
	// EarlyClosed are the last ones of them that ended before it did: see earlyClosed.
	EarlyClosed []delivery.Entry `json:"earlyClosed,omitempty"`
}

// Process is a process of the session.
type Process struct {
	ID      string `json:"id"`     // of this process alone
	Thread  string `json:"thread"` // the agent's id of the session
	Adapter string `json:"adapter"`
}

// Deliveries are the deliveries into one session. The session's workflow makes it with New, reports its processes
// with Attach, Observe and Detach, and calls Step where it rests.
type Deliveries struct {
	Settings

	host  Host
	log   log.Logger
	fold  *delivery.Snapshot
	state State

	process *Process // nil: none
	lost    string   // why the last process ended, until the fold knows
	ended   bool
	changed bool // something has happened that Step has not seen
	next    time.Time

	proved  bool          // nothing was reported of the thread since the last read
	pause   time.Duration // after a read that admitted nothing, or a refusal
	readyAt time.Time     // the end of the pause
	lookAt  time.Time     // when the attempt in flight is reconciled
	problem string        // the last thing that stands in the way
	denied  string        // the last refusal that the audit has
}

// New returns the deliveries of a session and sets the handlers of their messages.
func New(ctx workflow.Context, s Settings, host Host, from State) (*Deliveries, error) {
	if err := s.Limits.Validate(); err != nil {
		return nil, err
	}
	d := &Deliveries{Settings: s, host: host, state: from, fold: &from.Fold, log: log.With(workflow.GetLogger(ctx), "session", s.Session)}
	return d, d.setHandlers(ctx)
}

// State returns what the next execution continues with. No process may be attached.
func (d *Deliveries) State(ctx workflow.Context) State {
	d.endLostEpoch(ctx)
	s := d.state
	s.Fold, s.EarlyClosed = *d.fold, d.earlyClosed()
	return s
}

// MustStay returns the error of the contract while an attempt is in flight or a batch waits for a person: the session
// cannot be retired.
func (d *Deliveries) MustStay() error {
	if e := d.fold.Head(); d.fold.InFlight() != nil || e != nil && e.Replay == delivery.Manual {
		return delivery.ErrPendingResolution
	}
	return nil
}

// Attach reports a process that serves the session from now on.
func (d *Deliveries) Attach(ctx workflow.Context, p Process) {
	if d.process != nil {
		d.Detach("another process has the session")
	}
	d.endLostEpoch(ctx)
	d.process, d.proved = &p, false
	d.takeEarly(ctx)
	d.touchSession()
}

// touchSession lets the session call Step.
func (d *Deliveries) touchSession() {
	d.changed = true
	d.host.Touch()
}

// openThread begins the history of the thread, with the first batch: a session without deliveries has none.
func (d *Deliveries) openThread(ctx workflow.Context) {
	if d.fold.Seq == 0 && d.process != nil {
		_ = d.emitEvent(ctx, delivery.Opened{Thread: d.process.Thread, Mode: d.Mode, Limits: d.Limits})
	}
}

// Detach records that the session's process has ended. Earlier calls of Observe still count.
func (d *Deliveries) Detach(why string) {
	if d.process == nil {
		if len(d.state.Early) > 0 {
			d.touchSession()
		}
		return
	}
	d.process, d.proved, d.lost = nil, false, why
	d.touchSession()
}

// endLostEpoch ends the epoch of a process that has ended. It waits for the answer of a request in progress, which may say
// that nothing was sent: the loop calls it between two activities.
func (d *Deliveries) endLostEpoch(ctx workflow.Context) {
	if d.lost == "" {
		return
	}
	why := d.lost
	d.lost = ""
	if s := d.fold.Session; s.ID != "" && s.State != delivery.Retired {
		d.emitEvent(ctx, delivery.Invalidated{Session: s.ID, Epoch: s.Epoch, Reason: why, Gone: true})
	}
}

// Retire ends the deliveries for good. Batches without an attempt are cancelled. The error is the contract's while
// an attempt is in flight or a batch waits for a person.
func (d *Deliveries) Retire(ctx workflow.Context) error {
	if err := d.MustStay(); err != nil {
		return err
	}
	d.Detach("the session is retired")
	d.endLostEpoch(ctx)
	ended := delivery.Closed{Reason: delivery.Cancelled, Note: "the session was retired"}
	for len(d.state.Early) > 0 {
		d.closeEarly(ctx, 0, ended)
	}
	for d.fold.Head() != nil {
		ended.Batch = d.fold.Head().Batch.ID
		if err := d.emitEvent(ctx, ended); err != nil {
			return err
		}
	}
	if s := d.fold.Session; s.ID != "" && s.State != delivery.Retired {
		if err := d.emitEvent(ctx, delivery.SessionRetired{Session: s.ID}); err != nil {
			return err
		}
	}
	d.writeLedger(ctx)
	d.Stop()
	return nil
}

// Stop ends the deliveries: Step does nothing any more.
func (d *Deliveries) Stop() {
	d.ended = true
	d.touchSession()
}

// emitEvent folds an event, and adds it to what the ledger is to hold. An event out of turn changes nothing.
func (d *Deliveries) emitEvent(ctx workflow.Context, p delivery.Payload) error {
	e := d.fold.Event(workflow.Now(ctx), p)
	lines, err := d.fold.Apply(e)
	if err != nil {
		if !errors.Is(err, delivery.ErrTransition) && !errors.Is(err, delivery.ErrRefused) {
			d.log.Error("event not folded", "type", string(e.Type), "error", err)
		}
		return err
	}
	d.enter(ledger.Entry{Event: &e, Audit: lines})
	d.touchSession()
	return nil
}

func (d *Deliveries) enter(e ledger.Entry) {
	d.state.Entries++
	e.N = d.state.Entries
	d.state.Unrecorded = append(d.state.Unrecorded, e)
}

// markRecorded notes that the ledger holds the entries up to the number.
func (d *Deliveries) markRecorded(last int) {
	for len(d.state.Unrecorded) > 0 && d.state.Unrecorded[0].N <= last {
		d.state.Unrecorded = d.state.Unrecorded[1:]
	}
}

// Observe folds a report of the process, in the epoch in which it arrives. The reports of a process must come in the order
// of the events and without a gap: if one cannot be sent, the process must end. Most of them are of turns that deliver
// nothing.
func (d *Deliveries) Observe(ctx workflow.Context, s activities.Observation) {
	if d.process == nil || s.Process != d.process.ID {
		return
	}
	d.proved = false
	managed := d.fold.Session
	switch {
	case s.Marked != nil:
		s.Marked.Session, s.Marked.Epoch = managed.ID, managed.Epoch
		_ = d.emitEvent(ctx, *s.Marked)
	case s.Turn != nil:
		s.Turn.Session, s.Turn.Epoch = managed.ID, managed.Epoch
		_ = d.emitEvent(ctx, *s.Turn)
		d.pause, d.readyAt = 0, time.Time{}
		if d.fold.Head() != nil {
			d.touchSession()
		}
	case d.fold.InFlight() != nil:
		d.lookAt = earliest(d.lookAt, workflow.Now(ctx).Add(lookAfterEnd))
		d.touchSession()
	}
}

// setProblem keeps the reason why nothing is delivered, for people.
func (d *Deliveries) setProblem(format string, args ...any) {
	d.problem = fmt.Sprintf(format, args...)
	d.log.Warn("delivery held up", "why", d.problem)
}
