package delivery

import (
	"slices"
	"strings"
	"time"
)

// beginAttempt records an attempt before its request is sent (1). The gate decides again.
func (f *fold) beginAttempt(p Begun) error {
	if err := f.admitAttempt(p, f.now); err != nil {
		return err
	}
	e := f.findEntry(p.Batch)
	e.Generation++
	if n := len(e.Attempts) + 1 - maxAttemptsKept; n > 0 {
		e.Attempts = e.Attempts[n:]
	}
	e.Attempts = append(e.Attempts, Attempt{
		Generation: e.Generation, State: AcceptPending, RPC: PendingAcceptance,
		RequestID: p.RequestID, Marker: p.Marker, Kind: p.Kind, Expected: p.Expected, Adapter: p.Adapter, Mode: f.Mode,
		Session: p.Session, Epoch: p.Epoch, ActivityRevision: p.ActivityRevision, CapabilityRevision: p.CapabilityRevision,
		StartedAt: f.now,
	})
	f.addAuditLine(AuditAllow, e, e.newestAttempt(), string(p.Kind))
	f.addAuditLine(AuditStart, e, e.newestAttempt(), "")
	return nil
}

// byRequest returns the newest attempt of an open batch if it has the request id.
func (f *fold) byRequest(id string) (*Entry, *Attempt) {
	for i := range f.Queue {
		if a := f.Queue[i].newestAttempt(); a != nil && a.RequestID == id {
			return &f.Queue[i], a
		}
	}
	return nil, nil
}

// takeAnswer takes the answer to a request (3, 4).
func (f *fold) takeAnswer(p Accepted) error {
	e, a := f.findAttempt(func(a *Attempt) bool { return a.RequestID == p.RequestID })
	switch {
	case a == nil || p.Turn == "" || p.Session != a.Session || p.Epoch != a.Epoch:
		return outOfTurn("acceptance of request %s", p.RequestID)
	case a.State == AcceptPending:
		return f.acceptAttempt(e, a, p.Turn, p.At, AuditAccepted)
	case a.Turn != p.Turn:
		return outOfTurn("request %s is accepted by turn %s and by %s", p.RequestID, a.Turn, p.Turn)
	}
	return nil
}

// acceptAttempt charges the attempt and begins its observation, if everything that admitted it still
// holds (3). A steer that another turn took than the expected one is ambiguous.
func (f *fold) acceptAttempt(e *Entry, a *Attempt, turn string, at time.Time, line Audit) error {
	if err := f.checkHeld(e, a); err != nil {
		return err
	}
	e.Charged++
	f.LastAccepted = f.now
	a.State, a.RPC, a.Observation = Cooldown, AcceptedRPC, Tracking
	a.Turn, a.AcceptedAt, a.Deadline = turn, at, at.Add(f.Limits.observationLimit())
	f.addAuditLine(line, e, a, "turn "+turn)
	if a.Kind == TurnSteer && turn != a.Expected {
		f.manualize(e, a, Unobserved, "accepted by turn "+turn+" instead of "+a.Expected)
	}
	return nil
}

// checkHeld returns an error unless everything that admitted the attempt still holds.
func (f *fold) checkHeld(e *Entry, a *Attempt) error {
	c := f.Session.Capabilities
	switch {
	case f.findEntry(e.Batch.ID) == nil || e.newestAttempt() != a || !f.isCurrent(a):
		return outOfTurn("attempt %d is not the current one", a.Generation)
	case c.Epoch != a.Epoch || !c.Minimum() || a.Kind == TurnSteer && !(c.Steer.Gate && c.TurnSteer()):
		return outOfTurn("the capabilities of epoch %d", a.Epoch)
	case e.Charged >= MaxAttempts:
		return outOfTurn("batch %s was accepted %d times", e.Batch.ID, e.Charged)
	}
	if err := f.admitBatch(e, a.Adapter); err != nil {
		return outOfTurn("%v", err)
	}
	if err := f.admitSession(e); err != nil {
		return outOfTurn("%v", err)
	}
	return nil
}

