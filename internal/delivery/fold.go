package delivery

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrTransition is the error for an event that is out of turn. Such an event changes nothing.
var ErrTransition = errors.New("not a transition of the contract")

// The errors of events about the session, by the codes of the contract.
var (
	ErrPendingResolution = fmt.Errorf("session_pending_manual_resolution: a result is still being sent, or waits for a person: %w", ErrTransition)
	ErrProfileMismatch   = fmt.Errorf("session_profile_mismatch: the thread has another managed session: %w", ErrTransition)
)

func outOfTurn(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrTransition)...)
}

// Apply folds one event into the snapshot and returns the audit entries about it. For an event that is
// out of turn it returns an error that wraps ErrTransition or ErrRefused, and leaves the snapshot
// unchanged.
func (s *Snapshot) Apply(e Event) ([]Line, error) {
	if e.Payload == nil || e.Seq != s.Seq+1 || e.Type != e.Payload.Type() {
		return nil, outOfTurn("event %d %s instead of event %d", e.Seq, e.Type, s.Seq+1)
	}
	if _, first := e.Payload.(Opened); first != (s.Seq == 0) {
		return nil, outOfTurn("event %d is %s", e.Seq, e.Type)
	}
	f := fold{Snapshot: s, now: e.TS}
	if err := f.apply(e.Payload); err != nil {
		return nil, fmt.Errorf("event %d %s: %w", e.Seq, e.Type, err)
	}
	s.Seq = e.Seq
	return f.lines, nil
}

// fold is the application of one event. Its methods check everything before they change anything. The
// numbers in their comments are the rows of the table of docs/contracts/delivery.md, 3.
type fold struct {
	*Snapshot
	now   time.Time
	lines []Line
}

func (f *fold) apply(p Payload) error {
	switch p := p.(type) {
	case Opened:
		return f.openThread(p)
	case Bound:
		return f.bindSession(p)
	case SessionRetired:
		return f.retireSession(p)
	case Proved:
		return f.takeProofs(p)
	case Invalidated:
		return f.endEpoch(p)
	case Enqueued:
		return f.enqueueBatch(p.Batch)
	case Begun:
		return f.beginAttempt(p)
	case Accepted:
		return f.takeAnswer(p)
	case Refused:
		return f.takeRefusal(p)
	case Marked:
		return f.takeMarker(p)
	case TurnSeen:
		return f.takeTurnEvent(p)
	case Stale:
		return f.giveUpAnswer(p)
	case Unanswered:
		return f.loseAnswer(p)
	case ObservationExpired:
		return f.giveUpTurn(p)
	case WindowPassed:
		return f.windowPassed(p)
	case Closed:
		return f.closeByPerson(p)
	}
	return outOfTurn("unknown payload %T", p)
}

func (f *fold) openThread(p Opened) error {
	if err := validID("thread id", p.Thread); err != nil {
		return outOfTurn("%v", err)
	}
	if err := p.Limits.Validate(); err != nil {
		return outOfTurn("%v", err)
	}
	if p.Mode != "" && !slices.Contains(Modes, p.Mode) {
		return outOfTurn("unknown mode %q", p.Mode)
	}
	f.Thread, f.Mode, f.Limits = p.Thread, p.Mode, p.Limits
	return nil
}

// bindSession begins an epoch. While an attempt is active or the head waits for a person nothing is
// bound: those are judged by the proof of the old epoch.
func (f *fold) bindSession(p Bound) error {
	again := f.Session.ID == p.Session
	switch {
	case p.Session == "" || p.Adapter == "" || p.Thread != f.Thread:
		return outOfTurn("session %q of thread %q", p.Session, p.Thread)
	case f.InFlight() != nil || f.waitsForPerson():
		return ErrPendingResolution
	case f.Session.ID != "" && !again && f.Session.State != Retired:
		return ErrProfileMismatch
	case again && (f.Session.State == Retired || f.Session.Adapter != p.Adapter):
		return ErrProfileMismatch
	}
	if !again {
		f.Session = Session{ID: p.Session, Thread: p.Thread, Adapter: p.Adapter}
	}
	f.Session.State = Live
	f.Session.beginEpoch()
	return nil
}

func (f *fold) waitsForPerson() bool { return f.Head() != nil && f.Head().Replay == Manual }

func (f *fold) retireSession(p SessionRetired) error {
	switch {
	case p.Session != f.Session.ID || f.Session.State == Live || f.Session.State == Retired:
		return outOfTurn("session %s is %s", f.Session.ID, f.Session.State)
	case f.InFlight() != nil || f.waitsForPerson():
		return ErrPendingResolution
	}
	f.Session.State = Retired
	f.Session.beginEpoch()
	return nil
}

