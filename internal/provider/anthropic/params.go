package anthropic

import "github.com/ratchet-dev/ratchet/internal/provider/chat"

// params is a request to the Messages API.
type params struct {
	Model       string    `json:"model"`
	MaxTokens   int       `json:"max_tokens"`
	Stream      bool      `json:"stream"`
	System      []part    `json:"system,omitempty"`
	Messages    []message `json:"messages"`
	Temperature *float64  `json:"temperature,omitempty"`
	Tools       []tool    `json:"tools,omitempty"`
	ToolChoice  *choice   `json:"tool_choice,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"` // of part, result and block
}

// part is a text.
type part struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Cache *mark  `json:"cache_control,omitempty"`
}

// result is the result of a tool call.
type result struct {
	Type      string `json:"type"`
	ToolUseID string `json:"tool_use_id"`
	Content   []part `json:"content"`
	IsError   bool   `json:"is_error"`
	Cache     *mark  `json:"cache_control,omitempty"`
}

type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema schema `json:"input_schema"`
	Cache       *mark  `json:"cache_control,omitempty"`
}

type schema struct {
	Type       string         `json:"type"`
	Properties map[string]any `json:"properties"`
	Required   []string       `json:"required,omitempty"`
}

type choice struct {
	Type string `json:"type"`
}

// mark ends a prefix that is worth caching.
type mark struct {
	Type string `json:"type"`
}

var cacheMark = &mark{Type: "ephemeral"}

func newPart(text string) part { return part{Type: "text", Text: text} }

// newParams returns the request. Its prefix is cached up to four marks: the tools, the system prompt, the
// artifacts, and the last results of the tools.
func newParams(c chat.Conversation) params {
	p := params{Model: c.Model, MaxTokens: c.MaxOutput, Stream: true, Temperature: c.Temperature, Messages: newMessages(c)}
	if c.System != "" {
		p.System = []part{{"text", c.System, cacheMark}}
	}
	for _, t := range c.Tools {
		p.Tools = append(p.Tools, tool{t.Name, t.Description, schema{"object", t.Properties, t.Required}, nil})
	}
	if len(p.Tools) > 0 {
		p.Tools[len(p.Tools)-1].Cache = cacheMark
	}
	if c.MustAnswer { // the tools stay, because the messages mention their use
		p.ToolChoice = &choice{Type: "none"}
	}
	return p
}

// newMessages returns the messages of the conversation.
func newMessages(c chat.Conversation) []message {
	first := message{Role: "user"}
	if c.Context != "" {
		first.Content = append(first.Content, part{"text", c.Context, cacheMark})
	}
	first.Content = append(first.Content, newPart(c.User))
	all := []message{first}
	for i, x := range c.Exchanges {
		all = append(all, x.Said.Native.(*answer).sentBack(), toolResults(x, i == len(c.Exchanges)-1))
	}
	return all
}

// toolResults returns the message with the results of an exchange.
func toolResults(x chat.Exchange, last bool) message {
	m := message{Role: "user"}
	for i, r := range x.Results {
		out := result{Type: "tool_result", ToolUseID: r.ID, Content: []part{newPart(r.Text)}, IsError: r.Failed}
		if last && i == len(x.Results)-1 {
			out.Cache = cacheMark
		}
		m.Content = append(m.Content, out)
	}
	return m
}

// sentBack returns a message in the form in which it is sent back. The API produces empty texts but does
// not accept them.
func (a *answer) sentBack() message {
	m := message{Role: "assistant"}
	for i := range a.content {
		if b := &a.content[i]; b.kind != "text" || len(b.text) > 0 {
			m.Content = append(m.Content, b)
		}
	}
	return m
}
