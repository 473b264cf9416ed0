package activities

import (
	"time"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// ResolveResult is what the records say of a target, before anything is probed.
type ResolveResult struct {
	// Reject is why it is none; empty when it is one.
	Reject     dispatch.Reason  `json:"reject,omitempty"`
	Diagnostic string           `json:"diagnostic,omitempty"`
	Backend    dispatch.Backend `json:"backend,omitempty"`
	CWD        string           `json:"cwd,omitempty"`
	// Recordless is a session that listens and has no record: it can be sent to,
	// and not resumed.
	Recordless bool `json:"recordless,omitempty"`
	// Deliverable says, of a backend without a liveness predicate, that its
	// mailbox is surely read.
	Deliverable bool `json:"deliverable,omitempty"`
	// Session is the backend's own id of one that its client tells the liveness
	// of, and that this worker resumes; empty otherwise.
	Session string `json:"session,omitempty"`
}

// NativeSession is a session by the id that its client knows it by.
type NativeSession struct {
	Backend dispatch.Backend `json:"backend,omitempty"`
	Session string           `json:"session,omitempty"`
}

// Lock is the lock of a target, by the nonce of the dispatch that takes it.
type Lock struct {
	Target dispatch.GardenID `json:"target"`
	Nonce  string            `json:"nonce"`
}

// LockResult says whether the lock was taken, or who has it.
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

// DeliverResult is the result of Deliver. Gone says that no session listened at the
// socket and that no byte was written, so the target may be looked up again.
type DeliverResult struct {
	Outcome dispatch.Outcome `json:"outcome,omitzero"`
	Gone    bool             `json:"gone,omitempty"`
}

// TrustResult says whether an agent may be started in a directory.
type TrustResult struct {
	OK         bool   `json:"ok"`
	Approve    bool   `json:"approve,omitempty"` // the agent is told so
	Diagnostic string `json:"diagnostic,omitempty"`
}

// OwnedTurn is a turn of a dormant session that the dispatch owns: of pi's by the
// garden id, unless it says of which.
type OwnedTurn struct {
	dispatch.Message
	NativeSession
	Lock    Lock          `json:"claim"` // released when the session can be reached by others, if ever
	CWD     string        `json:"cwd"`
	Approve bool          `json:"approve,omitempty"`
	Observe time.Duration `json:"observe"` // to begin, unless the worker has a time of its own for that
	Timeout time.Duration `json:"timeout"` // of the turn; zero: none
}

// TurnEnd is the result of an owned turn whose session may run further turns.
type TurnEnd struct {
	Nonce   string           `json:"nonce"` // of the claim
	Outcome dispatch.Outcome `json:"outcome"`
}
