package delivery

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// Early is a batch that came before the session had named its thread. The fold begins with the thread, and the ledger with
// the fold: until then the workflow's state alone has the batch.
type Early struct {
	Batch activities.EnqueueInput `json:"batch"`
	At    time.Time               `json:"at"`
}

// entryOf returns the early batch as a queue shows it.
func (*Deliveries) entryOf(e Early) delivery.Entry {
	return delivery.Entry{Batch: batchOf(e.Batch, ""), CreatedAt: e.At, Replay: delivery.Automatic, Until: e.At.Add(delivery.RedeliveryWindow)}
}

// findEarly returns the index of the early batch with the id; -1: none.
func (d *Deliveries) findEarly(id string) int {
	return slices.IndexFunc(d.state.Early, func(e Early) bool { return e.Batch.ID == id })
}

// checkEarly refuses an early batch for which the queue has no room.
func (d *Deliveries) checkEarly(b delivery.Batch) error {
	bytes := b.Bytes()
	for _, e := range d.state.Early {
		bytes += batchOf(e.Batch, b.Thread).Bytes()
	}
	if len(d.state.Early) >= delivery.MaxQueued || bytes > delivery.MaxQueuedBytes {
		return refuseUpdate(StateError, fmt.Errorf("queue_full: %w", delivery.ErrFull))
	}
	return nil
}

// keepEarly keeps an early batch, and lets Step wake the session.
func (d *Deliveries) keepEarly(ctx workflow.Context, p activities.EnqueueInput) activities.Receipt {
	if d.findEarly(p.ID) < 0 {
		d.state.Early = append(d.state.Early, Early{p, workflow.Now(ctx)})
	}
	d.touchSession()
	return activities.Receipt{Batch: p.ID, Waiting: len(d.state.Early)}
}

// closeEarly ends the early batch with the index. The ledger does not have early batches: only the state records the end.
func (d *Deliveries) closeEarly(ctx workflow.Context, i int, c delivery.Closed) {
	e := d.entryOf(d.state.Early[i])
	e.Close, e.ClosedAt, e.By, e.Note = c.Reason, workflow.Now(ctx), c.By, c.Note
	d.log.Info("early batch closed", "batch", e.Batch.ID, "reason", string(e.Close), "note", e.Note)
	d.state.Early = slices.Delete(d.state.Early, i, i+1)
	d.state.EarlyClosed = delivery.KeepClosed(d.state.EarlyClosed, e)
}

// earlyClosed returns the early batches that are among the last closed ones of the session.
func (d *Deliveries) earlyClosed() []delivery.Entry {
	list, room := d.state.EarlyClosed, max(0, delivery.MaxClosed-len(d.fold.Closed))
	return list[max(0, len(list)-room):]
}

// findEarlyClosed returns the early batch with the id that has ended; nil: none.
func (d *Deliveries) findEarlyClosed(id string) *delivery.Entry {
	list := d.earlyClosed()
	i := slices.IndexFunc(list, func(e delivery.Entry) bool { return e.Batch.ID == id })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// awaitProcess waits for a process that names the thread, with early batches. It returns when time alone ends a wait.
func (d *Deliveries) awaitProcess(ctx workflow.Context) (next time.Time) {
	d.sweepEarly(ctx)
	d.problem = ""
	if len(d.state.Early) == 0 {
		return time.Time{}
	}
	return earliest(d.entryOf(d.state.Early[0]).Until, d.wakeProcess(ctx))
}

// sweepEarly gives up the early batches whose window has passed.
func (d *Deliveries) sweepEarly(ctx workflow.Context) (done int) {
	for len(d.state.Early) > 0 && !workflow.Now(ctx).Before(d.entryOf(d.state.Early[0]).Until) {
		d.closeEarly(ctx, 0, delivery.Closed{Reason: delivery.WindowExhausted})
		done++
	}
	return done
}

// takeEarly queues the early batches, once the thread has begun.
func (d *Deliveries) takeEarly(ctx workflow.Context) {
	if len(d.state.Early) == 0 {
		return
	}
	d.sweepEarly(ctx)
	if d.openThread(ctx); d.fold.Seq == 0 {
		d.setProblem("the thread %q cannot be opened", d.process.Thread)
		return
	}
	for len(d.state.Early) > 0 {
		err := d.emitEvent(ctx, delivery.Enqueued{Batch: batchOf(d.state.Early[0].Batch, d.fold.Thread)})
		if err != nil {
			d.closeEarly(ctx, 0, delivery.Closed{Reason: delivery.Cancelled, Note: "it cannot be queued: " + err.Error()})
			continue
		}
		d.state.Early = d.state.Early[1:]
	}
}

// errUnnamed says why an early batch waits.
var errUnnamed = errors.New("session_not_live: the session has no thread yet; see starter session list")
