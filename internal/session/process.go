package session

import (
	"cmp"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func (f fold) processStopping() error {
	if f.Process == nil {
		return outOfTurn("no agent process to end")
	}
	f.Process.Stopping = true
	return nil
}

// The pauses before another process is started.
const (
	firstPause = 5 * time.Second
	maxPause   = 5 * time.Minute
)

// processEnded ends the epoch. A turn that was in progress stays, cut off, until a later process says how
// far it came.
func (f fold) processEnded(e ProcessEnded) error {
	if f.Process == nil || e.Epoch != f.Process.Epoch {
		return outOfTurn("the end of agent process %d", e.Epoch)
	}
	ready, asked := f.Process.Queue != "", f.Process.Stopping
	f.Forgot = e.End == Forgotten || f.Forgot
	f.Process, f.Renew = nil, false
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
		f.Wake = e.End == WasLost && ready && !asked
		if !ready {
			f.delayStart()
		}
	case Held, Unstarted:
		f.delayStart()
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

// delayStart delays the next process.
func (f fold) delayStart() {
	f.Tries++
	f.NotBefore = f.now.Add(pauseAfter(f.Tries))
}

// stopSession withdraws what waits and lets the process end. A turn in progress is interrupted.
func (f fold) stopSession(by string, leave bool) error {
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
	f.Queue, f.Wake, f.Question = nil, false, nil
	if t := f.Turn; t != nil && !t.Delivery {
		f.giveTurnUp(Interrupted, reason)
		f.Question = nil
	}
	f.Asks = nil
	f.Leave = f.Leave || leave
	if f.Process != nil {
		f.Renew = true
	}
	f.Reason = reason
	return nil
}

func (f fold) retireSession(e Retirement) error {
	if f.Process != nil || !f.Leave {
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

// updateState derives the state of a session whose agent lives, and of one that waits for a person.
func (f fold) updateState() {
	waits := f.Question != nil
	for _, a := range f.Asks {
		waits = waits || a.Decided == nil
	}
	switch {
	case f.State == Retired:
	case waits:
		f.setState(Asking, "")
	case f.Process.Ready() && f.Turn != nil && !f.Turn.Cut:
		f.setState(Working, "")
	case f.Process.Ready():
		f.setState(Idle, "")
	case f.Process != nil:
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
	Start  Do = "start"  // start an agent process
	Hand   Do = "hand"   // hand a message over
	Decide Do = "decide" // send the agent a decision
	Stop   Do = "stop"   // end the agent process
	Close  Do = "close"  // the session ends
)

// Next returns the next step.
func (s *Snapshot) Next(now time.Time) Do {
	switch {
	case s.State == Retired:
		return Rest
	case s.Process == nil && s.Leave:
		return Close
	case s.Process == nil && !s.wantsProcess():
		return Rest
	case s.Process == nil && now.Before(s.NotBefore):
		return Pause
	case s.Process == nil:
		return Start
	case s.Renew && !s.Process.Stopping:
		return Stop
	case !s.Process.Ready():
		return Rest
	case s.Process.Outdated && s.Turn == nil:
		return Stop
	case s.Turn != nil && !s.Turn.Cut:
		if s.firstDecidedAsk() != nil {
			return Decide
		}
		return Rest
	case s.Turn == nil && len(s.Queue) == 0, s.Turn != nil && !s.mustContinueTurn(), s.Question != nil:
		return Rest
	case s.NextProcess() != (ProcessStarting{s.Process.Choice, s.Process.Fresh && s.nextMessage().Fresh}):
		return Stop // the client takes another choice at its start only
	}
	return Hand
}

// IsOverridden reports whether the agent lives by another choice than the session's, although it has no turn: the turn of
// a message with a choice of its own has ended.
func (s *Snapshot) IsOverridden() bool {
	return s.Process.Ready() && s.Turn == nil && s.Process.Choice != s.Input.Choice()
}

// wantsProcess reports whether the agent should run.
func (s *Snapshot) wantsProcess() bool {
	if s.Question != nil {
		return false
	}
	if s.Turn != nil && s.Turn.Cut {
		return s.canContinueTurn()
	}
	return s.Wake || len(s.Queue) > 0
}

// mustContinueTurn reports whether the turn that was cut off is to continue now.
func (s *Snapshot) mustContinueTurn() bool { return s.Turn.Cut && s.Turn.Due && s.canContinueTurn() }

// canContinueTurn reports whether no person is waited for. The next process reports how far the turn came.
func (s *Snapshot) canContinueTurn() bool { return len(s.Asks) == 0 || s.firstDecidedAsk() != nil }

// firstDecidedAsk returns the first decided ask; nil if there is none.
func (s *Snapshot) firstDecidedAsk() *Ask {
	for i := range s.Asks {
		if s.Asks[i].Decided != nil {
			return &s.Asks[i]
		}
	}
	return nil
}

// NextDecided returns the decision to send to the agent next.
func (s *Snapshot) NextDecided() Ask { return *s.firstDecidedAsk() }

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

// NextProcess returns the event that starts the next process.
func (s *Snapshot) NextProcess() ProcessStarting {
	m := s.nextMessage()
	return ProcessStarting{Choice: m.Override.Over(s.Input.Choice()), Fresh: m.Fresh}
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
