package rundir_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// While somebody waits, wanted is called, and called again: also when of two
// who wait the first has got the slot.
func TestSecondWhoWaitsIsHeard(t *testing.T) {
	store, err := rundir.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	slot := store.Slot("r1", "developer")
	release, err := slot.Hold(t.Context(), func() {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	type holder struct {
		release func()
		wanted  chan struct{}
	}
	holders := make(chan holder, 2)
	var waiting sync.WaitGroup
	waiting.Add(2)
	for range 2 {
		go func() {
			h := holder{wanted: make(chan struct{}, 100)}
			var err error
			waits := sync.OnceFunc(waiting.Done)
			if h.release, err = slot.Hold(ctx, func() { h.wanted <- struct{}{} }, func(int) { waits() }); err == nil {
				holders <- h
			}
		}()
	}
	waiting.Wait()
	release()
	h := <-holders
	select {
	case <-h.wanted:
	case <-time.After(time.Minute): // a poll takes half a second
		t.Error("the one who got the slot never hears that another waits: an agent that is kept there waits for a decision until the pool gives it up")
	}
	h.release()
	(<-holders).release()
}
