package controlsocket

// NotSentError reports that the peer does not have the request: the peer was not reached, or it
// hung up before it had read the whole line.
type NotSentError struct {
	Code     string   // the errno; timeout, canceled; empty when there is none
	Conflict Conflict // the file in the socket's place
	Err      error
}

func (e *NotSentError) Error() string { return "not sent: " + e.Err.Error() }

func (e *NotSentError) Unwrap() error { return e.Err }

// Gone reports that no session listens at the address. Only then may the target be looked for once
// more.
func (e *NotSentError) Gone() bool { return e.Code == "ECONNREFUSED" || e.Code == "ENOENT" }

// UnansweredError reports that the request was written, wholly or in part, that no answer came, and
// that the peer may have read the request. The peer may have acted on it: sending it again may
// deliver it twice.
type UnansweredError struct{ Err error }

func (e *UnansweredError) Error() string { return "sent, but not answered: " + e.Err.Error() }

func (e *UnansweredError) Unwrap() error { return e.Err }

// RefusedError is a peer's answer that it did not carry out the request.
type RefusedError struct{ Said string }

func (e *RefusedError) Error() string { return "refused: " + e.Said }
