package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	flow "github.com/ratchet-dev/ratchet/workflows/delivery"
)

// filled returns a batch that a thread with the id gets as exactly so many bytes.
func filled(id, thread string, bytes int) activities.EnqueueInput {
	p := batch(id)
	left := func() int { return bytes - delivery.Batch{ID: p.ID, Thread: thread, Jobs: p.Jobs}.Bytes() }
	for left() > 200 {
		p.Jobs[0].Summary += strings.Repeat("x", 100) + "\n"
	}
	p.Jobs[0].Summary += strings.Repeat("x", left())
	return p
}

// The text of an early batch names the thread, which no check can know: a receipt holds for any name.
func TestAnEarlyBatchWithAReceiptIsQueued(t *testing.T) {
	longest := strings.Repeat("t", 128)
	rows := map[string]struct {
		early []activities.EnqueueInput
		taken int
	}{
		"a batch that fits no longer name": {[]activities.EnqueueInput{filled("b-1", sessionID, delivery.MaxBatchBytes)}, 0},
		"a batch at the cap":               {[]activities.EnqueueInput{filled("b-1", longest, delivery.MaxBatchBytes)}, 1},
		"a queue that fits no longer name": {[]activities.EnqueueInput{
			filled("b-1", sessionID, delivery.MaxQueuedBytes/5), filled("b-2", sessionID, delivery.MaxQueuedBytes/5), filled("b-3", sessionID, delivery.MaxQueuedBytes/5),
			filled("b-4", sessionID, delivery.MaxQueuedBytes/5), filled("b-5", sessionID, delivery.MaxQueuedBytes/5+1),
		}, 4},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			p := newPlay(t, &town{threads: []thread{{status: "active", turn: "u-0"}}})
			receipts := make([]*updated, len(row.early))
			for i, b := range row.early {
				p.then(time.Second, func() { receipts[i] = p.update(flow.EnqueueUpdate, b) })
			}
			p.then(time.Second, func() { p.attach("1") })
			v := p.run(flow.Settings{})
			for i, u := range receipts {
				if u.accepted != (i < row.taken) {
					t.Errorf("batch %d: accepted %v, %v", i, u.accepted, u.err)
				}
			}
			if len(v.Fold.Queue) != row.taken {
				t.Errorf("%d batches have a receipt, %d are queued", row.taken, len(v.Fold.Queue))
			}
		})
	}
}

// An early batch that ends is in no ledger. The state tells what became of it, and nothing sends it any more.
func TestAnEarlyBatchThatEndsIsShown(t *testing.T) {
	for name, row := range map[string]struct {
		end    func(*play)
		reason delivery.Close
		by     string
		note   string
	}{
		"given up": {func(p *play) { p.then(delivery.RedeliveryWindow, func() {}) }, delivery.WindowExhausted, "", ""},
		"closed": {func(p *play) {
			p.then(time.Hour, func() {
				p.update(flow.CloseUpdate, flow.Closing{Reason: delivery.Cancelled, By: "ann", Note: "not needed"})
			})
		}, delivery.Cancelled, "ann", "not needed"},
		"retired with its session": {func(p *play) { p.then(time.Hour, func() { p.env.SignalWorkflow("retire", nil) }) }, delivery.Cancelled, "", "the session was retired"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(t, &town{})
			p.then(time.Second, func() { p.enqueue("b-1") })
			row.end(p)
			var again, other *updated
			p.then(time.Second, func() {
				v := p.view()
				p.wantClosed(v, "b-1", row.reason, 0)
				if e := v.Fold.Closed[0]; e.By != row.by || e.Note != row.note || !e.ClosedAt.After(e.CreatedAt) || len(v.Fold.Queue) != 0 || v.Waiting != "" {
					t.Errorf("shown %+v", v)
				}
				again = p.update(flow.EnqueueUpdate, batch("b-1"))
				changed := batch("b-1")
				changed.Jobs[0].Summary = "something else"
				other = p.update(flow.EnqueueUpdate, changed)
			})
			p.then(time.Second, func() { p.attach("1") })
			p.then(time.Second, func() { p.enqueue("b-1") })
			v := p.run(flow.Settings{})
			p.wantClosed(v, "b-1", row.reason, 0)
			p.wantSent(0)
			if retired := row.note == "the session was retired"; again.accepted == retired {
				t.Errorf("the same batch again: %+v", again)
			}
			if other.accepted || other.err == nil {
				t.Errorf("another batch with its id: %+v", other)
			}
		})
	}
}

// An early batch that does not fit beside the thread's name is closed and shown, not queued.
func TestAnEarlyBatchThatDoesNotFitIsShown(t *testing.T) {
	p := newPlay(t, &town{threads: []thread{{status: "active", turn: "u-0"}}})
	p.from.Early = []flow.Early{
		{Batch: filled("b-1", sessionID, delivery.MaxBatchBytes), At: p.env.Now()}, {Batch: batch("b-2"), At: p.env.Now()},
	}
	p.then(time.Second, func() { p.attach("1") })
	v := p.run(flow.Settings{})
	p.wantClosed(v, "b-1", delivery.Cancelled, 0)
	p.wantHead(v, "b-2", delivery.Automatic, 0)
	if note := v.Fold.Closed[0].Note; !strings.Contains(note, "16384") {
		t.Errorf("the note is %q", note)
	}
}

// The closed batches of the state are bounded together, whether the thread had a name or not.
func TestTheLastClosedBatchesAreKept(t *testing.T) {
	p := newPlay(t, &town{threads: []thread{{status: "active", turn: "u-0"}}})
	cancel := func(id string) {
		p.then(time.Second, func() { p.enqueue(id) })
		p.then(time.Second, func() { p.update(flow.CloseUpdate, flow.Closing{Batch: id, Reason: delivery.Cancelled}) })
	}
	for i := range delivery.MaxClosed + 1 {
		cancel(fmt.Sprint("early-", i))
	}
	p.then(time.Second, func() {
		if v := p.view(); len(v.Fold.Closed) != delivery.MaxClosed || v.Fold.Closed[0].Batch.ID != "early-1" {
			t.Errorf("%d are kept, %s the oldest", len(v.Fold.Closed), v.Fold.Closed[0].Batch.ID)
		}
		p.attach("1")
	})
	for i := range 10 {
		cancel(fmt.Sprint("late-", i))
	}
	v := p.run(flow.Settings{})
	if closed := v.Fold.Closed; len(closed) != delivery.MaxClosed || closed[0].Batch.ID != "early-11" || closed[len(closed)-1].Batch.ID != "late-9" {
		t.Errorf("%d are kept, %s the oldest, %s the newest", len(closed), closed[0].Batch.ID, closed[len(closed)-1].Batch.ID)
	}
}
