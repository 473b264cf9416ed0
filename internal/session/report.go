package session

import (
	"time"

	"github.com/ratchet-dev/ratchet/internal/exact"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Report is what the owner of an agent's process saw. It is a signal to the session's workflow. Exactly
// one of the members after N is set.
type Report struct {
	Epoch int `json:"epoch"` // of the process
	N     int `json:"n"`     // number of the report in the process, from 1; a repeated one counts once

	Ready       *Ready          `json:"ready,omitempty"`
	Named       *Named          `json:"named,omitempty"`
	Ended       *TurnEnded      `json:"ended,omitempty"`
	Asked       *run.Permission `json:"asked,omitempty"`
	Withdrawn   *Withdrew       `json:"withdrawn,omitempty"`
	Observation *Observation    `json:"observation,omitempty"`
}

// Ready says that the agent takes input.
type Ready struct {
	Queue string `json:"queue"` // the task queue that the owner of the process alone serves
	Agent string `json:"agent,omitempty"`
	// Watched says that the session proves what its thread does: see agent.Watched.
	Watched bool `json:"watched,omitempty"`
	// Found is what the note on disk says of the last message that was handed over; nil if there is none.
	Found *Handed `json:"found,omitempty"`
}

// Handed is a message in the note on disk.
type Handed struct {
	ID    string     `json:"id"`
	Stage Stage      `json:"stage"`
	End   *TurnEnded `json:"end,omitempty"` // of the turn, at the stage Closed
	Used  run.Usage  `json:"used,omitzero"` // so far
}

// Named says that the agent named its session, or renamed it.
type Named struct {
	Agent string `json:"agent"`
}

// Withdrew says that a tool call no longer waits for a person.
type Withdrew struct {
	CallID string `json:"callId"`
}

// TurnEnded says how a turn ended.
type TurnEnded struct {
	ID      string  `json:"id"` // of the message
	Outcome Outcome `json:"outcome"`
	// Exhausted says that the turn was ended because a budget is used up.
	Exhausted  bool      `json:"exhausted,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Answer     run.Ref   `json:"answer,omitzero"`
	Gist       string    `json:"gist,omitempty"`
	Transcript run.Ref   `json:"transcript,omitzero"`
	Usage      run.Usage `json:"usage,omitzero"`
}

// Observation is an event of a watched session's thread: see agent.TurnOpened, agent.UserMessage and
// agent.TurnClosed.
type Observation struct {
	What   ObservationKind `json:"what"`
	Turn   string          `json:"turn"`
	Marker string          `json:"marker,omitempty"`
	First  bool            `json:"first,omitempty"`
	Status string          `json:"status,omitempty"`
	At     time.Time       `json:"at"` // by the clock of the owner
}

// ObservationKind is the kind of a Observation.
type ObservationKind string

// The kinds.
const (
	TurnOpened  ObservationKind = "opened"
	UserMessage ObservationKind = "message"
	TurnClosed  ObservationKind = "closed"
)

func (k *ObservationKind) UnmarshalText(b []byte) error {
	return exact.Word(k, b, "observation", TurnOpened, UserMessage, TurnClosed)
}
