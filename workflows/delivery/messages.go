package delivery

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// The names of the messages to a session's workflow about deliveries.
const (
	EnqueueUpdate = activities.EnqueueUpdate
	CloseUpdate   = "close-delivery"
	SweepUpdate   = "sweep-deliveries"
	Query         = "deliveries"
)

// Closing is the decision of a person about a batch. It is the input of the update CloseUpdate.
type Closing struct {
	Batch  string         `json:"batch"` // empty: the head
	Reason delivery.Close `json:"reason"`
	By     string         `json:"by,omitempty"`
	Note   string         `json:"note,omitempty"`
}

// Swept is the result of the update SweepUpdate.
type Swept struct {
	Done int `json:"done"` // events that were due
}

// View is the result of the query Query.
type View struct {
	Session string            `json:"session"`
	Fold    delivery.Snapshot `json:"fold"`
	// Waiting says why the head is not delivered now; empty if nothing stands in the way.
	Waiting string    `json:"waiting,omitempty"`
	Next    time.Time `json:"next,omitzero"` // when time alone changes something
}

// The types of the errors of updates.
const (
	InvalidError = activities.InvalidError
	StateError   = "DeliveryState"
)

func (d *Deliveries) setHandlers(ctx workflow.Context) error {
	err := workflow.SetUpdateHandlerWithOptions(ctx, EnqueueUpdate, d.enqueue, workflow.UpdateHandlerOptions{
		Validator: d.checkBatch, Description: "a batch of results for the session",
	})
	if err == nil {
		err = workflow.SetUpdateHandlerWithOptions(ctx, CloseUpdate, d.closeBatch, workflow.UpdateHandlerOptions{
			Validator: d.checkClosing, Description: "the decision of a person about a batch",
		})
	}
	if err == nil {
		err = workflow.SetUpdateHandler(ctx, SweepUpdate, func(ctx workflow.Context) (Swept, error) { return Swept{d.sweepDeadlines(ctx)}, nil })
	}
	if err == nil {
		err = workflow.SetQueryHandlerWithOptions(ctx, Query, func() (View, error) { return d.view(), nil }, workflow.QueryHandlerOptions{Description: "the results for the session"})
	}
	return err
}

func (d *Deliveries) view() View {
	v := View{Session: d.Session, Fold: *d.fold, Waiting: d.problem, Next: earliest(d.fold.NextSweep(), d.readyAt)}
	v.Fold.Closed = slices.Concat(d.earlyClosed(), d.fold.Closed)
	for _, e := range d.state.Early {
		v.Fold.Queue = append(v.Fold.Queue, d.entryOf(e))
		v.Waiting = cmp.Or(d.problem, errUnnamed.Error())
	}
	return v
}

func refuseUpdate(kind string, err error) error {
	return temporal.NewNonRetryableApplicationError(err.Error(), kind, err)
}

// batchOf returns the batch as a batch for the thread, whose name is empty while it is not known.
func batchOf(p activities.EnqueueInput, thread string) delivery.Batch {
	return delivery.Batch{ID: p.ID, Thread: thread, Jobs: p.Jobs, Profile: p.Profile, ReservedBy: p.ReservedBy}
}

// checkBatch refuses a batch that cannot be queued. A refused update leaves no trace.
func (d *Deliveries) checkBatch(ctx workflow.Context, p activities.EnqueueInput) error {
	b := batchOf(p, cmp.Or(d.fold.Thread, delivery.LongestID))
	if err := b.Validate(); err != nil {
		return refuseUpdate(InvalidError, fmt.Errorf("batch_invalid: %w", err))
	}
	switch known, same := d.findBatch(p); {
	case d.ended || d.fold.Session.State == delivery.Retired:
		return refuseUpdate(StateError, errors.New("session_retired: the session accepts no more results"))
	case same:
		return nil
	case known:
		return refuseUpdate(StateError, fmt.Errorf("batch_known: another batch has the id %s", p.ID))
	}
	if err := d.checkSize(p); err != nil {
		return err
	}
	if d.fold.Seq == 0 {
		return d.checkEarly(b)
	}
	if _, err := d.fold.Clone().Apply(d.fold.Event(workflow.Now(ctx), delivery.Enqueued{Batch: b})); err != nil {
		code := "batch_invalid"
		if errors.Is(err, delivery.ErrFull) {
			code = "queue_full"
		}
		return refuseUpdate(StateError, fmt.Errorf("%s: %w", code, err))
	}
	return nil
}

