package pi

import (
	"encoding/json"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// command is a command to pi (CLIENT.md, 2).
type command struct {
	ID      string  `json:"id"`
	Type    string  `json:"type"`
	Message *string `json:"message,omitempty"`
}

// response is the result of a command.
type response struct {
	ID      string          `json:"id"`
	Success bool            `json:"success"`
	Error   string          `json:"error"`
	Data    json.RawMessage `json:"data"`
}

// state is the answer to get_state.
type state struct {
	SessionID string `json:"sessionId"`
	File      string `json:"sessionFile"`
	Messages  int    `json:"messageCount"`
	Running   bool   `json:"isStreaming"`
	Model     model  `json:"model"`
}

type model struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	Name     string `json:"name"`
	Window   int    `json:"contextWindow"`
}

// modelCode returns the model in one word, in the form of pi's flag.
func (m model) modelCode() string { return m.Provider + "/" + m.ID }

// stats is the part of the answer to get_session_stats that we read.
type stats struct {
	Context struct {
		Tokens int `json:"tokens"` // null after a compaction: not known yet
		Window int `json:"contextWindow"`
	} `json:"contextUsage"`
}

// update is a piece of a message.
type update struct {
	Event struct {
		Type  string `json:"type"`
		Delta string `json:"delta"`
	} `json:"assistantMessageEvent"`
}

// messageEnd is a whole message.
type messageEnd struct {
	Message struct {
		Role    string    `json:"role"`
		Content content   `json:"content"`
		Usage   wireUsage `json:"usage"`
		Stop    string    `json:"stopReason"`
		Failure string    `json:"errorMessage"`
	} `json:"message"`
}

type wireUsage struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
	Read   int64 `json:"cacheRead"`
	Write  int64 `json:"cacheWrite"`
	Total  int   `json:"totalTokens"`
	Cost   struct {
		Total float64 `json:"total"` // in dollars
	} `json:"cost"`
}

func (u wireUsage) agentTokens() agent.Tokens {
	return agent.Tokens{Input: u.Input + u.Read + u.Write, Output: u.Output, Cached: u.Read}
}

// compactionEnd ends a compaction: a model has summarized the conversation.
type compactionEnd struct {
	Result struct {
		Usage wireUsage `json:"usage"`
	} `json:"result"`
}

// toolFrame is the start or the end of a call.
type toolFrame struct {
	CallID string          `json:"toolCallId"`
	Tool   string          `json:"toolName"`
	Args   json.RawMessage `json:"args"`
	Result struct {
		Content content `json:"content"`
	} `json:"result"`
	Error bool `json:"isError"`
}

// content is a list of blocks. A plain text counts as one block.
type content []block

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// UnmarshalJSON accepts blocks and plain text.
func (c *content) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(b, (*[]block)(c))
}

// textOnly returns the text of the text blocks.
func (c content) textOnly() string {
	var text strings.Builder
	for _, b := range c {
		if b.Type == "text" {
			text.WriteString(b.Text)
		}
	}
	return text.String()
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

// uiRequest is a message or a question of an extension: the gate, or an extension
// of the user.
type uiRequest struct {
	ID     string `json:"id"`
	Method string `json:"method"`
	Title  string `json:"title"`
	Key    string `json:"statusKey"`
}

// uiResponse is the answer to a question.
type uiResponse struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Value     string `json:"value,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
}
