package claude

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// frameHead holds the members that all frames and requests have. They say how
// to read the rest.
type frameHead struct {
	Type    string `json:"type,omitempty"`
	Subtype string `json:"subtype"`
}

// initFrame opens every turn (CLIENT.md, 1).
type initFrame struct {
	SessionID string `json:"session_id"`
	Model     string `json:"model"`
}

// messageFrame is a part of a message of the assistant or of a user.
type messageFrame struct {
	Message struct {
		ID      string    `json:"id"`
		Model   string    `json:"model"`
		Content content   `json:"content"`
		Usage   wireUsage `json:"usage"`
	} `json:"message"`
	Parent    string `json:"parent_tool_use_id"` // the call whose sub-agent wrote the message
	Error     string `json:"error"`
	UUID      string `json:"uuid"`
	Replay    bool   `json:"isReplay"`
	Synthetic bool   `json:"isSynthetic"`
}

// parseMessage reads a message; members of another type stay empty.
func parseMessage(line []byte) messageFrame {
	var f messageFrame
	_ = json.Unmarshal(line, &f)
	return f
}

// synthetic is the model name of messages that no model wrote: mostly errors of
// the API.
const synthetic = "<synthetic>"

// content is a list of blocks. A plain text counts as one block.
type content []contentBlock

type contentBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   content         `json:"content"`
	IsError   bool            `json:"is_error"`
}

// UnmarshalJSON accepts blocks and plain text.
func (c *content) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '"' {
		*c = content{{Type: "text"}}
		return json.Unmarshal(b, &(*c)[0].Text)
	}
	return json.Unmarshal(b, (*[]contentBlock)(c))
}

// plainText returns the text of the blocks. A block of another type, such as a
// picture, is replaced by its type.
func (c content) plainText() string {
	parts := make([]string, 0, len(c))
	for _, b := range c {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		} else {
			parts = append(parts, "["+b.Type+"]")
		}
	}
	return strings.Join(parts, "\n")
}

type wireUsage struct {
	Input   int64 `json:"input_tokens"`
	Created int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
}

func (u wireUsage) promptTokens() int64 { return u.Input + u.Created + u.Read }

func (u wireUsage) agentTokens() agent.Tokens {
	return agent.Tokens{Input: u.promptTokens(), Output: u.Output, Cached: u.Read}
}

// resultFrame ends a turn (CLIENT.md, 5).
type resultFrame struct {
	Subtype  string                `json:"subtype"`
	IsError  bool                  `json:"is_error"`
	Reason   string                `json:"terminal_reason"`
	Status   int                   `json:"api_error_status"`
	Text     string                `json:"result"`
	Errors   []string              `json:"errors"`
	Total    *float64              `json:"total_cost_usd"` // of the process so far
	OldTotal *float64              `json:"cost_usd"`       // the name of Total in older clients
	Usage    wireUsage             `json:"usage"`
	Models   map[string]modelUsage `json:"modelUsage"`
	Since    map[string]modelUsage `json:"model_usage_since_last_result"`
}

type modelUsage struct {
	Cost   float64 `json:"costUSD"`
	Window int     `json:"contextWindow"`
}

// rateFrame holds the state of a subscription.
type rateFrame struct {
	Info struct {
		Status   string  `json:"status"`
		ResetsAt float64 `json:"resetsAt"`
	} `json:"rate_limit_info"`
}

// controlFrame is a request of either side, or the response to one.
type controlFrame struct {
	Type      string           `json:"type"`
	RequestID string           `json:"request_id,omitempty"`
	Request   json.RawMessage  `json:"request,omitempty"`
	Response  *controlResponse `json:"response,omitempty"`
}

type controlResponse struct {
	Subtype   string          `json:"subtype"`
	RequestID string          `json:"request_id"`
	Response  json.RawMessage `json:"response,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// userFrame is a message to the agent.
type userFrame struct {
	Type    string      `json:"type"`
	Message userMessage `json:"message"`
	UUID    string      `json:"uuid"`
}

type userMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}
