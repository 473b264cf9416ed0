package dispatch

// tableCell is one cell of a table: the action and its transport, or the reason of a reject.
type tableCell struct {
	action    Action
	transport Transport
	ownership Ownership
	reason    Reason // of a reject; the rest is empty then
}

// table decides for backends with a liveness predicate (docs/contracts/dispatch.md, 2.3). It allows
// two cells of six.
var table = map[Intent]map[Standing]tableCell{
	FireAndForget: {
		Live:         {action: Send, transport: ControlSocket, ownership: AckOnly},
		Dormant:      {reason: DormantFireForgetUnsupported},
		Inconclusive: {reason: IndeterminateNoSpawn},
	},
	OwnedOutcome: {
		Live:         {reason: OwnedLiveNoAutosend},
		Dormant:      {action: Resume, transport: SpawnBg, ownership: Owned},
		Inconclusive: {reason: IndeterminateNoSpawn},
	},
}

// mailTable decides for the other backends (docs/contracts/dispatch.md, 2.4), by the intent alone.
// Its one allowed cell needs a mailbox that a session reads.
//
// A dormant pi gets no mail, and a session of unknown liveness does. Both are intended: mail to a
// session that is known not to run piles up unseen, and a doorbell is the most that can be offered
// where nothing is known.
var mailTable = map[Intent]tableCell{
	FireAndForget: {action: Send, transport: MetaMailbox, ownership: AckOnly},
	OwnedOutcome:  {reason: BackendLivenessUnsupported},
}

// Resolve decides a dispatch from its facts. Deliverable reports that the target's mailbox is
// surely read; it is false when this is not known. It counts for Unsupported alone. A word outside
// its set gives the zero Receipt, which is no verdict.
func Resolve(intent Intent, observed Liveness, deliverable bool) Receipt {
	v := table[intent][standingOf[observed]]
	if observed == Unsupported {
		v = mailTable[intent]
	}
	if v.transport == MetaMailbox && !deliverable {
		v = tableCell{reason: MailboxUndeliverable}
	}
	if v == (tableCell{}) {
		return Receipt{}
	}
	return Receipt{v, observed}
}
