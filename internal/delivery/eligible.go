package delivery

import (
	"time"
)

// Outcome is the next step of a batch.
type Outcome string

// The outcomes (docs/contracts/delivery.md, 9).
const (
	Steer    Outcome = "steer"    // into the active turn
	Start    Outcome = "start"    // as a turn of its own
	Wait     Outcome = "wait"     // until the thread is proved idle: the idle path alone is left
	Operator Outcome = "operator" // stays queued for a person
	Deny     Outcome = "deny"     // the facts contradict each other: nothing is delivered, and it is reported
	Nothing  Outcome = "nothing"  // not before the queue or the time has changed
)

// Decision is an outcome and, unless something is sent, its reason.
type Decision struct {
	Outcome Outcome `json:"outcome"`
	Reason  Reason  `json:"reason,omitempty"`
	// Turn is the active turn, for a steer.
	Turn string `json:"turn,omitempty"`
}

var outcomeOf = map[Reason]Outcome{
	NotOpen: Nothing, NotHead: Nothing, ManualOnly: Nothing, Reserved: Nothing,
	NoBudget: Nothing, TooSoon: Nothing, InFlight: Nothing,
	BatchPolicy: Operator, BatchFile: Operator, Drifted: Operator, Permitted: Operator,
	OtherThread: Deny, OtherSession: Deny,
}

// Decide decides what to do with a batch now. It decides a steer only where the gate admits one.
func (s *Snapshot) Decide(batch string, now time.Time) Decision {
	e := s.findEntry(batch)
	if e == nil {
		return Decision{Outcome: Nothing, Reason: NotOpen}
	}
	for _, check := range []func() error{
		func() error { return s.admitBatch(e, s.Session.Adapter) },
		func() error { return s.admitTime(e, now) },
		func() error { return s.admitSession(e) },
	} {
		if err := check(); err != nil {
			return decisionOf(err)
		}
	}
	return s.decideKind(e)
}

func (s *Snapshot) decideKind(e *Entry) Decision {
	err := s.admitKind(e, Begun{Kind: TurnStart})
	if err == nil {
		return Decision{Outcome: Start}
	}
	if ReasonOf(err) != NotIdle {
		return decisionOf(err)
	}
	turn := ""
	if v := s.Session.View; v != nil && v.ID != nil {
		turn = *v.ID
	}
	if err := s.admitKind(e, Begun{Kind: TurnSteer, Expected: turn}); err != nil {
		return decisionOf(err)
	}
	return Decision{Outcome: Steer, Turn: turn}
}

func decisionOf(err error) Decision {
	r := ReasonOf(err)
	if o, ok := outcomeOf[r]; ok {
		return Decision{Outcome: o, Reason: r}
	}
	return Decision{Outcome: Wait, Reason: r}
}
