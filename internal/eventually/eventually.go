// Package eventually lets tests wait for the effects of other goroutines and processes. A test
// waits for the condition itself, never for a time after which the condition should hold.
package eventually

import (
	"testing"
	"time"
)

// pace is the time between two checks of a condition.
const pace = 5 * time.Millisecond

// Holds returns when the condition holds. It fails the test after five minutes: a busy machine is no reason to fail.
func Holds(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Within(t, what, 5*time.Minute, holds)
}

// Within is Holds with another limit, which should be far above the time that the condition takes.
func Within(t testing.TB, what string, limit time.Duration, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	over := time.NewTimer(limit)
	defer over.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-over.C:
			t.Fatalf("%s: not within %v", what, limit)
		case <-t.Context().Done():
			t.Fatalf("%s: not before the test ended", what)
		}
	}
}
