package anthropic

import (
	"context"
	"errors"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/shared"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/provider/explore"
)

type wire struct{ messages sdk.MessageService }

func (w wire) Send(ctx context.Context, c chat.Conversation, line *chat.Line) (chat.Message, error) {
	stream := w.messages.NewStreaming(ctx, params(c), option.WithMiddleware(line.Middleware))
	defer stream.Close()
	var m sdk.Message
	for stream.Next() {
		event := stream.Current()
		if err := m.Accumulate(event); err != nil {
			return message(m), err
		}
		switch event.Type {
		case "content_block_start":
			line.Hear(event.ContentBlock.Text)
		case "content_block_delta":
			line.Hear(event.Delta.Text)
		case "message_stop": // the server may hold the line
			return message(m), refusal(m)
		}
	}
	switch err := stream.Err(); {
	case m.StopReason != "": // all is there but the end of the stream
		return message(m), refusal(m)
	case err != nil:
		return message(m), reported(err)
	}
	return message(m), chat.ErrUnfinished
}

// message is what has come of a message.
func message(m sdk.Message) chat.Message {
	out := chat.Message{Finish: provider.Stop, Native: m}
	if m.ID != "" || m.Role != "" { // it has begun
		out.Tokens = &chat.Tokens{
			Input: m.Usage.InputTokens, CacheRead: m.Usage.CacheReadInputTokens,
			CacheWrite: m.Usage.CacheCreationInputTokens, Output: m.Usage.OutputTokens,
		}
	}
	switch m.StopReason {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		out.Finish = provider.Length
	case sdk.StopReasonToolUse:
		for _, block := range m.Content {
			if block.Type == "tool_use" {
				out.Calls = append(out.Calls, explore.Call{ID: block.ID, Name: block.Name, Input: block.Input})
			}
		}
	}
	return out
}

// refusal is the error of a message that ended in one: asking again for the
// same leads to the same.
func refusal(m sdk.Message) error {
	if m.StopReason != sdk.StopReasonRefusal {
		return nil
	}
	e := &provider.Error{Code: provider.BadRequest, Message: "the model refuses to answer"}
	if why := m.StopDetails.Explanation; why != "" {
		e.Message += ": " + why
	}
	return e
}

// statuses are those that stand for the errors which come within a stream
// (docs.claude.com: errors).
var statuses = map[shared.ErrorType]int{
	shared.ErrorTypeInvalidRequestError: http.StatusBadRequest,
	shared.ErrorTypeAuthenticationError: http.StatusUnauthorized,
	shared.ErrorTypeBillingError:        http.StatusPaymentRequired,
	shared.ErrorTypePermissionError:     http.StatusForbidden,
	shared.ErrorTypeNotFoundError:       http.StatusNotFound,
	shared.ErrorTypeRateLimitError:      http.StatusTooManyRequests,
	shared.ErrorTypeAPIError:            http.StatusInternalServerError,
	shared.ErrorTypeTimeoutError:        http.StatusGatewayTimeout,
	shared.ErrorTypeOverloadedError:     529,
	"request_too_large":                 http.StatusRequestEntityTooLarge,
}

// reported turns an error within a stream into what it would be outside of one.
func reported(err error) error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return err
	}
	out := &chat.StatusError{Status: statuses[e.Type()], Body: []byte(e.RawJSON())}
	if out.Status == 0 {
		out.Status = e.StatusCode
	}
	if e.Response != nil {
		out.Header = e.Response.Header
	}
	return out
}
