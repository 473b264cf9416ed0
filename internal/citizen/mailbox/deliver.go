package mailbox

import (
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Deliverability reports whether mail would wake a session that reads it. The reason says why or
// why not: it tells a backend that has no use for mail from a session that is not there. The zero
// value is not deliverable.
type Deliverability struct {
	Deliverable bool   `json:"deliverable"`
	Reason      string `json:"reason"`
}

// DecideDelivery applies the rule (docs/contracts/dispatch.md, 12). The backend comes first: where mail
// would lie unread, a marker changes nothing.
func DecideDelivery(wake dispatch.Capability, p marker.Presence) Deliverability {
	if wake != dispatch.SelfFetch {
		return Deliverability{Reason: fmt.Sprintf("wake mode %q: sessions of this backend do not read mail", string(wake))}
	}
	active, reason := p.Active()
	return Deliverability{Deliverable: active, Reason: "receiver: " + reason}
}

// Deliverability inspects a citizen's markers. It creates nothing, and a marker that cannot be read
// counts for nothing.
func (m Mailboxes) Deliverability(r citizen.Record) Deliverability {
	return DecideDelivery(r.Backend.Capability(), marker.PresenceOf(m.Dirs.Receivers, m.Dirs.Senders, r.Citizen()))
}
