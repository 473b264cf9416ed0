package agent

import (
	"time"

	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// Prove returns what the read proves of a managed session in its epoch. Can is what the adapter is proved
// to be able to; its epoch and revision are set here.
func (t Thread) Prove(s delivery.Session, can delivery.Capabilities) delivery.Proved {
	activity := delivery.ActivityOf(t.Status)
	if activity == delivery.IdleThread && len(t.Active) > 0 {
		activity = delivery.UnknownActivity
	}
	can.Epoch, can.Revision = s.Epoch, s.Capabilities.Revision+1
	view := t.View(s.ID, s.Epoch)
	return delivery.Proved{
		Session: s.ID, Epoch: s.Epoch, Capabilities: &can, View: &view,
		Activity:    &delivery.ActivityProof{Epoch: s.Epoch, Revision: s.Activity.Revision + 1, Activity: activity},
		Permissions: &delivery.PermissionProof{Epoch: s.Epoch, Revision: s.Permissions.Revision + 1, Current: t.Allows},
	}
}

// Reconcile returns what the read shows of the message with the marker: the turn that has it and, if the
// agent stamped it, the turn's end. A marker in two turns shows nothing.
func (t Thread) Reconcile(marker, session string, epoch int, now time.Time) []delivery.Payload {
	turn, first, alone := t.Marked(marker)
	if !alone {
		return nil
	}
	seen := []delivery.Payload{delivery.Marked{Marker: marker, Turn: turn.ID, First: first, At: now, Session: session, Epoch: epoch, Read: true}}
	if turn.Ended && turn.Status != "inProgress" {
		seen = append(seen, delivery.TurnSeen{Turn: turn.ID, What: delivery.EndOf(turn.Status), At: now, Session: session, Epoch: epoch, Read: true})
	}
	return seen
}
