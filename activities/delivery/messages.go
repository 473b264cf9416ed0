package delivery

import (
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
	"github.com/ratchet-dev/ratchet/internal/exact"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// ProveInput asks what a session's thread does. Record holds the entries of the ledger that may be missing.
type ProveInput struct {
	Session string           `json:"session"`
	Process string           `json:"process"`
	Managed delivery.Session `json:"managed"`
	Record  []ledger.Entry   `json:"record,omitempty"`
}

// ProveResult is the result of ProveThread.
type ProveResult struct {
	Proved delivery.Proved `json:"proved"`
}

// DeliverInput is one attempt. Record holds the entries that must be durable before it is sent, its own among them.
type DeliverInput struct {
	Session string         `json:"session"`
	Process string         `json:"process"`
	Attempt delivery.Begun `json:"attempt"`
	Text    string         `json:"text"`
	Record  []ledger.Entry `json:"record"`
	Left    provider.Left  `json:"left,omitzero"` // of the budgets, for a turn of its own
}

// DeliverResult is the answer to an attempt: the turn that took it, or why it had no effect.
type DeliverResult struct {
	Turn    string           `json:"turn,omitempty"`
	At      time.Time        `json:"at,omitzero"`
	Refused delivery.Refusal `json:"refused,omitempty"` // empty: it was accepted
	Reason  string           `json:"reason,omitempty"`
}

// ReconcileInput asks what became of the attempt with the marker.
type ReconcileInput struct {
	Session string `json:"session"`
	Process string `json:"process"`
	Epoch   int    `json:"epoch"`
	Marker  string `json:"marker"`
}

// ReconcileResult is what a read shows of an attempt; members are nil if it shows nothing.
type ReconcileResult struct {
	Marked *delivery.Marked   `json:"marked,omitempty"`
	Turn   *delivery.TurnSeen `json:"turn,omitempty"`
	// Recent says that the read shows the turns of this process alone.
	Recent bool `json:"recent,omitempty"`
}

// RecordInput holds entries for the ledger.
type RecordInput struct {
	Session string         `json:"session"`
	Record  []ledger.Entry `json:"record"`
}

// Observation is what a session's process reports of its thread. At most one of Marked and Turn is there; session and epoch in
// them are empty, because the workflow alone knows the epoch.
type Observation struct {
	Process string             `json:"process"`
	Marked  *delivery.Marked   `json:"marked,omitempty"`
	Turn    *delivery.TurnSeen `json:"turn,omitempty"`
}

// EnqueueUpdate is the name of the update that gives a session's workflow a batch. It takes an EnqueueInput and returns a
// Receipt. A batch that is given twice is one batch.
const EnqueueUpdate = "enqueue-delivery"

// InvalidError is the type of the error for a message that can never be taken.
const InvalidError = "InvalidDelivery"

// EnqueueInput is a batch for a session, whose thread its sender need not know.
type EnqueueInput struct {
	ID         string           `json:"id"`
	Jobs       []delivery.Job   `json:"jobs"`
	Profile    delivery.Profile `json:"profile,omitzero"`
	ReservedBy string           `json:"reservedBy,omitempty"`
}

// UnmarshalJSON refuses unknown members.
func (p *EnqueueInput) UnmarshalJSON(b []byte) error {
	type plain EnqueueInput
	if err := exact.Decode(b, (*plain)(p)); err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	return nil
}

// Receipt says that a session's workflow has a batch.
type Receipt struct {
	Batch   string `json:"batch"`
	Waiting int    `json:"waiting"` // open batches, this one included
}
