package controlsocket

import (
	"encoding/json"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Message is a message to a session.
type Message struct {
	Text string
	// Mode says how a busy session takes the message. A client that sends none means FollowUp; a
	// server that gets none means Steer.
	Mode       dispatch.Mode
	Sender     *dispatch.Sender // nil: the peer does not say who it is
	WantsReply bool
}

// Prompt returns the message as the session's model reads it: the text verbatim, followed by its
// sender. A text that ends in a sender block of its own only makes a claim; the last block is the
// envelope's.
func (m Message) Prompt() string {
	if m.Sender == nil {
		return m.Text
	}
	// Strings and bools encode without error, and with < as \u003c: nothing in
	// the envelope closes the block.
	info, _ := json.Marshal(struct {
		dispatch.Sender
		WantsReply bool `json:"wants_reply,omitempty"`
	}{*m.Sender, m.WantsReply})
	return m.Text + "\n\n<sender_info>" + string(info) + "</sender_info>"
}

// Info is a session's description of itself.
type Info struct {
	SessionID string `json:"sessionId"`
	CWD       string `json:"cwd"`
	Model     *Model `json:"model"` // nil until it has one
	Idle      bool   `json:"idle"`
}

// Model is the model that a session runs on.
type Model struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
}

// LastMessage is the last message of a session's assistant.
type LastMessage struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	Timestamp int64  `json:"timestamp"` // milliseconds since 1970
}

// The commands that are served.
const (
	sendCommand       = "send"
	infoCommand       = "get_info"
	getMessageCommand = "get_message"
	abortCommand      = "abort"

	parseCommand = "parse" // stands for the command of a line that has none
	responseType = "response"
)

// sendData and messageData are the data of the answers to their commands.
type (
	sendData struct {
		DeliveredAs dispatch.Delivery `json:"deliveredAs"`
		WantsReply  bool              `json:"wants_reply"`
	}
	messageData struct {
		Message *LastMessage `json:"message"`
	}
)
