package session

import (
	"context"
	"time"

	"github.com/ratchet-dev/ratchet/activities/report"
)

// takePlace waits until fewer agents live than may. An agent that has been without a turn for longest is
// put to sleep to make room; while all have turns, the process waits. The error is ctx.Err().
func (a *Activities) takePlace(ctx context.Context, s *agentProcess) error {
	defer context.AfterFunc(ctx, a.places.Broadcast)()
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.living) >= a.Most {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.show(report.Progress{Doing: "waits for a free place: the limit of running agents is reached"})
		if idle := a.longestIdle(); idle != nil {
			idle.leaving = true
			idle.leave <- "to make room for another session"
		}
		again := time.AfterFunc(placePoll, a.places.Broadcast) // time alone makes an agent idle
		a.places.Wait()
		again.Stop()
	}
	if err := ctx.Err(); err != nil {
		return err // a place that is taken is given back by its process alone
	}
	a.living[s.id] = s
	return nil
}

const (
	placePoll = 200 * time.Millisecond
	// graceTime is how long an agent has been without a turn before it makes room: one that has just
	// started is about to get input.
	graceTime = time.Second
)

// longestIdle returns the process that has been without a turn for longest; nil if none has been for
// graceTime.
func (a *Activities) longestIdle() *agentProcess {
	var found *agentProcess
	var first time.Time
	for _, s := range a.living {
		if s.leaving {
			return nil // room is being made already
		}
		since, idle := s.idleSince()
		if idle && time.Since(since) > graceTime && (found == nil || since.Before(first)) {
			found, first = s, since
		}
	}
	return found
}

// mayLeave refuses further messages to the process, unless a turn that no person holds up is in progress.
func (a *Activities) mayLeave(s *agentProcess) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = s.turn == nil || len(s.turn.asks) > 0
	return s.leaving
}

// givePlace lets another process have the place.
func (a *Activities) givePlace(s *agentProcess) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.living[s.id] == s {
		delete(a.living, s.id)
	}
	a.places.Broadcast()
}

// closeProcess refuses further messages to the process.
func (a *Activities) closeProcess(s *agentProcess) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.leaving = true
}
