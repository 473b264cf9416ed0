package marker

// Presence is what is known of whoever would read a citizen's mail. The zero
// Presence is nobody: what is not known does not count (docs/contracts/dispatch.md, 12).
type Presence struct {
	RecordBacked bool // the citizen has a record
	OwnerAlive   bool // the process of its session runs
	WatchArmed   bool // and is woken by the mailbox's signal
}

// Active says whether somebody would, and in a few words why or why not.
func (p Presence) Active() (active bool, reason string) {
	switch {
	case !p.RecordBacked:
		return false, "no record backs it"
	case !p.OwnerAlive:
		return false, "no process of its session is known to run"
	case !p.WatchArmed:
		return false, "nothing watches its mailbox, so mail would wake nobody"
	}
	return true, "its session runs and watches its mailbox"
}

// PresenceOf is the presence of a citizen that has a record, which c is taken
// from.
//
// A receiver marker stays behind when its process goes over to another session:
// process and start key still match, and mail to the old one would be lost
// (docs/contracts/dispatch.md, 13). The process's sender marker then names the new session.
// So the watch counts as armed unless that marker, where there is one, names
// another citizen. To ask for one that names this citizen would be stricter, but
// hooks write it as best they can, and go on to arm the watch when they could not.
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
