// Package delivery holds the contract of turn delivery: how the result of background work reaches the
// agent session that waits for it, at most once (docs/contracts/delivery.md). It defines the words, the
// batches, what must be proved of a session before anything is sent into it, the decision whether and
// how to send, and the fold of the attempts. The package is pure: no I/O, no clock, no Temporal. A
// workflow carries the decisions out, and an adapter of package agent sends.
//
// The package has no optimistic default. A fact that is absent, unknown, stale or ambiguous counts
// against a delivery, and every attempt whose end is not proved goes to a person.
package delivery

import (
	"slices"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// RPCKind is the request that carries an attempt.
type RPCKind string

// The kinds of requests.
const (
	TurnStart RPCKind = "turn_start" // a turn of its own, in an idle thread
	TurnSteer RPCKind = "turn_steer" // into the active turn
)

func (k *RPCKind) UnmarshalText(b []byte) error {
	return exact.Word(k, b, "rpc kind", TurnStart, TurnSteer)
}

// AttemptState is the state of one attempt.
type AttemptState string

// The states of an attempt. The first two are active: see Attempt.Active.
const (
	AcceptPending AttemptState = "accept_pending" // recorded; the request may have been sent
	Cooldown      AttemptState = "cooldown"       // accepted; its turn is observed
	Finished      AttemptState = "closed"
	Abandoned     AttemptState = "abandoned"
)

func (s *AttemptState) UnmarshalText(b []byte) error {
	return exact.Word(s, b, "attempt state", AcceptPending, Cooldown, Finished, Abandoned)
}

// RPCState says how far the request is known to have come.
type RPCState string

// The states of a request.
const (
	PendingAcceptance    RPCState = "pending_acceptance"
	AcceptedRPC          RPCState = "accepted"
	RejectedBeforeAccept RPCState = "rejected_before_accept"
	UnknownRPC           RPCState = "unknown"
)

func (s *RPCState) UnmarshalText(b []byte) error {
	return exact.Word(s, b, "rpc state", PendingAcceptance, AcceptedRPC, RejectedBeforeAccept, UnknownRPC)
}

// Observation says how far the turn of an accepted attempt was observed. It is empty before the
// acceptance.
type Observation string

// The states of an observation. Expired says that continuity was intact when the deadline passed:
// the one state that a late completion can correct.
const (
	Tracking         Observation = "tracking"
	ObservedComplete Observation = "completed"
	Expired          Observation = "expired"
	Unobserved       Observation = "abandoned"
)

func (o *Observation) UnmarshalText(b []byte) error {
	return exact.Word(o, b, "observation", Tracking, ObservedComplete, Expired, Unobserved)
}

// Replay says whether a batch may be delivered without a person.
type Replay string

// The policies of a batch. Nothing makes a batch automatic again.
const (
	Automatic Replay = "automatic"
	Manual    Replay = "manual_resolution_only"
)

func (r *Replay) UnmarshalText(b []byte) error {
	return exact.Word(r, b, "replay policy", Automatic, Manual)
}

// Mode is how much a delivery must be proved harmless.
type Mode string

// The modes. Whatever is not TrustedAll counts as StrictSafe, the zero Mode included. TrustedAll leaves
// out the profile of the batch and the permissions of the session, and nothing else.
const (
	StrictSafe Mode = "strict_safe"
	TrustedAll Mode = "trusted_all"
)

// Modes lists every mode.
var Modes = []Mode{StrictSafe, TrustedAll}

func (m *Mode) UnmarshalText(b []byte) error { return exact.Word(m, b, "mode", Modes...) }

// TurnKind is the kind of a turn.
type TurnKind string

// The kinds. A turn that was not seen from its beginning has an unknown one.
const (
	RegularTurn TurnKind = "regular"
	OtherTurn   TurnKind = "non_regular" // a compaction, a review
	UnknownTurn TurnKind = "unknown"
)

func (k *TurnKind) UnmarshalText(b []byte) error {
	return exact.Word(k, b, "turn kind", RegularTurn, OtherTurn, UnknownTurn)
}

// Risk is the risk class of a turn.
type Risk string

// The classes. Only a turn of LowRisk may be steered.
const (
	LowRisk     Risk = "read_only_low_risk"
	MixedRisk   Risk = "mixed"
	UnknownRisk Risk = "unknown"
)

func (r *Risk) UnmarshalText(b []byte) error {
	return exact.Word(r, b, "risk class", LowRisk, MixedRisk, UnknownRisk)
}

// Close is why a batch was closed.
type Close string

// The reasons to close a batch. Delivered comes from an observed completion and the two passed windows
// from a sweep; the others are decisions of people.
const (
	Delivered        Close = "delivered"
	Confirmed        Close = "operator_confirmed_delivery"
	Unconfirmed      Close = "operator_closed_unconfirmed"
	WindowExhausted  Close = "redelivery_window_exhausted"
	ResolutionPassed Close = "manual_resolution_expired"
	Cancelled        Close = "cancelled"
)

func (c *Close) UnmarshalText(b []byte) error {
	return exact.Word(c, b, "close reason", Delivered, Confirmed, Unconfirmed, WindowExhausted, ResolutionPassed, Cancelled)
}

// Audit is a decision in the audit.
type Audit string

// The decisions. AuditAllow and AuditStart must be durable before anything is sent.
const (
	AuditAllow      Audit = "allow"
	AuditDeny       Audit = "deny"
	AuditStart      Audit = "attempt-start"
	AuditAccepted   Audit = "accepted"
	AuditRejected   Audit = "rejected"
	AuditReconciled Audit = "reconciled"
	AuditObserved   Audit = "observed"
	AuditManualized Audit = "manualized"
)

func (a *Audit) UnmarshalText(b []byte) error {
	return exact.Word(a, b, "audit decision", AuditAllow, AuditDeny, AuditStart, AuditAccepted, AuditRejected, AuditReconciled, AuditObserved, AuditManualized)
}

// TurnEvent is an observation of a turn.
type TurnEvent string

// The events of a turn. Every end that is neither a completion nor a failure nor an interruption
// counts as TurnReplaced.
const (
	TurnStarted     TurnEvent = "turn_started"
	TurnCompleted   TurnEvent = "turn_completed"
	TurnFailed      TurnEvent = "turn_failed"
	TurnInterrupted TurnEvent = "turn_interrupted"
	TurnReplaced    TurnEvent = "turn_replaced"
)

// TurnEvents lists every event.
var TurnEvents = []TurnEvent{TurnStarted, TurnCompleted, TurnFailed, TurnInterrupted, TurnReplaced}

func (e *TurnEvent) UnmarshalText(b []byte) error {
	return exact.Word(e, b, "turn event", TurnEvents...)
}

// Terminal reports whether the event ends the turn.
func (e TurnEvent) Terminal() bool { return e != TurnStarted && slices.Contains(TurnEvents, e) }

// EndOf returns the event of a turn that ended with an agent's status.
func EndOf(status string) TurnEvent {
	switch status {
	case "completed":
		return TurnCompleted
	case "failed":
		return TurnFailed
	case "interrupted":
		return TurnInterrupted
	}
	return TurnReplaced
}

// Refusal is why a request was refused before it had any effect.
type Refusal string

// The refusals. All but Permanent leave the batch automatic.
const (
	Benign    Refusal = "benign"    // the thread was not as proved: no active turn, another one, one that takes no steer
	Lost      Refusal = "lost"      // the agent does not know the thread
	Busy      Refusal = "busy"      // the agent is overloaded
	NotSent   Refusal = "not_sent"  // nothing was written
	Permanent Refusal = "permanent" // anything else
)

// Refusals lists every refusal.
var Refusals = []Refusal{Benign, Lost, Busy, NotSent, Permanent}

func (r *Refusal) UnmarshalText(b []byte) error { return exact.Word(r, b, "refusal", Refusals...) }

// Activity is whether a thread runs a turn.
type Activity string

// The activities. Only Idle lets a turn be started. A status that is not known counts as UnknownActivity.
const (
	UnknownActivity Activity = "unknown"
	ActiveThread    Activity = "active"
	IdleThread      Activity = "idle"
)

func (a *Activity) UnmarshalText(b []byte) error {
	return exact.Word(a, b, "activity", UnknownActivity, ActiveThread, IdleThread)
}

// ActivityOf returns the activity for an agent's status of the thread. Statuses such as notLoaded and
// systemError prove nothing.
func ActivityOf(status string) Activity {
	switch status {
	case "active":
		return ActiveThread
	case "idle":
		return IdleThread
	}
	return UnknownActivity
}

// SessionState is the state of a managed session.
type SessionState string

// The states of a session.
const (
	Live     SessionState = "live"     // its process can be asked
	Detached SessionState = "detached" // it has no process; its next bind begins a new epoch
	Parked   SessionState = "parked"   // an end that was not proved waits for a person
	Retired  SessionState = "retired"  // for good
)

func (s *SessionState) UnmarshalText(b []byte) error {
	return exact.Word(s, b, "session state", Live, Detached, Parked, Retired)
}
