package activities

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Doorbells ring again for mail that lies unread though its receiver is there: a
// ring can be lost, and then a session sleeps on until the next message. One for
// each worker is enough, and several ring no more often. It is no method of
// DispatchActivities, whose methods are activities.
type Doorbells struct {
	Dispatch *DispatchActivities // nil serves no dispatches and rings for nobody
	Log      *slog.Logger        // told when what is wrong changes
	Ticks    <-chan time.Time    // when to look; nil means every minute
}

// lostAfter is how long a ring may take to be answered, and how often is looked.
const lostAfter = time.Minute

// Start looks until ctx ends or stop is called; stop returns when nobody looks
// any more.
func (b Doorbells) Start(ctx context.Context) (stop func()) {
	if b.Dispatch == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { b.ringRegularly(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

func (b Doorbells) ringRegularly(ctx context.Context) {
	ticks := b.Ticks
	if ticks == nil {
		t := time.NewTicker(lostAfter)
		defer t.Stop()
		ticks = t.C
	}
	wrong := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
			wrong = b.ringOnce(ctx, wrong)
		}
	}
}

// ringOnce rings, and returns what is wrong, which it logs unless it was before.
func (b Doorbells) ringOnce(ctx context.Context, before string) (wrong string) {
	rung, err := b.Dispatch.boxes.RingAgain(ctx, lostAfter)
	if len(rung) > 0 {
		b.Log.Info("rang again for unread mail", "citizens", rung)
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return ""
	}
	wrong = clip(err.Error(), maxSummary)
	if wrong != before {
		b.Log.Warn("look for mail whose ring was lost", "error", wrong)
	}
	return wrong
}
