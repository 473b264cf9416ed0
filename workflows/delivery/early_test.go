package delivery_test

import (
	"strings"
	"testing"
	"time"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	flow "github.com/ratchet-dev/ratchet/workflows/delivery"
)

// filled returns a batch that a thread with the id gets as exactly so many bytes.
func filled(id, thread string, bytes int) activities.Parcel {
	p := parcel(id)
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
		early []activities.Parcel
		taken int
	}{
		"a batch that fits no longer name": {[]activities.Parcel{filled("b-1", sessionID, delivery.MaxBatchBytes)}, 0},
		"a batch at the cap":               {[]activities.Parcel{filled("b-1", longest, delivery.MaxBatchBytes)}, 1},
		"a queue that fits no longer name": {[]activities.Parcel{
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
