package dispatch

// Result is what a dispatch gives back.
type Result struct {
	Receipt Receipt `json:"receipt"`
	// Outcome is nil exactly when the receipt is a reject.
	Outcome *Outcome `json:"outcome,omitempty"`
	// Diagnostic says in one line what a reject is about: who holds the lock,
	// which file is in the way.
	Diagnostic string `json:"diagnostic,omitempty"`
}

// Succeeded says whether the message was sent or enqueued, or the owned outcome
// is a success.
func (r Result) Succeeded() bool {
	return r.Receipt.OK() && r.Outcome != nil && r.Outcome.Succeeded()
}

// Hint says in one line what can be done about a result that is no success;
// empty for one that is.
func (r Result) Hint() string {
	switch {
	case r.Outcome == nil:
		return r.Receipt.Reason().Hint()
	case r.Outcome.RejectReason != "":
		return r.Outcome.RejectReason.Hint()
	case r.Outcome.ReleaseFailed:
		return "it happened as finalizedOutcome says, so do not dispatch it again; the lock of the target has to be removed"
	}
	return rules[r.Outcome.Kind].hint
}
