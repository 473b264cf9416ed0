package session

import (
	"cmp"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func (f fold) sittingAsked() error {
	if f.Sitting == nil {
		return outOfTurn("no agent process to end")
	}
	f.Sitting.Going = true
	return nil
}

// The pauses before a sitting is tried again.
const (
	firstPause = 5 * time.Second
	maxPause   = 5 * time.Minute
)

// sittingEnded ends the epoch. A turn that was in progress stays, cut off, until a later sitting says how
// far it came.
func (f fold) sittingEnded(e SittingEnded) error {
	if f.Sitting == nil || e.Epoch != f.Sitting.Epoch {
		return outOfTurn("the end of agent process %d", e.Epoch)
	}
	seated, asked := f.Sitting.Queue != "", f.Sitting.Going
	f.Forgot = e.End == Forgotten || f.Forgot
	f.Sitting, f.Renew = nil, false
	if f.Turn != nil && !f.Turn.Cut {
		f.Turn.Cut, f.Turn.Due = true, false
	}
	if t := f.Turn; t != nil && t.Delivery {
		f.Turn = nil // its own record says how far it came
		f.Unseen = t.ID
	}
	if len(f.Asks) > 1 {
		f.Asks = f.Asks[:1] // the agent makes the other calls again
	}
	f.setState(stateAfter[e.End], cmp.Or(e.Reason, f.Reason))
	switch e.End {
	case Died, WasLost:
		f.Wake = e.End == WasLost && seated && !asked
		if !seated {
			f.pauseSitting()
		}
	case Held, Unstarted:
		f.pauseSitting()
	case Forgotten:
		f.forgetTurn(e.Reason)
	}
	f.countUnseen(e.Found)
	return nil
}

// forgetTurn ends the turn and the messages that need what the agent has forgotten. A message that begins a
// new session of the agent stays.
func (f fold) forgetTurn(reason string) {
	if f.Turn != nil {
		f.giveTurnUp(CutOff, reason)
	}
	var fresh []Message
	for _, m := range f.Queue {
		if m.Fresh || len(fresh) > 0 {
			fresh = append(fresh, m)
			continue
		}
		f.rememberPast(Past{ID: m.ID, By: m.By, At: f.now, Outcome: Failed, Reason: reason})
	}
	f.Queue = fresh
}

var stateAfter = map[End]State{Slept: Asleep, Ended: Asleep, Died: Dead, WasLost: Lost, Held: Foreign, Unstarted: Unable, Forgotten: Unable}

// pauseSitting delays the next sitting.
func (f fold) pauseSitting() {
	f.Tries++
	f.NotBefore = f.now.Add(pauseAfter(f.Tries))
}

// stopSitting withdraws what waits and lets the sitting end. A turn in progress is interrupted.
func (f fold) stopSitting(by string, leave bool) error {
	reason := "the session was stopped"
	if leave {
		reason = "the session was retired"
	}
	if by != "" {
		reason += " by " + by
	}
	for _, m := range f.Queue {
		f.rememberPast(Past{ID: m.ID, By: m.By, At: f.now, Outcome: Withdrawn, Reason: reason})
	}
	f.Queue, f.Wake, f.Doubt = nil, false, nil
	if t := f.Turn; t != nil && !t.Delivery {
		f.giveTurnUp(Interrupted, reason)
		f.Doubt = nil
	}
	f.Asks = nil
	f.Leave = f.Leave || leave
	if f.Sitting != nil {
		f.Renew = true
	}
	f.Reason = reason
	return nil
}

func (f fold) retireSession(e Retirement) error {
	if f.Sitting != nil || !f.Leave {
		return outOfTurn("the session lives")
	}
	f.countUnseen(e.Found)
	f.setState(Retired, f.Reason)
	return nil
}

func (f fold) setState(st State, reason string) {
	if f.State != st {
		f.State, f.Since = st, f.now
	}
	f.Reason = reason
}

// settleState derives the state of a session whose agent lives, and of one that waits for a person.
func (f fold) settleState() {
	waits := f.Doubt != nil
	for _, a := range f.Asks {
		waits = waits || a.Decided == nil
	}
	switch {
	case f.State == Retired:
	case waits:
		f.setState(Asking, "")
	case f.Sitting.Seated() && f.Turn != nil && !f.Turn.Cut:
		f.setState(Working, "")
	case f.Sitting.Seated():
		f.setState(Idle, "")
	case f.Sitting != nil:
		f.setState(Starting, "")
	case f.State == Asking: // what it waited for came
		f.setState(Asleep, "")
	}
}

// Do is the kind of a step.
type Do string

// The steps.
const (
	Rest   Do = "rest"   // until something happens
	Pause  Do = "pause"  // until NotBefore, or until something happens
	Start  Do = "start"  // begin a sitting
	Hand   Do = "hand"   // hand a message over
	Settle Do = "settle" // tell the agent a decision
	Finish Do = "finish" // end the sitting
	Close  Do = "close"  // the session ends
)

// Next returns the next step.
func (s *Snapshot) Next(now time.Time) Do {
	switch {
	case s.State == Retired:
		return Rest
	case s.Sitting == nil && s.Leave:
		return Close
	case s.Sitting == nil && !s.wantsSitting():
		return Rest
	case s.Sitting == nil && now.Before(s.NotBefore):
		return Pause
	case s.Sitting == nil:
		return Start
	case s.Renew && !s.Sitting.Going:
		return Finish
	case !s.Sitting.Seated():
		return Rest
	case s.Sitting.Outdated && s.Turn == nil:
		return Finish
	case s.Turn != nil && !s.Turn.Cut:
		if s.firstDecidedAsk() != nil {
			return Settle
		}
		return Rest
	case s.Turn == nil && len(s.Queue) == 0, s.Turn != nil && !s.goesOn(), s.Doubt != nil:
		return Rest
	case s.DueSitting() != (SittingBegun{s.Sitting.Choice, s.Sitting.Fresh && s.nextMessage().Fresh}):
		return Finish // the client takes another choice at its start only
	}
	return Hand
}

// IsOverridden reports whether the agent lives by another choice than the session's, although it has no turn: the turn of
// a message with a choice of its own has ended.
func (s *Snapshot) IsOverridden() bool {
	return s.Sitting.Seated() && s.Turn == nil && s.Sitting.Choice != s.Input.Choice()
}

// wantsSitting reports whether the agent is to live.
func (s *Snapshot) wantsSitting() bool {
	if s.Doubt != nil {
		return false
	}
	if s.Turn != nil && s.Turn.Cut {
		return s.goesOnAfterSitting()
	}
	return s.Wake || len(s.Queue) > 0
}

// goesOn reports whether the turn that was cut off is to continue now.
func (s *Snapshot) goesOn() bool { return s.Turn.Cut && s.Turn.Due && s.goesOnAfterSitting() }

// goesOnAfterSitting reports whether no person is waited for. How far the turn came is told by the next
// sitting.
func (s *Snapshot) goesOnAfterSitting() bool { return len(s.Asks) == 0 || s.firstDecidedAsk() != nil }

// firstDecidedAsk returns the first decided ask; nil if there is none.
func (s *Snapshot) firstDecidedAsk() *Ask {
	for i := range s.Asks {
		if s.Asks[i].Decided != nil {
			return &s.Asks[i]
		}
	}
	return nil
}

// Settleable returns the decision to tell the agent next.
func (s *Snapshot) Settleable() Ask { return *s.firstDecidedAsk() }

// nextMessage returns the message to hand over next; zero if there is none.
func (s *Snapshot) nextMessage() (m Message) {
	switch {
	case s.Turn != nil:
		m = s.Turn.Message
		m.Fresh = false // its turn has begun
	case len(s.Queue) > 0:
		m = s.Queue[0]
	}
	return m
}

// DueSitting returns the sitting to begin next.
func (s *Snapshot) DueSitting() SittingBegun {
	m := s.nextMessage()
	return SittingBegun{Choice: m.Override.Over(s.Input.Choice()), Fresh: m.Fresh}
}

// Permit returns the decision that the turn was cut off at; nil if there was none.
func (s *Snapshot) Permit() *run.Permit {
	a := s.firstDecidedAsk()
	if a == nil {
		return nil
	}
	for i := range s.Permits {
		if s.Permits[i].CallID == a.Permission.CallID && s.Permits[i].Digest == a.Permission.Digest {
			return &s.Permits[i]
		}
	}
	return nil
}
