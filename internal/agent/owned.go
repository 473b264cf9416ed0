package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// Owned is the account of a thread whose every turn its one owner begins: a client of one process, over standard input
// and output, that begins no turn by itself. For a client that cannot be asked for its thread, this account is the read.
// The zero Owned has no turns. It is not safe for concurrent use.
type Owned struct {
	turns  []ThreadTurn
	active string
}

// keptTurns bounds the turns of an account.
const keptTurns = 64

// Begin notes that a message with the marker has begun a turn, or is about to.
func (o *Owned) Begin(turn, marker string) {
	o.turns = append(o.turns[max(len(o.turns)+1-keptTurns, 0):], ThreadTurn{ID: turn, Status: "inProgress", Markers: []string{marker}})
	o.active = turn
}

// Forget notes that the turn was not begun.
func (o *Owned) Forget(turn string) {
	o.turns = slices.DeleteFunc(o.turns, func(t ThreadTurn) bool { return t.ID == turn })
	o.active = ""
}

// End notes that the client reported the end of the turn.
func (o *Owned) End(turn string, status TurnStatus) {
	for i := range o.turns {
		if o.turns[i].ID == turn {
			o.turns[i].Status, o.turns[i].Ended = string(status), true
		}
	}
	o.active = ""
}

// Thread returns the account as a read.
func (o *Owned) Thread(id string, allows *delivery.Allows) Thread {
	t := Thread{ID: id, Status: "idle", Allows: allows, Turns: slices.Clone(o.turns), Recent: true}
	if o.active != "" {
		t.Status, t.Active = "active", []ActiveTurn{{ID: o.active, Kind: delivery.RegularTurn}}
	}
	return t
}

// CheckOwned returns the refusal of a delivery that no session with an Owned account begins: one whose caller waits no more,
// a steer, or one that is malformed. It is nil for any other.
func (d Delivery) CheckOwned(ctx context.Context, noSteer, malformed error) error {
	switch {
	case ctx.Err() != nil:
		return &Refused{Class: delivery.NotSent, Cause: ctx.Err()}
	case d.Expected != "":
		return &Refused{Class: delivery.Benign, Cause: noSteer}
	case malformed != nil:
		return &Refused{Class: delivery.Permanent, Cause: malformed}
	}
	return nil
}

// RefuseOwned returns the refusal of a delivery whose turn did not begin: nothing was sent.
func RefuseOwned(err error) error {
	class := delivery.Benign
	if errors.Is(err, ErrGone) {
		class = delivery.NotSent
	}
	return &Refused{Class: class, Cause: err}
}

// OwnedCapabilities are the capabilities of a session with an Owned account: a turn of its own in an idle thread, and no
// steer.
func OwnedCapabilities() delivery.Capabilities {
	return delivery.Capabilities{ThreadStart: true, ThreadResume: true, TurnStart: true, CurrentStateSync: true, TurnCompleted: true, NegativeEnds: true}
}