// findBatch reports whether a batch has the batch's id, and whether it has the same words, too.
func (d *Deliveries) findBatch(p activities.EnqueueInput) (known, same bool) {
	if i := d.findEarly(p.ID); i >= 0 {
		return true, batchOf(d.state.Early[i].Batch, "").Equal(batchOf(p, ""))
	}
	if e := d.fold.Known(p.ID); e != nil {
		return true, e.SameContent(batchOf(p, d.fold.Thread))
	}
	if e := d.findEarlyClosed(p.ID); e != nil {
		return true, e.SameContent(batchOf(p, ""))
	}
	return false, false
}

// enqueue adds a batch. A second call with the same batch changes nothing.
func (d *Deliveries) enqueue(ctx workflow.Context, p activities.EnqueueInput) (activities.Receipt, error) {
	if d.findEarlyClosed(p.ID) != nil {
		return activities.Receipt{Batch: p.ID, Waiting: len(d.fold.Queue) + len(d.state.Early)}, nil
	}
	if d.fold.Seq == 0 && d.process == nil {
		return d.keepEarly(ctx, p), nil
	}
	d.openThread(ctx)
	b := batchOf(p, d.fold.Thread)
	if known := d.fold.Known(b.ID); known == nil || !known.SameContent(b) {
		if err := d.emitEvent(ctx, delivery.Enqueued{Batch: b}); err != nil {
			return activities.Receipt{}, refuseUpdate(StateError, err)
		}
	}
	return activities.Receipt{Batch: b.ID, Waiting: len(d.fold.Queue)}, nil
}

func (d *Deliveries) closingOf(c Closing) delivery.Closed {
	p := delivery.Closed{Batch: c.Batch, Reason: c.Reason, By: c.By, Note: c.Note}
	if p.Batch != "" {
		return p
	}
	if e := d.fold.Head(); e != nil {
		p.Batch = e.Batch.ID
	} else if len(d.state.Early) > 0 {
		p.Batch = d.state.Early[0].Batch.ID
	}
	return p
}

// maxNote bounds the note of a closing.
const maxNote = 2000

func (d *Deliveries) checkClosing(ctx workflow.Context, c Closing) error {
	if len(c.Note) > maxNote || len(c.By) > maxNote || sizeOf(c.Note)+sizeOf(c.By) > maxClosingBytes {
		return refuseUpdate(InvalidError, fmt.Errorf("note_too_long: at most %d bytes, and %d as JSON with the name", maxNote, maxClosingBytes))
	}
	closing := d.closingOf(c)
	if d.findEarly(closing.Batch) >= 0 {
		if closing.Reason != delivery.Cancelled {
			return refuseUpdate(StateError, fmt.Errorf("batch_not_open: batch %s cannot be closed as %q: it was not sent", closing.Batch, closing.Reason))
		}
		return nil
	}
	if _, err := d.fold.Clone().Apply(d.fold.Event(workflow.Now(ctx), closing)); err != nil {
		return refuseUpdate(StateError, fmt.Errorf("batch_not_open: %w", err))
	}
	if e := d.fold.Known(closing.Batch); closing.Reason == delivery.Confirmed && e != nil && e.Generation == 0 {
		return refuseUpdate(StateError, fmt.Errorf("batch_not_open: batch %s was not sent: close it with --cancelled", closing.Batch))
	}
	return nil
}

// closeBatch closes a batch by a person's word.
func (d *Deliveries) closeBatch(ctx workflow.Context, c Closing) (View, error) {
	closing := d.closingOf(c)
	if i := d.findEarly(closing.Batch); i >= 0 {
		d.closeEarly(ctx, i, closing)
		return d.view(), nil
	}
	if err := d.emitEvent(ctx, closing); err != nil {
		return View{}, refuseUpdate(StateError, err)
	}
	return d.view(), nil
}
