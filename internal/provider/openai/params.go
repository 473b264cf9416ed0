package openai

import (
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
)

// params is a request to the Chat Completions API.
type params struct {
	Model               string        `json:"model"`
	Messages            []message     `json:"messages"`
	Stream              bool          `json:"stream"`
	StreamOptions       streamOptions `json:"stream_options"`
	PromptCacheKey      string        `json:"prompt_cache_key,omitempty"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	Temperature         *float64      `json:"temperature,omitempty"`
	Tools               []tool        `json:"tools,omitempty"`
	ToolChoice          string        `json:"tool_choice,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  schema `json:"parameters"`
}

type schema struct {
	Type       string         `json:"type"`
	Properties map[string]any `json:"properties"`
	Required   []string       `json:"required,omitempty"`
}

// newParams returns the request. Servers of other makers get only the parameters that all of them know.
func (w wire) newParams(c chat.Conversation) params {
	p := params{
		Model: c.Model, Messages: newMessages(c), Temperature: c.Temperature,
		Stream: true, StreamOptions: streamOptions{IncludeUsage: true},
	}
	if w.official {
		p.PromptCacheKey = c.Key
	}
	switch {
	case c.Bounded && w.official: // the official API deprecates MaxTokens
		p.MaxCompletionTokens = c.MaxOutput
	case c.Bounded:
		p.MaxTokens = c.MaxOutput
	}
	for _, t := range c.Tools {
		p.Tools = append(p.Tools, tool{"function", function{t.Name, t.Description, schema{"object", t.Properties, t.Required}}})
	}
	if c.MustAnswer { // the tools stay, because the messages mention their use
		p.ToolChoice = "none"
	}
	return p
}

// newMessages returns the messages of the conversation.
func newMessages(c chat.Conversation) []message {
	var all []message
	if c.System != "" {
		all = append(all, message{Role: "system", Content: &c.System})
	}
	all = append(all, message{Role: "user", Content: new(c.Context + c.User)})
	for _, x := range c.Exchanges {
		all = append(all, x.Said.Native.(*answer).sentBack())
		for _, r := range x.Results {
			all = append(all, message{Role: "tool", Content: &r.Text, ToolCallID: r.ID})
		}
	}
	return all
}
