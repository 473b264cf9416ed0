package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Finding H3.
func TestDispatchesWaitForEachOtherAWhile(t *testing.T) {
	d := newTestTarget(t, newFakeActivities(script{}))
	var first sync.Once
	d.w.before = map[string]func(){"Look": func() {
		first.Do(func() {
			d.give(0, message("l-2", fire))
			_ = until(t.Context(), d.ended("l-2"))
			d.give(0, message("l-3", fire))
			_ = until(t.Context(), d.w.called("Resolve", 3))
		})
	}}
	d.give(0, message("l-1", fire))
	d.serveMessage()
	for id, want := range map[string]dispatch.Reason{"l-1": "", "l-2": dispatch.TargetLocked, "l-3": ""} {
		if got, ok := d.dispatchResult(id); !ok || got.Receipt.Reason() != want || got.Receipt.Observed() == "" != (want != "") || got.Diagnostic == "" != (want == "") {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if got, _ := d.dispatchResult("l-2"); got.Diagnostic != "another message is in progress: process 7 took the lock" {
		t.Errorf("l-2: got the diagnostic %q, want the holder of the lock", got.Diagnostic)
	}
}

// Finding H3. A session is owned once at a time: whoever asks for its turn too is
// dispatched at once, and not that it lives, which it does by our own hand.
func TestASessionThatIsOwnedIsLocked(t *testing.T) {
	unreachable := trusting()
	unreachable.resolved = list(sleeping)
	begins := trusting(dead, alive)
	starts := trusting(dead)
	starts.silent = true
	for name, s := range map[string]script{"before it has begun": starts, "while it can be reached": begins, "while nobody reaches it": unreachable} {
		t.Run(name, func(t *testing.T) {
			d := newTestTarget(t, newFakeActivities(s))
			d.w.own = func(ctx context.Context, _ activities.OwnedTurn) error {
				if d.w.called("Own", 2)() {
					return nil
				}
				for i := range 7 {
					d.give(0, message(fmt.Sprint("l-", i+2), own))
				}
				for i := range 7 {
					if err := until(ctx, d.ended(fmt.Sprint("l-", i+2))); err != nil {
						return err
					}
				}
				return nil
			}
			d.give(0, message("l-1", own))
			d.serveMessage()
			if got, _ := d.dispatchResult("l-1"); got.Outcome == nil || got.Outcome.Kind != dispatch.Completed {
				t.Errorf("the first: %+v", got)
			}
			for i := range 7 {
				if got, _ := d.dispatchResult(fmt.Sprint("l-", i+2)); got.Receipt.Reason() != dispatch.TargetLocked || got.Receipt.Observed() != "" || !strings.Contains(got.Diagnostic, "process 7 took the lock") {
					t.Errorf("the next: %+v", got)
				}
			}
		})
	}
}

// A message waits for a session that is about to begin.
func TestAMessageWaitsForTheBegin(t *testing.T) {
	d := newTestTarget(t, newFakeActivities(trusting(dead, alive)))
	d.w.before = map[string]func(){"Own": func() {
		d.give(0, message("l-2", fire))
		_ = until(t.Context(), d.w.called("Resolve", 2))
	}}
	d.w.own = func(ctx context.Context, _ activities.OwnedTurn) error { return until(ctx, d.ended("l-2")) }
	d.give(0, message("l-1", own))
	d.serveMessage()
	if got, _ := d.dispatchResult("l-2"); got.Outcome == nil || got.Outcome.Kind != dispatch.Sent {
		t.Errorf("%+v", got)
	}
}