// takeRefusal ends an attempt that had no effect (5, 6). It charges nothing.
func (f *fold) takeRefusal(p Refused) error {
	e, a := f.byRequest(p.RequestID)
	if a == nil || a.State != AcceptPending || e != f.Head() || !f.isCurrent(a) {
		return outOfTurn("refusal of request %s", p.RequestID)
	}
	if !slices.Contains(Refusals, p.Class) {
		return outOfTurn("unknown refusal %q", p.Class)
	}
	a.RPC = RejectedBeforeAccept
	f.addAuditLine(AuditRejected, e, a, string(p.Class)+": "+p.Reason)
	if p.Class == Permanent {
		f.manualize(e, a, Unobserved, "refused permanently: "+p.Reason)
		return nil
	}
	a.State, a.Observation = Abandoned, Unobserved
	f.Session.beginEpoch()
	switch p.Class {
	case Lost:
		f.Session.State = Detached
	case Busy:
		e.NotBefore = f.now.Add(RetryPause)
	}
	return nil
}

// takeMarker takes the observation of an attempt's marker in a turn. It accepts an attempt whose answer is
// missing (8), and says that an accepted message was taken in. A turn of its own must begin with the
// message, and a steer must not: otherwise the message went into a turn that was not proved.
func (f *fold) takeMarker(p Marked) error {
	e, a := f.findAttempt(func(a *Attempt) bool { return a.Marker == p.Marker })
	if a == nil || p.Turn == "" || p.Session != a.Session || f.findEntry(e.Batch.ID) == nil {
		return outOfTurn("marker %s in turn %s", p.Marker, p.Turn)
	}
	switch {
	case a.State == AcceptPending && p.Epoch == a.Epoch:
		if err := f.acceptAttempt(e, a, p.Turn, p.At, AuditReconciled); err != nil {
			return err
		}
	case a.Turn != p.Turn:
		return outOfTurn("marker %s in turn %s instead of %s", p.Marker, p.Turn, a.Turn)
	case a.State == Cooldown && p.Epoch == a.Epoch && f.isCurrent(a):
	case a.State == Abandoned && a.Observation == Expired:
		a.Marked = p.First == (a.Kind == TurnStart)
		return nil
	default:
		return outOfTurn("marker %s, epoch %d", p.Marker, p.Epoch)
	}
	a.Marked = true
	if a.State == Cooldown && p.First != (a.Kind == TurnStart) {
		f.manualize(e, a, Unobserved, "the message joined or started a turn that was not proved")
	}
	return nil
}

// takeTurnEvent takes an observation of a turn (10 to 13, 15, 17 to 19, 21).
func (f *fold) takeTurnEvent(p TurnSeen) error {
	e, a := f.findAttempt(func(a *Attempt) bool { return p.Turn != "" && a.Turn == p.Turn })
	if a == nil || p.What != TurnStarted && !p.What.Terminal() {
		return outOfTurn("%s of turn %s", p.What, p.Turn)
	}
	switch {
	case a.State == Cooldown:
		f.trackTurn(e, a, p)
		return nil
	case p.What.Terminal() && a.LastEvent == p.What: // 19
		return nil
	case a.State == Abandoned && p.What.Terminal() && (a.LastEvent == "" || a.LastEvent == TurnStarted):
		f.takeLateEnd(e, a, p)
		return nil
	}
	return outOfTurn("%s of turn %s, whose attempt is %s", p.What, p.Turn, a.State)
}

