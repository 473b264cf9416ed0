package dispatch

import (
	"time"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// ResolveResult holds the facts of the records about a target, before anything is probed.
type ResolveResult struct {
	// Reject is the reason why the id is not a target; empty if it is a target.
	Reject     dispatch.Reason  `json:"reject,omitempty"`
	Diagnostic string           `json:"diagnostic,omitempty"`
	Backend    dispatch.Backend `json:"backend,omitempty"`
	CWD        string           `json:"cwd,omitempty"`
	// Recordless reports a session that listens and has no record. It can receive messages and
	// cannot be resumed.
	Recordless bool `json:"recordless,omitempty"`
	// Deliverable reports, for a backend without a liveness predicate, that the mailbox is
	// certainly read.
	Deliverable bool `json:"deliverable,omitempty"`
	// Session is the backend's own id of a session whose liveness its client reports and which this
	// worker resumes; empty otherwise.
	Session string `json:"session,omitempty"`
}

// NativeSession identifies a session by the id that its client uses.
type NativeSession struct {
	Backend dispatch.Backend `json:"backend,omitempty"`
	Session string           `json:"session,omitempty"`
}

// Lock identifies the lock of a target by the nonce of the dispatch that takes it.
type Lock struct {
	Target dispatch.GardenID `json:"target"`
	Nonce  string            `json:"nonce"`
}

// LockResult reports whether the lock was taken. Diagnostic names the lock and who has it.
type LockResult struct {
	OK         bool   `json:"ok"`
	Diagnostic string `json:"diagnostic,omitempty"`
}

// LookResult is the result of Look and of Ask.
type LookResult struct {
	Liveness   dispatch.Liveness `json:"liveness,omitempty"`
	Conflict   bool              `json:"conflict,omitempty"` // then there is no liveness
	Diagnostic string            `json:"diagnostic,omitempty"`
}

// DeliverResult is the result of Deliver. Gone reports that no session listened at the socket and
// that no byte was written. The target may then be looked up again.
type DeliverResult struct {
	Outcome dispatch.Outcome `json:"outcome,omitzero"`
	Gone    bool             `json:"gone,omitempty"`
}

// TrustResult reports whether an agent may be started in a directory.
type TrustResult struct {
	OK         bool   `json:"ok"`
	Approve    bool   `json:"approve,omitempty"` // the agent is told that the directory is trusted
	Diagnostic string `json:"diagnostic,omitempty"`
}

// OwnedTurn is a turn of a dormant session that the dispatch owns. Without a NativeSession,
// the session is the session of pi that has the garden id of the target.
type OwnedTurn struct {
	dispatch.Message
	NativeSession
	Lock    Lock          `json:"claim"` // released when others can reach the session, if ever
	CWD     string        `json:"cwd"`
	Approve bool          `json:"approve,omitempty"`
	Observe time.Duration `json:"observe"` // limit for the session to begin; the worker's own limit replaces it
	Timeout time.Duration `json:"timeout"` // of the turn; zero: none
}

// TurnEnd is the result of an owned turn whose session may run further turns.
type TurnEnd struct {
	Nonce   string           `json:"nonce"` // of the claim
	Outcome dispatch.Outcome `json:"outcome"`
}
