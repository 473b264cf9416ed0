package delivery

import (
	"slices"
	"time"
)

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

// NextSweep returns the time at which Sweep may have something to do; zero if nothing can become due.
func (s *Snapshot) NextSweep() (next time.Time) {
	for i := range s.Queue {
		e := &s.Queue[i]
		due := e.Until
		if a := e.activeAttempt(); a != nil {
			due = a.Deadline
			if a.State == AcceptPending {
				due = a.StartedAt.Add(AcceptLimit)
			}
		}
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	return next
}

// NotBefore returns the time before which the head is not sent, because of an earlier acceptance or an overload; zero
// if it can be sent.
func (s *Snapshot) NotBefore() (due time.Time) {
	e := s.Head()
	if e == nil {
		return due
	}
	if !s.LastAccepted.IsZero() {
		due = s.LastAccepted.Add(s.Limits.interval())
	}
	if e.NotBefore.After(due) {
		due = e.NotBefore
	}
	return due
}

// Clone returns a copy that shares nothing that Apply changes.
func (s *Snapshot) Clone() *Snapshot {
	c := *s
	c.Queue, c.Closed = cloneEntries(s.Queue), cloneEntries(s.Closed)
	return &c
}

func cloneEntries(list []Entry) []Entry {
	list = slices.Clone(list)
	for i := range list {
		list[i].Attempts = slices.Clone(list[i].Attempts)
	}
	return list
}
