package delivery

import (
	"errors"
	"fmt"
	"time"
)

// Reason says why a batch is not sent now.
type Reason string

// The reasons, in the order of the gate (docs/contracts/delivery.md, 4).
const (
	NotOpen      Reason = "batch_not_open"
	NotHead      Reason = "batch_not_head"
	ManualOnly   Reason = "manual_resolution_only"
	Reserved     Reason = "reserved_by_another"
	BatchPolicy  Reason = "batch_policy"
	BatchFile    Reason = "batch_requires_artifact_read"
	OtherThread  Reason = "thread_mismatch"
	OtherSession Reason = "session_mismatch"
	NotLive      Reason = "session_not_live"
	OldEpoch     Reason = "epoch_mismatch"
	NoSnapshot   Reason = "permission_snapshot_missing"
	Drifted      Reason = "permissions_drifted"
	Permitted    Reason = "session_permissions"

	Incapable     Reason = "capabilities_missing"
	Unproved      Reason = "activity_unproved"
	NotIdle       Reason = "not_idle"
	SteerOff      Reason = "steer_gate_off"
	SteerUnproved Reason = "steer_capability_unproved"
	SteerBatch    Reason = "steer_batch_not_low_risk"
	SteerSize     Reason = "steer_payload_over_cap"
	NoView        Reason = "active_turn_view_incomplete"
	OldView       Reason = "active_turn_view_stale"
	RiskyTurn     Reason = "active_turn_not_low_risk"
	Unsteerable   Reason = "active_turn_not_steerable"
	OtherTurnID   Reason = "active_turn_mismatch"

	NoBudget   Reason = "attempts_used_up"
	TooSoon    Reason = "interval_not_over"
	InFlight   Reason = "attempt_in_flight"
	Generation Reason = "generation_mismatch"
	Reused     Reason = "request_id_or_marker_reused"
)

// gateError is a refusal of the gate.
type gateError struct {
	Reason Reason
	text   string
}

func (e *gateError) Error() string { return fmt.Sprintf("%s: %s", e.Reason, e.text) }
func (e *gateError) Unwrap() error { return ErrRefused }

// ErrRefused is the error of the gate. A refused attempt writes nothing.
var ErrRefused = errors.New("the rules for results refuse the attempt")

// ReasonOf returns the reason of an error of the gate; empty for other errors.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*gateError](err); ok {
		return e.Reason
	}
	return ""
}

func refuse(r Reason, format string, args ...any) error {
	return &gateError{r, fmt.Sprintf(format, args...)}
}

// Begin returns the event that begins an attempt. A request that was recorded before with the same
// words gives the attempt that it began, and no event; with other words it is an error. An error of the
// gate wraps ErrRefused.
func (s *Snapshot) Begin(b Begun, now time.Time) (*Begun, *Attempt, error) {
	if e, a := s.findAttempt(func(a *Attempt) bool { return a.RequestID == b.RequestID }); a != nil {
		if !s.repeatsRequest(e, a, b) {
			return nil, nil, refuse(Reused, "request %s belongs to another attempt", b.RequestID)
		}
		return nil, a, nil
	}
	if err := s.admitAttempt(b, now); err != nil {
		return nil, nil, err
	}
	return &b, nil, nil
}

// repeatsRequest reports whether the request is the one that began the attempt, and nothing has changed
// since.
func (s *Snapshot) repeatsRequest(e *Entry, a *Attempt, b Begun) bool {
	return e.Batch.ID == b.Batch && a.Adapter == b.Adapter && a.Kind == b.Kind && a.Session == b.Session &&
		a.Epoch == b.Epoch && a.Marker == b.Marker && a.Generation == b.Generation && a.Expected == b.Expected &&
		a.ActivityRevision > 0 && a.CapabilityRevision > 0 && s.isCurrent(a)
}

// admitAttempt is the gate, in its order from the second step on.
func (s *Snapshot) admitAttempt(b Begun, now time.Time) error {
	e := s.findEntry(b.Batch)
	if e == nil {
		return refuse(NotOpen, "batch %s is not open", b.Batch)
	}
	if err := s.admitBatch(e, b.Adapter); err != nil {
		return err
	}
	if err := s.admitSession(e); err != nil {
		return err
	}
	if b.Session != s.Session.ID || b.Adapter != s.Session.Adapter {
		return refuse(OtherSession, "%s session %s is not the managed one", b.Adapter, b.Session)
	}
	if b.Epoch != s.Session.Epoch || b.ActivityRevision != s.Session.Activity.Revision || b.CapabilityRevision != s.Session.Capabilities.Revision {
		return refuse(OldEpoch, "the proof is of epoch %d, revisions %d and %d", b.Epoch, b.ActivityRevision, b.CapabilityRevision)
	}
	if err := s.admitKind(e, b); err != nil {
		return err
	}
	if err := s.admitTime(e, now); err != nil {
		return err
	}
	if b.Generation != e.Generation+1 {
		return refuse(Generation, "want generation %d", e.Generation+1)
	}
	return s.admitIDs(b)
}

func (s *Snapshot) admitIDs(b Begun) error {
	if err := errors.Join(validID("request id", b.RequestID), validID("marker", b.Marker)); err != nil {
		return refuse(Reused, "%v", err)
	}
	if _, a := s.findAttempt(func(a *Attempt) bool { return a.RequestID == b.RequestID || a.Marker == b.Marker }); a != nil {
		return refuse(Reused, "attempt %d has the request id or the marker", a.Generation)
	}
	return nil
}

