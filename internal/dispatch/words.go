package dispatch

import (
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// Intent is the outcome that the caller declares. It is never inferred.
type Intent string

// The intents.
const (
	FireAndForget Intent = "fire-and-forget" // the dispatch ends with the acknowledgement
	OwnedOutcome  Intent = "owned-outcome"   // the caller owns the completion
)

// Intents lists every intent.
var Intents = []Intent{FireAndForget, OwnedOutcome}

func (i *Intent) UnmarshalText(b []byte) error { return exact.Word(i, b, "intent", Intents...) }

// Mode says how a busy target takes the message. It means nothing to a mailbox and to a resume.
type Mode string

// The modes. The zero Mode is FollowUp.
const (
	Steer    Mode = "steer"     // interrupts the current turn
	FollowUp Mode = "follow_up" // waits for the current turn
)

// Modes lists every mode.
var Modes = []Mode{Steer, FollowUp}

func (m *Mode) UnmarshalText(b []byte) error { return exact.Word(m, b, "mode", Modes...) }

// Liveness is the known state of a citizen.
type Liveness string

// The four facts. The zero Liveness is none of them: the citizen was not looked at.
const (
	Alive         Liveness = "alive"
	Dead          Liveness = "dead"          // seen to be gone
	Indeterminate Liveness = "indeterminate" // looked at, inconclusive
	Unsupported   Liveness = "unsupported"   // the backend has no liveness predicate
)

// Livenesses lists the four facts.
var Livenesses = []Liveness{Alive, Dead, Indeterminate, Unsupported}

func (l *Liveness) UnmarshalText(b []byte) error { return exact.Word(l, b, "liveness", Livenesses...) }

// Standing is the axis that the table is keyed on: the part of a liveness that bears on routing.
// Unsupported never reaches it.
type Standing string

// The standings.
const (
	Live         Standing = "live"
	Dormant      Standing = "dormant"
	Inconclusive Standing = "indeterminate"
)

var standingOf = map[Liveness]Standing{Alive: Live, Dead: Dormant, Indeterminate: Inconclusive}

// Standing returns the standing of the liveness; ok is false for Unsupported.
func (l Liveness) Standing() (s Standing, ok bool) {
	s, ok = standingOf[l]
	return s, ok
}

// Transport is the means that carries a message.
type Transport string

// The transports. No path yields TmuxLive: it is a word of the contract, and a receipt with it is
// refused.
const (
	ControlSocket Transport = "control-socket"
	SpawnBg       Transport = "spawn-bg"
	TmuxLive      Transport = "tmux-live"
	MetaMailbox   Transport = "meta-mailbox"
)

// Transports lists every transport.
var Transports = []Transport{ControlSocket, SpawnBg, TmuxLive, MetaMailbox}

func (t *Transport) UnmarshalText(b []byte) error {
	return exact.Word(t, b, "transport", Transports...)
}

// Action is the action on the target.
type Action string

// The actions.
const (
	Send   Action = "send"
	Resume Action = "resume"
)

// Actions lists every action.
var Actions = []Action{Send, Resume}

func (a *Action) UnmarshalText(b []byte) error { return exact.Word(a, b, "action", Actions...) }

// Ownership says who answers for the target's work on the message.
type Ownership string

// The ownerships.
const (
	AckOnly Ownership = "ack-only"
	Owned   Ownership = "owned"
)

// Ownerships lists every ownership.
var Ownerships = []Ownership{AckOnly, Owned}

func (o *Ownership) UnmarshalText(b []byte) error {
	return exact.Word(o, b, "ownership", Ownerships...)
}

func known[T ~string](word T, what string, set []T) error {
	if !slices.Contains(set, word) {
		return fmt.Errorf("unknown %s %q: want one of %v", what, string(word), set)
	}
	return nil
}
