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
	Parcel activities.Parcel `json:"parcel"`
	At     time.Time         `json:"at"`
}

// keepsEarly reports whether an early batch is kept in the state. An older history keeps it in the handler of its update,
// for openLimit.
func keepsEarly(ctx workflow.Context) bool {
	return workflow.GetVersion(ctx, "keep-early", workflow.DefaultVersion, 1) == 1
}

// entryOf returns the early batch as a queue shows it.
func (*Deliveries) entryOf(e Early) delivery.Entry {
	return delivery.Entry{Batch: batchOf(e.Parcel, ""), CreatedAt: e.At, Replay: delivery.Automatic, Until: e.At.Add(delivery.RedeliveryWindow)}
}

// findEarly returns the index of the early batch with the id; -1: there is none.
func (d *Deliveries) findEarly(id string) int {
	return slices.IndexFunc(d.state.Early, func(e Early) bool { return e.Parcel.ID == id })
}

// checkEarly refuses an early batch for which the queue has no room.
func (d *Deliveries) checkEarly(b delivery.Batch) error {
	bytes := b.Bytes()
	for _, e := range d.state.Early {
		bytes += batchOf(e.Parcel, b.Thread).Bytes()
	}
	if len(d.state.Early) >= delivery.MaxQueued || bytes > delivery.MaxQueuedBytes {
		return refuseUpdate(StateError, fmt.Errorf("queue_full: %w", delivery.ErrFull))
	}
	return nil
}

// keepEarly keeps an early batch, and lets Step wake the session.
func (d *Deliveries) keepEarly(ctx workflow.Context, p activities.Parcel) activities.Receipt {
	if d.findEarly(p.ID) < 0 {
		d.state.Early = append(d.state.Early, Early{p, workflow.Now(ctx)})
	}
	d.touchSession()
	return activities.Receipt{Batch: p.ID, Waiting: len(d.state.Early)}
}

// awaitProcess waits for a process that names the thread, with early batches. It returns when time alone ends a wait.
func (d *Deliveries) awaitProcess(ctx workflow.Context) (next time.Time) {
	d.sweepEarly(ctx)
	if len(d.state.Early) == 0 {
		return time.Time{}
	}
	d.host.WakeProcess(ctx)
	return d.entryOf(d.state.Early[0]).Until
}

// sweepEarly gives up the early batches whose window has passed.
func (d *Deliveries) sweepEarly(ctx workflow.Context) (done int) {
	for len(d.state.Early) > 0 && !workflow.Now(ctx).Before(d.entryOf(d.state.Early[0]).Until) {
		d.log.Warn("early batch given up", "batch", d.state.Early[0].Parcel.ID, "reason", string(delivery.WindowExhausted))
		d.state.Early = d.state.Early[1:]
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
		d.tellProblem("the thread %q cannot be opened", d.process.Thread)
		return
	}
	for _, e := range d.state.Early {
		if err := d.emitEvent(ctx, delivery.Enqueued{Batch: batchOf(e.Parcel, d.fold.Thread)}); err != nil {
			d.log.Warn("early batch not queued", "batch", e.Parcel.ID, "reason", err)
		}
	}
	d.state.Early = nil
}

// errUnnamed says why an early batch waits.
var errUnnamed = errors.New("session_not_live: the session has named no thread; see starter session list")
