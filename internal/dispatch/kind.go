package dispatch

import "github.com/ratchet-dev/ratchet/internal/exact"

// Kind is the result of a dispatch after its receipt accepted it.
type Kind string

// The kinds (docs/contracts/dispatch.md, 9 to 11). Unknown does not stand for an error of unclear
// cause: it says that the message may have arrived and that this cannot be found out.
const (
	Sent         Kind = "sent"          // the peer acknowledged the message
	FallbackSent Kind = "fallback-sent" // the peer was gone; a second look found its place, which took the message
	Enqueued     Kind = "enqueued"      // it lies in the mailbox and the doorbell was rung; it is unread so far
	Completed    Kind = "completed"     // the turn that it began ended well

	Rejected    Kind = "rejected"           // the peer refused it, or the second look rejected: see RejectReason
	StartFailed Kind = "spawn-start-failed" // the agent did not start, or ended before it was given the message

	TurnFailed      Kind = "turn-failed"      // the turn that it began ended in an error
	ChildExited     Kind = "child-exited"     // the agent's process ended before its turn did: see ExitCode, TimedOut
	LockRetained    Kind = "lock-retained"    // the agent was asked to end and was not seen to end; the lock stays
	ExecutionFailed Kind = "execution-failed" // the transport failed, or the lock was not released: see Finalized
	Unknown         Kind = "unknown"          // it may have been delivered, and that cannot be known
)

// rule holds the properties of every outcome of a kind.
type rule struct {
	by        []Transport
	good      bool // the caller got the result that its intent asks for
	retrySafe bool
	hint      string // the caller's next step when it is not good
}

var anyTransport = []Transport{ControlSocket, SpawnBg, MetaMailbox}

var rules = map[Kind]rule{
	Sent:         {by: []Transport{ControlSocket}, good: true},
	FallbackSent: {by: []Transport{ControlSocket, MetaMailbox}, good: true},
	Enqueued:     {by: []Transport{MetaMailbox}, good: true},
	Completed:    {by: []Transport{SpawnBg}, good: true},
	Rejected: {
		by: []Transport{ControlSocket, SpawnBg}, retrySafe: true,
		hint: "the target refused the message; fix what its text names, then send it again",
	},
	StartFailed: {
		by: []Transport{SpawnBg}, retrySafe: true,
		hint: "the agent never got the message; fix why it cannot start, then send it again",
	},
	TurnFailed: {
		by:   []Transport{SpawnBg},
		hint: "the agent got the message and may have done part of it; look at its session before you send more",
	},
	ChildExited: {
		by:   []Transport{SpawnBg},
		hint: "the agent got the message and ended before it was done; look at its session before you send more",
	},
	LockRetained: {
		by:   []Transport{SpawnBg},
		hint: "the agent may still run; its lock is released when it ends, at the latest when the process named in the diagnostic ends",
	},
	ExecutionFailed: {
		by:   anyTransport,
		hint: "the transport failed; look at the peers and the target before you send it again",
	},
	Unknown: {
		by:   anyTransport,
		hint: "the message may have been delivered; ask the target, or look at its session, before you send it again",
	},
}

// Kinds lists every kind.
var Kinds = []Kind{
	Sent, FallbackSent, Enqueued, Completed, Rejected, StartFailed, TurnFailed, ChildExited, LockRetained, ExecutionFailed, Unknown,
}

func (k *Kind) UnmarshalText(b []byte) error { return exact.Word(k, b, "outcome", Kinds...) }
