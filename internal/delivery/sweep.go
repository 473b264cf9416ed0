package delivery

import "time"

// Sweep returns the events that are due only because time has passed: requests without an answer,
// observations whose deadline has passed, and windows of batches without an active attempt. The caller
// applies them in their order.
func (s *Snapshot) Sweep(now time.Time) []Payload {
	var due []Payload
	for i := range s.Queue {
		e := &s.Queue[i]
		switch a := e.activeAttempt(); {
		case a == nil && !now.Before(e.Until):
			due = append(due, WindowPassed{Batch: e.Batch.ID})
		case a == nil:
		case a.State == AcceptPending && now.Sub(a.StartedAt) >= AcceptLimit:
			due = append(due, Stale{RequestID: a.RequestID})
		case a.State == Cooldown && !now.Before(a.Deadline):
			due = append(due, ObservationExpired{RequestID: a.RequestID})
		}
	}
	return due
}