// takeProofs takes the proofs of a read. A proof that is reported twice must be the same both times.
func (f *fold) takeProofs(p Proved) error {
	s := &f.Session
	if p.Session != s.ID || p.Epoch != s.Epoch || s.State != Live {
		return outOfTurn("proof of session %s, epoch %d", p.Session, p.Epoch)
	}
	if a := p.Activity; a != nil && !(a.Epoch == s.Epoch && (a.Revision == s.Activity.Revision+1 || *a == s.Activity)) {
		return outOfTurn("activity revision %d instead of %d", a.Revision, s.Activity.Revision+1)
	}
	if c := p.Capabilities; c != nil && !(c.Epoch == s.Epoch && (c.Revision == s.Capabilities.Revision+1 || *c == s.Capabilities)) {
		return outOfTurn("capability revision %d instead of %d", c.Revision, s.Capabilities.Revision+1)
	}
	if q := p.Permissions; q != nil && !(q.Epoch == s.Epoch && (q.Revision == s.Permissions.Revision+1 || q.equals(s.Permissions))) {
		return outOfTurn("permission revision %d instead of %d", q.Revision, s.Permissions.Revision+1)
	}
	if p.Activity != nil {
		s.Activity, s.View = *p.Activity, p.View // a view is of the read that it came with
	}
	if p.Capabilities != nil {
		s.Capabilities = *p.Capabilities
	}
	if p.Permissions != nil {
		s.Permissions = *p.Permissions
		s.Startup = cmp.Or(s.Startup, p.Permissions.Current)
	}
	return nil
}

func (p PermissionProof) equals(q PermissionProof) bool {
	same := (p.Current == nil) == (q.Current == nil) && (p.Current == nil || *p.Current == *q.Current)
	return same && p.Epoch == q.Epoch && p.Revision == q.Revision
}

// endEpoch ends the epoch (16). A request whose acceptance is pending stays so: its
// answer may still come.
func (f *fold) endEpoch(p Invalidated) error {
	if p.Session != f.Session.ID || p.Epoch != f.Session.Epoch || f.Session.State == Retired || f.Session.ID == "" {
		return outOfTurn("continuity of session %s, epoch %d", p.Session, p.Epoch)
	}
	manual := false
	for i := range f.Queue {
		e := &f.Queue[i]
		a := e.newestAttempt()
		switch {
		case a == nil:
		case a.State == Cooldown:
			f.manualize(e, a, Unobserved, "continuity lost: "+p.Reason)
			manual = true
		case a.State == Abandoned && a.Observation == Expired:
			a.Observation = Unobserved
		}
	}
	if !manual { // else the epoch has ended already
		f.Session.beginEpoch()
	}
	if p.Gone && f.Session.State == Live {
		f.Session.State = Detached
	}
	return nil
}

func (f *fold) enqueueBatch(b Batch) error {
	if err := b.Validate(); err != nil {
		return outOfTurn("%v", err)
	}
	switch {
	case b.Thread != f.Thread:
		return outOfTurn("batch %s is for thread %s", b.ID, b.Thread)
	case f.Known(b.ID) != nil:
		return outOfTurn("batch %s exists already", b.ID)
	case len(f.Queue) >= MaxQueued || f.queuedBytes()+b.Bytes() > MaxQueuedBytes:
		return fmt.Errorf("%w: %w", ErrFull, ErrTransition)
	}
	f.Queue = append(f.Queue, Entry{Batch: b, CreatedAt: f.now, Replay: Automatic, Until: f.now.Add(RedeliveryWindow)})
	return nil
}

// windowPassed closes a batch whose window is over and that has no active attempt.
func (f *fold) windowPassed(p WindowPassed) error {
	e := f.findEntry(p.Batch)
	if e == nil || f.now.Before(e.Until) || e.activeAttempt() != nil {
		return outOfTurn("the window of batch %s", p.Batch)
	}
	reason := WindowExhausted
	if e.Replay == Manual {
		reason = ResolutionPassed
	}
	f.closeBatch(e, reason)
	return nil
}

// closeByPerson takes the decision of a person (20). The head can be closed whatever its attempt does;
// any other batch can only be cancelled.
func (f *fold) closeByPerson(p Closed) error {
	e := f.findEntry(p.Batch)
	if e == nil {
		return outOfTurn("batch %s is not open", p.Batch)
	}
	head, a := e == f.Head(), e.activeAttempt()
	switch {
	case (p.Reason == Confirmed || p.Reason == Unconfirmed) && head:
	case p.Reason == Cancelled && a == nil && e.Replay == Automatic:
	default:
		return outOfTurn("batch %s cannot be closed as %q", p.Batch, p.Reason)
	}
	if a != nil {
		a.State = Finished
		f.Session.beginEpoch()
	}
	e.By, e.Note = p.By, p.Note
	f.closeBatch(e, p.Reason)
	return nil
}

// closeBatch moves the batch to the closed ones. The entry is no longer valid afterwards.
func (f *fold) closeBatch(e *Entry, reason Close) {
	e.Close, e.ClosedAt = reason, f.now
	done := *e
	f.Queue = slices.DeleteFunc(f.Queue, func(q Entry) bool { return q.Batch.ID == done.Batch.ID })
	f.Closed = KeepClosed(f.Closed, done)
}