// trackTurn takes an event of the turn that is observed.
func (f *fold) trackTurn(e *Entry, a *Attempt, p TurnSeen) {
	line := AuditObserved
	if p.Read {
		line = AuditReconciled
	}
	f.addAuditLine(line, e, a, string(p.What))
	switch same := p.Session == a.Session && p.Epoch == a.Epoch && f.isCurrent(a); {
	case !same: // 15
		a.LastEvent = p.What
		f.manualize(e, a, Unobserved, "seen in another epoch")
	case !p.At.Before(a.Deadline): // 13
		a.LastEvent = p.What
		f.manualize(e, a, Expired, "seen after the deadline")
	case p.What == TurnStarted: // 10
		a.LastEvent = p.What
	case p.What != TurnCompleted: // 12
		a.LastEvent = p.What
		f.manualize(e, a, Unobserved, string(p.What))
	case !a.Marked:
		a.LastEvent = p.What
		f.manualize(e, a, Unobserved, "the turn completed without the message")
	case e != f.Head() || e.Replay != Automatic || e.newestAttempt() != a:
		a.LastEvent = p.What
		f.manualize(e, a, Unobserved, "the batch is not the head")
	default: // 11
		f.closeDelivered(e, a, p)
	}
}

// takeLateEnd takes a terminal event of an abandoned attempt. It corrects an expiry if the turn had
// completed in time and nothing else has happened since (17). Otherwise it is evidence for a person (18).
func (f *fold) takeLateEnd(e *Entry, a *Attempt, p TurnSeen) {
	f.addAuditLine(AuditObserved, e, a, "late "+string(p.What))
	corrects := a.Observation == Expired && p.What == TurnCompleted && p.At.Before(a.Deadline) && p.Session == a.Session &&
		a.Marked && a.ActivityRevision > 0 && a.CapabilityRevision > 0 && e == f.Head() && e.newestAttempt() == a
	if corrects {
		f.closeDelivered(e, a, p)
		return
	}
	a.LastEvent = p.What
}

// closeDelivered closes the batch. The next delivery needs a proof of its own.
func (f *fold) closeDelivered(e *Entry, a *Attempt, p TurnSeen) {
	a.State, a.Observation, a.LastEvent = Finished, ObservedComplete, p.What
	f.Session.beginEpoch()
	f.closeBatch(e, Delivered)
}

// giveUpAnswer ends an attempt whose request has no answer (9).
func (f *fold) giveUpAnswer(p Stale) error {
	e, a := f.byRequest(p.RequestID)
	if a == nil || a.State != AcceptPending || f.now.Sub(a.StartedAt) < AcceptLimit {
		return outOfTurn("request %s", p.RequestID)
	}
	a.RPC = UnknownRPC
	f.manualize(e, a, Unobserved, "it may or may not have been accepted")
	return nil
}

// loseAnswer ends an attempt whose request can have no answer any more (9): its epoch has ended, in which alone one would
// count.
func (f *fold) loseAnswer(p Unanswered) error {
	e, a := f.byRequest(p.RequestID)
	if a == nil || a.State != AcceptPending || f.isCurrent(a) {
		return outOfTurn("request %s", p.RequestID)
	}
	a.RPC = UnknownRPC
	f.manualize(e, a, Unobserved, strings.TrimSuffix("its process ended before it answered: "+p.Shown, ": "))
	return nil
}

// giveUpTurn ends the observation of a turn (14).
func (f *fold) giveUpTurn(p ObservationExpired) error {
	e, a := f.byRequest(p.RequestID)
	if a == nil || a.State != Cooldown || f.now.Before(a.Deadline) {
		return outOfTurn("request %s", p.RequestID)
	}
	o := Unobserved
	if f.isCurrent(a) {
		o = Expired
	}
	f.manualize(e, a, o, "the deadline has passed")
	return nil
}

// manualize gives the batch to a person and parks the session. The proofs of the epoch end with it.
func (f *fold) manualize(e *Entry, a *Attempt, o Observation, reason string) {
	a.State, a.Observation = Abandoned, o
	e.Replay = Manual
	if until := f.now.Add(ResolutionWindow); until.After(e.Until) {
		e.Until = until
	}
	f.addAuditLine(AuditManualized, e, a, reason)
	f.Session.beginEpoch()
	if f.Session.State != Retired {
		f.Session.State = Parked
	}
}
