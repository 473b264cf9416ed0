package marker

import (
	"errors"
	"os"
)

// Presence holds the known facts about the session that would read a citizen's mail. The zero
// Presence knows of no reader: an unknown fact does not count (docs/contracts/dispatch.md, 12).
type Presence struct {
	RecordBacked bool // the citizen has a record
	OwnerAlive   bool // the process of its session runs
	WatchArmed   bool // and is woken by the mailbox's signal
}

// Active reports whether a session would read the mail. The reason says in a few words why or why
// not.
func (p Presence) Active() (active bool, reason string) {
	switch {
	case !p.RecordBacked:
		return false, "it has no record"
	case !p.OwnerAlive:
		return false, "its session has no known process"
	case !p.WatchArmed:
		return false, "nothing watches its mailbox, so no session would read mail"
	}
	return true, "its session runs and watches its mailbox"
}

// PresenceOf returns the presence of a citizen that has a record. c is taken from that record.
//
// A receiver marker stays behind when its process switches to another session: process and start
// key still match, and mail to the old session would be lost (docs/contracts/dispatch.md, 13). The
// process's sender marker then names the new session. The watch therefore counts as armed unless
// that marker exists and names another citizen. Requiring a sender marker that names this citizen
// would be stricter, but hooks write it as best they can, and still arm the watch when they could
// not.
func PresenceOf(receivers, senders string, c Citizen) Presence {
	p := Presence{RecordBacked: true}
	m, err := ReadReceiver(receivers, c.GardenID)
	if err != nil || m.Citizen != c {
		return p
	}
	p.OwnerAlive = true
	now, err := ReadSender(SenderPath(senders, c.Backend, m.Owner.PID))
	p.WatchArmed = err != nil || now.GardenID == c.GardenID
	return p
}

// Remove takes the markers of a citizen's process away. It leaves those that name another process or, after the
// process has gone over to another session, another citizen. A second call does nothing.
func Remove(receivers, senders string, c Citizen, o Owner) error {
	var errs []error
	if m, err := ReadReceiver(receivers, c.GardenID); err == nil && m.Citizen == c && m.Owner == o {
		errs = append(errs, os.Remove(ReceiverPath(receivers, c.GardenID)))
	}
	path := SenderPath(senders, c.Backend, o.PID)
	if m, err := ReadSender(path); err == nil && m.Citizen == c && m.Owner == o {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}
