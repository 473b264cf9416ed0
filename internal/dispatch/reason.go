package dispatch

import "github.com/ratchet-dev/ratchet/internal/exact"

// Reason says why a dispatch is rejected before any transport is tried. A later failure is an
// Outcome and never a Reason.
type Reason string

// The nine reasons, by who decides them.
const (
	// Before a probe: the receipt has no liveness.
	BadTarget             Reason = "bad-target"              // no such citizen
	TargetLocked          Reason = "target-locked"           // another dispatch is in progress
	TargetAddressConflict Reason = "target-address-conflict" // the address names two receivers, or a foreign file

	// By the tables.
	IndeterminateNoSpawn         Reason = "indeterminate-no-spawn"
	DormantFireForgetUnsupported Reason = "dormant-fire-forget-unsupported"
	OwnedLiveNoAutosend          Reason = "owned-live-no-autosend"
	BackendLivenessUnsupported   Reason = "backend-liveness-unsupported"
	MailboxUndeliverable         Reason = "mailbox-undeliverable"

	// By the preflight, behind a resume verdict.
	UntrustedFailFast Reason = "untrusted-fail-fast"
)

// Reasons lists every reason.
var Reasons = []Reason{
	IndeterminateNoSpawn, DormantFireForgetUnsupported, OwnedLiveNoAutosend, BackendLivenessUnsupported,
	MailboxUndeliverable, BadTarget, UntrustedFailFast, TargetLocked, TargetAddressConflict,
}

func (r *Reason) UnmarshalText(b []byte) error { return exact.Word(r, b, "reject reason", Reasons...) }

// BeforeProbe reports whether the reason is decided before the target is probed. Exactly these
// reasons have no liveness.
func (r Reason) BeforeProbe() bool {
	return r == BadTarget || r == TargetLocked || r == TargetAddressConflict
}

var hintOf = map[Reason]string{
	BadTarget:                    "no session has this garden id; list the peers and use one of theirs: a dispatch never starts a new session",
	TargetLocked:                 "another message to this target is in progress; wait until it ends, or cancel its workflow, then send it again",
	TargetAddressConflict:        "the record and the socket of this garden id name different receivers; an operator must remove the wrong one",
	IndeterminateNoSpawn:         "it is unknown whether the target runs, so nothing was sent or started; look at the diagnostics of the peers, then send it again",
	DormantFireForgetUnsupported: "the target does not run; use the intent owned-outcome to resume it, or send the message when it runs",
	OwnedLiveNoAutosend:          "the target runs, so its outcome cannot be awaited; close it, or use the intent fire-and-forget if it takes messages",
	BackendLivenessUnsupported:   "the worker does not resume sessions of this backend (set its RATCHET_RESUME to claude-code, codex or both); fire-and-forget sends mail to sessions that read mail",
	MailboxUndeliverable:         "no session reads this mailbox now, so nothing was put into it; open a session that reads mail, or use owned-outcome if the worker can resume it",
	UntrustedFailFast:            "the target's directory is not trusted; an operator can trust it in pi, or name its root in the worker's PI_ENTWURF_PREFIX_ROOTS",
}

// Hint returns one line that says what the caller can do about the reject.
func (r Reason) Hint() string { return hintOf[r] }
