package session

import (
	"errors"
	"fmt"
	"time"
)

// wakeAsked lets the agent live. Between two wakes for deliveries in a row that bring none there is a pause, which doubles.
func (f fold) wakeAsked(e WakeAsked) error {
	f.Wake = f.Process == nil
	if !e.Delivery {
		return nil
	}
	if f.now.After(f.NextWake.Add(maxPause)) { // the agent has lived, or no delivery has waited
		f.Wakes = 0
	}
	f.Wakes++
	f.NextWake = f.now.Add(pauseAfter(f.Wakes))
	return nil
}

// pauseAfter returns the pause after so many tries in a row.
func pauseAfter(tries int) time.Duration { return min(firstPause<<min(tries-1, 10), maxPause) }

// errForgotten says why no delivery wakes an agent that has forgotten its session.
var errForgotten = errors.New("session_not_live: the agent no longer knows its session: `say --fresh` starts a new one, without the old conversation")

// CheckWake returns why a delivery may not wake the agent now, and when it may: at the zero time a person must say
// something before. It returns nil if the delivery may, or has no need to.
func (s *Snapshot) CheckWake(now time.Time) (at time.Time, err error) {
	switch {
	case s.Process != nil || s.Wake:
	case s.Forgot:
		return time.Time{}, errForgotten
	case now.Before(s.NextWake):
		return s.NextWake, fmt.Errorf("session_not_live: the agent was started %d times and took no result: the next start is at %s", s.Wakes, s.NextWake.Format("15:04:05 UTC"))
	}
	return time.Time{}, nil
}
