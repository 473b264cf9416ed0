package anthropic

import (
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/provider/explore"
)

// event is an event of a stream, as far as it matters here.
type event struct {
	Type    string
	Index   int
	Message struct {
		Content []block
		Usage   usage
	}
	ContentBlock *block `json:"content_block"`
	Delta        struct {
		delta
		ending
	}
	Usage usage
}

// ending says why a message ends.
type ending struct {
	StopReason  string `json:"stop_reason"`
	StopDetails struct {
		Explanation string
	} `json:"stop_details"`
}

// usage counts the tokens of the whole message. A member that the API leaves out is nil.
type usage struct {
	Input      *int64 `json:"input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	Output     *int64 `json:"output_tokens"`
}

// answer is the received part of a message.
type answer struct {
	begun   bool
	content []block
	tokens  chat.Tokens
	end     ending
}

// addEvent adds an event and returns its text.
func (a *answer) addEvent(e event) (text chat.Text, err error) {
	switch e.Type {
	case "message_start":
		a.begun, a.content = true, e.Message.Content
		a.countTokens(e.Message.Usage)
	case "message_delta":
		a.end = e.Delta.ending
		a.countTokens(e.Usage)
	case "content_block_start":
		if e.Index != len(a.content) || e.ContentBlock == nil {
			return "", fmt.Errorf("the API begins block %d of a message after %d blocks", e.Index, len(a.content))
		}
		a.content = append(a.content, *e.ContentBlock)
		text = chat.Text(e.ContentBlock.text)
	case "content_block_delta":
		if e.Index < 0 || e.Index >= len(a.content) {
			return "", fmt.Errorf("the API continues block %d of a message with %d blocks", e.Index, len(a.content))
		}
		a.content[e.Index].addDelta(e.Delta.delta)
		text = e.Delta.Text
	}
	return text, nil
}

// countTokens takes the numbers that are given.
func (a *answer) countTokens(u usage) {
	take := func(n *int64, given *int64) {
		if given != nil {
			*n = *given
		}
	}
	take(&a.tokens.Input, u.Input)
	take(&a.tokens.CacheRead, u.CacheRead)
	take(&a.tokens.CacheWrite, u.CacheWrite)
	take(&a.tokens.Output, u.Output)
}

// toMessage returns the message as far as it was received.
func (a *answer) toMessage() chat.Message {
	out := chat.Message{Finish: provider.Stop, Native: a}
	if a.begun {
		out.Tokens = &a.tokens
	}
	switch a.end.StopReason {
	case "max_tokens", "model_context_window_exceeded":
		out.Finish = provider.Length
	case "tool_use":
		for _, b := range a.content {
			if b.kind == "tool_use" {
				out.Calls = append(out.Calls, explore.ToolCall{ID: b.id, Name: b.name, Input: b.input})
			}
		}
	}
	return out
}

// endError returns the error of a message that ended in a refusal, or unfinished. After a refusal the same request would
// end in the same way; an unfinished message may be whole the next time. The list of whole ends is closed.
func (a *answer) endError() error {
	switch a.end.StopReason {
	case "end_turn", "stop_sequence", "tool_use", "max_tokens", "model_context_window_exceeded":
		return nil
	case "refusal":
	default:
		return &failure.Error{Code: failure.Unknown, Retriable: true, Message: fmt.Sprintf("the answer is unfinished: the API ended it with stop_reason %q", a.end.StopReason)}
	}
	e := &failure.Error{Code: failure.BadRequest, Message: "the model refuses to answer"}
	if why := a.end.StopDetails.Explanation; why != "" {
		e.Message += ": " + why
	}
	return e
}
