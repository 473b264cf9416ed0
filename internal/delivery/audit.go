package delivery

import "time"

// Line is one decision in the audit.
type Line struct {
	TS       time.Time `json:"ts"`
	Decision Audit     `json:"decision"`
	Thread   string    `json:"thread"`
	Batch    string    `json:"batch"`
	Attempt  int       `json:"attempt,omitempty"`
	Session  string    `json:"session,omitempty"`
	Epoch    int       `json:"epoch,omitempty"`
	Policy   Mode      `json:"policy"`
	Adapter  string    `json:"adapter,omitempty"`
	Reason   string    `json:"reason,omitempty"`
}

// Denied returns the line about a batch that is not delivered because the facts contradict each other.
// No event reports it: a refusal changes nothing.
func (s *Snapshot) Denied(now time.Time, batch string, r Reason) Line {
	return Line{
		TS: now.UTC(), Decision: AuditDeny, Thread: s.Thread, Batch: batch, Session: s.Session.ID, Epoch: s.Session.Epoch,
		Policy: s.policy(), Adapter: s.Session.Adapter, Reason: string(r),
	}
}

// ClosedLine returns the line about a batch that a person closes. The contract has no such decision, and the event holds
// all of it, so the line is in no ledger.
func (s *Snapshot) ClosedLine(at time.Time, c Closed) Line {
	reason := string(c.Reason)
	if c.By != "" {
		reason += " by " + c.By
	}
	if c.Note != "" {
		reason += ": " + c.Note
	}
	return Line{
		TS: at.UTC(), Decision: "closed", Thread: s.Thread, Batch: c.Batch, Session: s.Session.ID, Epoch: s.Session.Epoch,
		Policy: s.policy(), Reason: reason,
	}
}

func (s *Snapshot) policy() Mode {
	if s.Mode == TrustedAll {
		return TrustedAll
	}
	return StrictSafe
}

// addAuditLine adds a line about an attempt.
func (f *fold) addAuditLine(d Audit, e *Entry, a *Attempt, reason string) {
	f.lines = append(f.lines, Line{
		TS: f.now.UTC(), Decision: d, Thread: f.Thread, Batch: e.Batch.ID, Attempt: a.Generation,
		Session: a.Session, Epoch: a.Epoch, Policy: f.policy(), Adapter: a.Adapter, Reason: reason,
	})
}
