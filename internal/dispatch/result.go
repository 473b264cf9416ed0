package dispatch

// Result is the result of a dispatch.
type Result struct {
	Receipt Receipt `json:"receipt"`
	// Outcome is nil exactly when the receipt is a reject.
	Outcome *Outcome `json:"outcome,omitempty"`
	// Diagnostic gives the cause of a reject in one line, such as the holder of the lock or the
	// file that is in the way.
	Diagnostic string `json:"diagnostic,omitempty"`
}

// Succeeded reports whether the message was sent or enqueued, or the owned outcome is a success.
func (r Result) Succeeded() bool {
	return r.Receipt.OK() && r.Outcome != nil && r.Outcome.Succeeded()
}

// Hint returns one line that says what the caller can do about a result that is not a success. It
// is empty for a success.
func (r Result) Hint() string {
	switch {
	case r.Outcome == nil:
		return r.Receipt.Reason().Hint()
	case r.Outcome.RejectReason != "":
		return r.Outcome.RejectReason.Hint()
	case r.Outcome.ReleaseFailed:
		return "finalizedOutcome says what happened: do not send it again; an operator must remove the lock of the target"
	}
	return rules[r.Outcome.Kind].hint
}
