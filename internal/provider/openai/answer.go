package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/provider/explore"
)

// maxArguments bounds the arguments of a model's calls, in
// bytes.
const maxArguments = 1 << 20

// chunk is an event of a stream, as far as it matters here.
type chunk struct {
	Error   json.RawMessage
	Choices []struct {
		Index int
		Delta struct {
			Content, Refusal chat.Parts
			ToolCalls        []callPart `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Details    struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

// callPart is a part of a tool call.
type callPart struct {
	Index    int64
	ID       string
	Function struct {
		Name      string
		Arguments chat.Text
	}
}

// answer is the received part of a message.
type answer struct {
	text    strings.Builder
	refusal strings.Builder
	calls   []pendingCall
	size    int // of all arguments
	finish  string
	tokens  *chat.Tokens
}

type pendingCall struct {
	index     int64
	id, name  string
	arguments []byte
}

// addChunk adds a chunk and returns its text.
func (a *answer) addChunk(c chunk) string {
	if u := c.Usage; u != nil { // of the whole message, the last one counts
		a.tokens = &chat.Tokens{Input: u.Prompt - u.Details.Cached, CacheRead: u.Details.Cached, Output: u.Completion}
	}
	var text string
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		content, refusal := string(choice.Delta.Content), string(choice.Delta.Refusal)
		text += content + refusal
		a.text.WriteString(content)
		a.refusal.WriteString(refusal)
		for _, part := range choice.Delta.ToolCalls {
			a.addCall(part)
		}
		if choice.FinishReason != "" {
			a.finish = strings.ToLower(choice.FinishReason)
		}
	}
	return text
}

// addCall adds a part of a tool call. Some servers give all calls the same index and tell them apart by
// their ids; others give no ids.
func (a *answer) addCall(part callPart) {
	at := len(a.calls) - 1
	for at >= 0 && (a.calls[at].index != part.Index || part.ID != "" && a.calls[at].id != part.ID) {
		at--
	}
	if at < 0 {
		id := part.ID
		if id == "" {
			id = fmt.Sprintf("call_%d", len(a.calls)+1)
		}
		a.calls = append(a.calls, pendingCall{index: part.Index, id: id})
		at = len(a.calls) - 1
	}
	c := &a.calls[at]
	c.name = cmp.Or(c.name, part.Function.Name)
	if a.size += len(part.Function.Arguments); a.size <= maxArguments {
		c.arguments = append(c.arguments, part.Function.Arguments...)
	}
}

// toMessage returns the answer so far.
func (a *answer) toMessage() chat.Message {
	m := chat.Message{Finish: provider.Stop, Tokens: a.tokens, Native: a}
	if slices.Contains(lengthWords, a.finish) {
		m.Finish = provider.Length
		return m // calls may be cut
	}
	for _, c := range a.calls {
		m.Calls = append(m.Calls, explore.ToolCall{ID: c.id, Name: c.name, Input: c.arguments})
	}
	return m
}

// The finish reasons of servers of this API, in lower case. Any other one ends an unfinished answer.
var (
	stopWords   = []string{"stop", "eos", "eos_token", "end_turn", "stop_sequence", "tool_calls", "tool_use", "function_call"}
	lengthWords = []string{"length", "max_tokens", "model_length", "max_output_tokens"}
	filterWords = []string{"content_filter", "safety", "recitation", "prohibited_content", "blocklist", "spii", "image_safety", "language", "sensitive", "guardrail_intervened", "refusal"}
)

// endError returns the error of an answer that is a refusal, that a filter removed, or that the server did not finish.
// After a refusal the same request would end in the same way; an unfinished answer may be whole the next time.
func (a *answer) endError() error {
	why := ""
	switch {
	case slices.Contains(filterWords, a.finish):
		why = "a content filter cut it off (" + a.finish + ")"
	case a.refusal.Len() > 0:
		why = a.refusal.String()
	case slices.Contains(stopWords, a.finish) || slices.Contains(lengthWords, a.finish):
		return nil
	default:
		return &failure.Error{Code: failure.Unknown, Retriable: true, Message: fmt.Sprintf("the answer is unfinished: the API ended it with finish_reason %q", a.finish)}
	}
	return &failure.Error{Code: failure.BadRequest, Message: "the model refuses to answer: " + why}
}

// sentBack returns the message in the form in which it is sent back.
func (a *answer) sentBack() message {
	m := message{Role: "assistant"}
	if a.text.Len() > 0 {
		m.Content = new(a.text.String())
	}
	for _, c := range a.calls {
		f := functionCall{Name: c.name, Arguments: cmp.Or(string(c.arguments), "{}")}
		m.ToolCalls = append(m.ToolCalls, toolCall{ID: c.id, Type: "function", Function: f})
	}
	return m
}
