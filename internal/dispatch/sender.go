package dispatch

// Origin is the kind of session that a sender is. An origin that a peer makes up is kept, because
// nothing is decided by it.
type Origin string

// The origins.
const (
	PiSession   Origin = "pi-session"
	MetaSession Origin = "meta-session"
	ExternalMCP Origin = "external-mcp"
)

// Sender is the envelope that says who sends a message (docs/contracts/dispatch.md, 5).
type Sender struct {
	SessionID string `json:"sessionId"`
	AgentID   string `json:"agentId"`
	CWD       string `json:"cwd"`
	Timestamp string `json:"timestamp"` // ISO 8601 in UTC; a peer's is shown as it came
	Origin    Origin `json:"origin,omitempty"`
	// Replyable is a fact about the sender; nil if the sender does not state it.
	Replyable *bool `json:"replyable,omitempty"`
}

// Missing returns the names of the members that an envelope needs and this envelope leaves empty.
func (s Sender) Missing() []string {
	var names []string
	for _, m := range []struct{ name, value string }{
		{"sessionId", s.SessionID}, {"agentId", s.AgentID}, {"cwd", s.CWD}, {"timestamp", s.Timestamp},
	} {
		if m.value == "" {
			names = append(names, m.name)
		}
	}
	return names
}