// admitBatch is the part of the gate about the batch alone.
func (s *Snapshot) admitBatch(e *Entry, adapter string) error {
	b := e.Batch
	switch {
	case s.Head().Batch.ID != b.ID:
		return refuse(NotHead, "batch %s waits for %s", b.ID, s.Head().Batch.ID)
	case e.Replay != Automatic:
		return refuse(ManualOnly, "batch %s waits for a person", b.ID)
	case b.ReservedBy != "" && b.ReservedBy != adapter:
		return refuse(Reserved, "batch %s is reserved by %s", b.ID, b.ReservedBy)
	case s.Mode == TrustedAll:
		return nil
	case !b.Profile.Safe():
		return refuse(BatchPolicy, "batch %s may need approvals, the network or write access", b.ID)
	case b.NeedsArtifact():
		return refuse(BatchFile, "batch %s names artifacts", b.ID)
	}
	return nil
}

// admitSession is the part of the gate about the session and its permissions.
func (s *Snapshot) admitSession(e *Entry) error {
	v, p, c := s.Session.View, s.Session.Permissions, s.Session.Capabilities
	switch {
	case s.Session.State != Live:
		return refuse(NotLive, "the session is %s", s.Session.State)
	case s.Session.Thread != e.Batch.Thread:
		return refuse(OtherThread, "the session is bound to %s", s.Session.Thread)
	case v != nil && (v.Thread != e.Batch.Thread || v.Session != s.Session.ID):
		return refuse(OtherThread, "the active turn is of thread %s, session %s", v.Thread, v.Session)
	case s.Mode == TrustedAll:
		return nil
	case c.Epoch == s.Session.Epoch && !c.Minimum(): // its permissions will never be read
		return refuse(Incapable, "this agent accepts no results")
	case p.Epoch != s.Session.Epoch || p.Current == nil || s.Session.Startup == nil:
		return refuse(NoSnapshot, "the permissions are unknown in epoch %d", s.Session.Epoch)
	case s.Session.Startup.hasDrifted(*p.Current):
		return refuse(Drifted, "the session allows more than at its start")
	case p.Current.allowsAny():
		return refuse(Permitted, "the session may ask for approvals, use the network or write files")
	}
	return nil
}

// admitKind is the part of the gate about the request: whether the proofs of the epoch suffice.
func (s *Snapshot) admitKind(e *Entry, b Begun) error {
	c, a := s.Session.Capabilities, s.Session.Activity
	switch {
	case c.Epoch != s.Session.Epoch || !c.Minimum():
		return refuse(Incapable, "the adapter has not shown in epoch %d that it can deliver", s.Session.Epoch)
	case a.Epoch != s.Session.Epoch || a.Activity == UnknownActivity || a.Activity == "":
		return refuse(Unproved, "it is unknown in epoch %d whether the thread is idle", s.Session.Epoch)
	case b.Kind == TurnSteer:
		return s.admitSteer(e, b.Expected)
	case b.Kind != TurnStart || b.Expected != "":
		return refuse(Incapable, "a request of kind %q", b.Kind)
	case a.Activity != IdleThread:
		return refuse(NotIdle, "the thread is %s", a.Activity)
	}
	return nil
}

// admitSteer holds the conditions of a steer (docs/contracts/delivery.md, 2.1).
func (s *Snapshot) admitSteer(e *Entry, expected string) error {
	v := s.Session.View
	switch {
	case !s.Session.Capabilities.Steer.Gate:
		return refuse(SteerOff, "sending into a running turn is not allowed here")
	case !s.Session.Capabilities.TurnSteer():
		return refuse(SteerUnproved, "it is not proved in epoch %d that messages reach a running turn", s.Session.Epoch)
	case !e.Batch.Profile.Safe() || e.Batch.NeedsArtifact():
		return refuse(SteerBatch, "batch %s is not low-risk", e.Batch.ID)
	case e.Batch.Bytes() > MaxSteerBytes:
		return refuse(SteerSize, "batch %s has %d bytes as a message, a running turn takes %d", e.Batch.ID, e.Batch.Bytes(), MaxSteerBytes)
	case s.Session.Activity.Activity != ActiveThread || v == nil || !v.Whole():
		return refuse(NoView, "the active turn is not fully known")
	case v.Epoch != s.Session.Epoch:
		return refuse(OldView, "the active turn was seen in epoch %d", v.Epoch)
	case v.Risk() != LowRisk:
		return refuse(RiskyTurn, "the active turn is %s", v.Risk())
	case !*v.Steerable:
		return refuse(Unsteerable, "the active turn takes no messages")
	case *v.ID != expected:
		return refuse(OtherTurnID, "the active turn is %s", *v.ID)
	}
	return nil
}

// admitTime is the part of the gate about attempts before this one.
func (s *Snapshot) admitTime(e *Entry, now time.Time) error {
	switch {
	case e.Charged >= MaxAttempts:
		return refuse(NoBudget, "batch %s was accepted %d times", e.Batch.ID, e.Charged)
	case !s.LastAccepted.IsZero() && now.Before(s.LastAccepted.Add(s.Limits.interval())):
		return refuse(TooSoon, "the last delivery was accepted at %v", s.LastAccepted)
	case now.Before(e.NotBefore):
		return refuse(TooSoon, "the agent was overloaded; the next attempt is at %v", e.NotBefore)
	case s.InFlight() != nil:
		return refuse(InFlight, "an attempt is in progress")
	}
	return nil
}
