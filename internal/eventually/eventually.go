// Package eventually lets tests wait for what other goroutines and processes
// bring about: for the condition itself, never for a time in which it should
// hold.
package eventually

import (
	"testing"
	"time"
)

// pace is how often a condition is looked at.
const pace = 5 * time.Millisecond

// Holds returns when the condition holds. A minute without that fails the test.
func Holds(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Within(t, what, time.Minute, holds)
}

// Within is Holds with another limit, far above what it takes.
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
