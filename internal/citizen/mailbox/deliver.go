package mailbox

import (
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Deliverability says whether mail would wake somebody who reads it, and why or
// why not: the reason tells a backend that has no use for mail from a session
// that is not there. Its zero value is no.
type Deliverability struct {
	Deliverable bool   `json:"deliverable"`
	Reason      string `json:"reason"`
}

// Decide is the rule (docs/contracts/dispatch.md, 12). The backend comes first: where mail
// would lie unread, a marker changes nothing.
func Decide(wake dispatch.Capability, p marker.Presence) Deliverability {
	if wake != dispatch.SelfFetch {
		return Deliverability{Reason: fmt.Sprintf("wake mode %q: sessions of this backend read no mailbox", string(wake))}
	}
	active, reason := p.Active()
	return Deliverability{Deliverable: active, Reason: "receiver: " + reason}
}

// Deliverability looks at a citizen's markers. It makes nothing, and what cannot
// be read counts for nothing.
func (m Mailboxes) Deliverability(r citizen.Record) Deliverability {
	return Decide(r.Backend.Capability(), marker.PresenceOf(m.Dirs.Receivers, m.Dirs.Senders, r.Citizen()))
}
