package dispatch

import "github.com/ratchet-dev/ratchet/internal/exact"

// Backend is the product that a citizen is a session of.
type Backend string

// The backends. The registry is closed: there is no fifth.
const (
	ClaudeCode  Backend = "claude-code"
	Antigravity Backend = "antigravity"
	Codex       Backend = "codex"
	Pi          Backend = "pi"
)

// Backends lists every backend.
var Backends = []Backend{ClaudeCode, Antigravity, Codex, Pi}

func (b *Backend) UnmarshalText(text []byte) error {
	return exact.Word(b, text, "backend", Backends...)
}

// Probed reports whether the backend has an address at which its sessions can be probed and
// reached. Only pi has one, its control socket. The contract alone does not say whether a session
// of another backend lives. A caller that has a real predicate for it, of its own client, may own
// its outcome (docs/contracts/dispatch.md, 2.2).
func (b Backend) Probed() bool { return b == Pi }

// Capability is the way a backend's session gets a message.
type Capability string

// The capabilities.
const (
	SelfFetch    Capability = "self-fetch"    // reads its mailbox when the doorbell wakes it
	DirectInject Capability = "direct-inject" // has messages put into it; mail would lie unread
)

var capabilityOf = map[Backend]Capability{
	ClaudeCode: SelfFetch, Antigravity: DirectInject, Codex: DirectInject, Pi: DirectInject,
}

// Capability returns the backend's capability, empty for a backend that is not in the registry.
func (b Backend) Capability() Capability { return capabilityOf[b] }

// LivenessOf returns the liveness of a citizen from the result of a probe
// (docs/contracts/dispatch.md, 2.2). Probed is empty when there was no probe. Absence of proof is
// never Dead: every value other than the three results of a probe is Indeterminate.
func LivenessOf(b Backend, probed Liveness) Liveness {
	if !b.Probed() {
		return Unsupported
	}
	if _, ok := probed.Standing(); !ok {
		return Indeterminate
	}
	return probed
}
