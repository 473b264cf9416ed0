package run

// Permission is a tool call of an agent that waits for a person. Digest is
// that of the tool and its whole input, which Input refers to.
type Permission struct {
	CallID  string `json:"callId"`
	Tool    string `json:"tool"`
	Digest  Digest `json:"digest"`
	Title   string `json:"title,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Input   Ref    `json:"input"`
	Excerpt string `json:"excerpt,omitempty"` // head of the input, made safe for display
}

// Permit is the decision on a Permission.
type Permit struct {
	CallID string `json:"callId"`
	Tool   string `json:"tool"`
	Digest Digest `json:"digest"`
	Allow  bool   `json:"allow"`
	// Session allows later calls of the same tool in the same session as well.
	Session bool   `json:"session,omitempty"`
	Reason  string `json:"reason,omitempty"`
}
