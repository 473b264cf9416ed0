package anthropic

import (
	"context"
	"errors"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/shared"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/provider/explore"
)

type wire struct{ messages sdk.MessageService }

func (w wire) Send(ctx context.Context, c chat.Conversation, line *chat.Line) (chat.Message, error) {
	stream := w.messages.NewStreaming(ctx, newParams(c), option.WithMiddleware(line.Middleware))
	defer stream.Close()
	var m sdk.Message
	for stream.Next() {
		event := stream.Current()
		if err := m.Accumulate(event); err != nil {
			return toMessage(m), err
		}
		switch event.Type {
		case "content_block_start":
			line.Hear(event.ContentBlock.Text)
		case "content_block_delta":
			line.Hear(event.Delta.Text)
		case "message_stop": // the server may keep the connection open
			return toMessage(m), refusalError(m)
		}
	}
	switch err := stream.Err(); {
	case m.StopReason != "": // only the end of the stream is missing
		return toMessage(m), refusalError(m)
	case err != nil:
		return toMessage(m), toStatusError(err)
	}
	return toMessage(m), chat.ErrUnfinished
}

// toMessage converts the message as far as it was received.
func toMessage(m sdk.Message) chat.Message {
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

// refusalError returns the error of a message that ended in a refusal. The same request would end in the
// same refusal.
func refusalError(m sdk.Message) error {
	if m.StopReason != sdk.StopReasonRefusal {
		return nil
	}
	e := &failure.Error{Code: failure.BadRequest, Message: "the model refuses to answer"}
	if why := m.StopDetails.Explanation; why != "" {
		e.Message += ": " + why
	}
	return e
}

// statusOf maps the errors within a stream to HTTP statuses
// (docs.claude.com: errors).
var statusOf = map[shared.ErrorType]int{
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

// toStatusError converts an error within a stream to the corresponding error of a request.
func toStatusError(err error) error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return err
	}
	out := &chat.StatusError{Status: statusOf[e.Type()], Body: []byte(e.RawJSON())}
	if out.Status == 0 {
		out.Status = e.StatusCode
	}
	if e.Response != nil {
		out.Header = e.Response.Header
	}
	return out
}
