package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Watched is a session that can prove the state of its thread, and takes deliveries
// (docs/contracts/agent.md, 6). It reports every turn of the thread, also turns that others began, by the
// events TurnOpened, UserMessage and TurnClosed.
type Watched interface {
	Session

	// Thread reads the thread from its owner, and joins what the session has seen of its turns. It changes
	// nothing. After an error nothing is known of the thread.
	Thread(ctx context.Context) (Thread, error)

	// Deliver sends a message once: into the turn that d expects or, without one, as a turn of its own.
	// It returns the turn that took the message, which may be another than the expected one. The error is
	// a *Refused if the message had no effect and never will. After any other error, an end of ctx
	// included, it is not known whether the message had an effect; it must not be sent again. The turn of
	// an idle delivery ends in a Turn event, like the turn of a Send.
	//
	// An accepted message is not yet in the turn: the UserMessage event with the marker of d says so.
	Deliver(ctx context.Context, d Delivery) (turn string, err error)

	// Capabilities returns the proved capabilities of the adapter with this client. Epoch, revision and the gate of the
	// steers are not the adapter's to say.
	Capabilities() delivery.Capabilities
}

// Delivery is a message of which it must be known where it went.
type Delivery struct {
	Text string
	// Marker comes back with the message, in its UserMessage event and in reads. It must be new.
	Marker string
	// Expected is the active turn that takes the message; empty means a turn of its own.
	Expected string
	// Tokens and Cost are the rest of the session's budgets, for a turn of its own; zero is no bound. The caller ends a
	// turn that exceeds them.
	Tokens int64
	Cost   run.Micros
}

// Refused is the error for a delivery that had no effect.
type Refused struct {
	Class delivery.Refusal
	Cause error
}

func (e *Refused) Error() string { return fmt.Sprintf("delivery refused (%s): %v", e.Class, e.Cause) }

// Unwrap returns the cause.
func (e *Refused) Unwrap() error { return e.Cause }

// The events of a watched session. They are of the thread's turns, and not of the turns of Send alone.
type (
	// TurnOpened says that a turn runs.
	TurnOpened struct{ ID string }

	// UserMessage is a message of a user in a turn. Marker is empty if the message has none. First says
	// that it is the first message of the turn, and that the turn was seen from its beginning.
	UserMessage struct {
		Turn, Marker string
		First        bool
	}

	// TurnClosed ends a turn. Status is the agent's own word: see delivery.EndOf.
	TurnClosed struct {
		ID, Status string
		At         time.Time // when it was reported, by our clock
	}
)

func (TurnOpened) isEvent()  {}
func (UserMessage) isEvent() {}
func (TurnClosed) isEvent()  {}

// Thread is a read of a thread, joined with the events of the session.
type Thread struct {
	ID     string
	Status string // the agent's own word: see delivery.ActivityOf
	Flags  []string
	// Allows is what the thread's tools may do; nil if the agent did not say.
	Allows *delivery.Allows
	// Turns are the last turns, the oldest first. Recent says that they are of this process alone: what an earlier one
	// has begun is in the thread, and not among them.
	Turns  []ThreadTurn
	Recent bool
	// Active are the turns in progress, by the read and by the events of each.
	Active []ActiveTurn
}

// ThreadTurn is a turn in a read.
type ThreadTurn struct {
	ID, Status string
	// Ended says that the agent stamped its end. A terminal status without it may be false.
	Ended bool
	// Markers are the markers of its user messages in order, empty for a message without one.
	Markers []string
}

// ActiveTurn is a turn in progress.
type ActiveTurn struct {
	ID   string
	Kind delivery.TurnKind
	// Asked, Network and Wrote say what the turn was seen to do. Strange says that it did something of an
	// unknown type.
	Asked, Network, Wrote, Strange bool
}

// View returns the view of the active turn, for the managed session and the epoch of the read
// (docs/contracts/delivery.md, 6). A field is absent where the thread does not say enough.
func (t Thread) View(session string, epoch int) delivery.View {
	v := delivery.View{Thread: t.ID, Session: session, Epoch: epoch}
	if len(t.Active) != 1 || t.Active[0].ID == "" {
		return v
	}
	a := t.Active[0]
	steerable := a.Kind == delivery.RegularTurn && t.Status == "active" && len(t.Flags) == 0
	v.ID, v.Kind, v.Steerable = &a.ID, &a.Kind, &steerable
	class := delivery.UnknownRisk
	v.RiskClass = &class
	if t.Allows == nil {
		return v
	}
	approval, network, write := t.Allows.Approval || a.Asked || len(t.Flags) > 0, t.Allows.Network || a.Network, t.Allows.Write || a.Wrote
	v.RequiresApproval, v.RequiresNetwork, v.RequiresWrite = &approval, &network, &write
	switch {
	case a.Kind == delivery.UnknownTurn:
	case approval || network || write || a.Strange || a.Kind != delivery.RegularTurn:
		class = delivery.MixedRisk
	default:
		class = delivery.LowRisk
	}
	return v
}

// Marked returns the turn of the read that has a message with the marker. Alone reports whether no other
// turn has one, first whether the message is the first of its turn.
func (t Thread) Marked(marker string) (turn ThreadTurn, first, alone bool) {
	alone = true
	for _, other := range t.Turns {
		for i, m := range other.Markers {
			if m != marker || m == "" {
				continue
			}
			alone = alone && (turn.ID == "" || turn.ID == other.ID)
			turn, first = other, i == 0
		}
	}
	return turn, first, alone && turn.ID != ""
}
