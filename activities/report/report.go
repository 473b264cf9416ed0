// Package report holds how an activity reports: by heartbeats while it works, by errors that its workflow
// can tell apart, and in texts that are short enough for history.
package report

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Progress says what a running activity is doing. It is the payload of its heartbeat.
type Progress struct {
	Doing string `json:"doing"`
	Bytes int64  `json:"bytes,omitempty"`
	Tail  string `json:"tail,omitempty"`
	// Used is the usage of a provider's call so far, as far as it is known.
	Used run.Usage `json:"used,omitzero"`
	// Steers says that the agent takes the notes of people into the current turn.
	Steers bool `json:"steers,omitempty"`
}

// heartbeatEvery is the interval of heartbeats. It is longer than the time for which the SDK holds
// a heartbeat back (temporalclient.WorkerOptions): one that is held back when the activity has
// reported its own result is sent afterwards, and refused.
const heartbeatEvery = time.Second

// Heartbeat sends heartbeats until stop is called. They let the engine notice a lost host and
// deliver a cancellation. Each heartbeat carries the Progress of the last call of show. Stop
// returns when no heartbeat is sent any more.
func Heartbeat(ctx context.Context, first Progress) (show func(Progress), stop func()) {
	var mu sync.Mutex
	last := first
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(heartbeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return // the engine ignores further heartbeats
			case <-tick.C:
				mu.Lock()
				b := last
				mu.Unlock()
				activity.RecordHeartbeat(ctx, b)
			}
		}
	})
	show = func(b Progress) {
		mu.Lock()
		defer mu.Unlock()
		last = b
	}
	return show, func() { close(done); wg.Wait() }
}

// MaxSummary is the size in bytes to which Summary cuts a text.
const MaxSummary = 300

// Summary returns the text, cut to MaxSummary.
func Summary(s string) string { return display.Clip(s, MaxSummary) }
