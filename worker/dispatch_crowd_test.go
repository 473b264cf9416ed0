package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestManyOwnOneSession has several clients ask at once for the outcome of one
// session that does not run, while two workers serve. One gets it, and one agent
// runs. The others are told that the session is locked, before the turn of the
// first one ends. Finding H3.
func TestManyOwnOneSession(t *testing.T) {
	need.Suite(t, need.Nightly)
	sizes := []int{2, 10}
	if need.Has(need.Nightly) {
		sizes = []int{2, 10, 50}
	}
	t.Parallel()
	h := newDispatchFixture(t)
	r := h.on("dispatch")
	r.spawn()
	r.spawn()
	for _, size := range sizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			to, done := h.settle(dormant), fmt.Sprint("done-", size)
			over := make(chan told)
			for i := range size {
				c := r.from(t, i%5)
				go func() { over <- c.dispatch(message(to, dispatch.OwnedOutcome, "until="+done)) }()
			}
			for range size - 1 {
				got := <-over
				if h.verify(t, got); got.word() != string(dispatch.TargetLocked) {
					t.Errorf("%s", got)
				}
			}
			h.end(done)
			got := <-over
			if h.verify(t, got); got.word() != string(dispatch.Completed) {
				t.Errorf("%s", got)
			}
			if n := h.lines(startedLine, string(to)); n != 1 {
				t.Errorf("%d agents were started", n)
			}
			// It does not run any more: the next one may.
			if got := r.dispatch(message(to, dispatch.OwnedOutcome)); got.word() != string(dispatch.Completed) || h.lines(startedLine, string(to)) != 2 {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
	h.verifyHost(t)
}

// from is the same with the nth of several clients.
func (r *queueFixture) from(t *testing.T, n int) *queueFixture {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.clients) <= n {
		c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Engine: r.engine.Address, Key: r.engine.Key, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		r.t.Cleanup(c.Close)
		r.clients = append(r.clients, c)
	}
	there := *r.queue
	there.client = r.clients[n]
	return &queueFixture{r.dispatchFixture, &there}
}

// own dispatches until the session is locked no longer: a worker that died with an
// owned turn is missed after a while.
func (r *queueFixture) own(t *testing.T, to dispatch.GardenID) (got told) {
	t.Helper()
	eventually.Holds(t, "the session to be free", func() bool {
		got = r.dispatch(message(to, dispatch.OwnedOutcome))
		r.verify(t, got)
		return got.word() != string(dispatch.TargetLocked)
	})
	return got
}
