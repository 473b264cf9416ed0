// Package eventually lets tests wait for the effects of other goroutines and processes. A test
// waits for the condition itself, never for a time after which the condition should hold.
package eventually

import (
	"testing"
	"time"
)

// The time between two checks of a condition. It grows with the wait, to a twentieth of it, and slow checks are made
// rarely: a waiting test must leave the processor to the program that it waits for.
const (
	leastPause = 5 * time.Millisecond
	mostPause  = 100 * time.Millisecond
)

// pauseAfter returns the time until the next check, when the last one took so long and the wait lasts for so long.
func pauseAfter(check, wait time.Duration) time.Duration {
	return min(max(wait/20, 4*check, leastPause), mostPause)
}

// Holds returns when the condition holds. It fails the test after five minutes: a busy machine is no reason to fail.
func Holds(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Within(t, what, 5*time.Minute, holds)
}

// Within is Holds with another limit, which should be far above the time that the condition takes.
func Within(t testing.TB, what string, limit time.Duration, holds func() bool) {
	t.Helper()
	over := time.NewTimer(limit)
	defer over.Stop()
	began := time.Now()
	for {
		checked := time.Now()
		if holds() {
			return
		}
		select {
		case <-time.After(pauseAfter(time.Since(checked), time.Since(began))):
		case <-over.C:
			t.Fatalf("%s: not within %v", what, limit)
		case <-t.Context().Done():
			t.Fatalf("%s: not before the test ended", what)
		}
	}
}
