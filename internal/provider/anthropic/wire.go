package anthropic

import (
	"context"
	"io"
	"net/http"

	"github.com/ratchet-dev/ratchet/internal/provider/chat"
)

type wire struct{ messages chat.Endpoint }

func (w wire) Send(ctx context.Context, c chat.Conversation, line *chat.Line) (chat.Message, error) {
	var a answer
	events, err := w.messages.Send(ctx, newParams(c), line)
	if err != nil {
		return a.toMessage(), err
	}
	defer events.Close()
	for {
		over, err := a.readEvent(events, line)
		switch {
		case over || err != nil && a.end.StopReason != "": // at most the end of the stream is missing
			return a.toMessage(), a.endError()
		case err == io.EOF:
			return a.toMessage(), chat.ErrUnfinished
		case err != nil:
			return a.toMessage(), err
		}
	}
}

// readEvent reads one event of the stream. It reports whether the message is over; the server may keep the
// connection open.
func (a *answer) readEvent(events *chat.Events, line *chat.Line) (over bool, err error) {
	got, err := events.Next()
	if err != nil {
		return false, err
	}
	if got.Name == "error" {
		return false, toStatusError(events, got)
	}
	var e event
	if err := got.Decode(&e); err != nil {
		return false, err
	}
	text, err := a.addEvent(e)
	line.Hear(string(text))
	if a.end.StopReason != "" {
		line.Finish()
	}
	return e.Type == "message_stop", err
}

// statusOf maps the errors within a stream to HTTP statuses
// (docs.claude.com: errors).
var statusOf = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      529,
}

// toStatusError converts an error within a stream to the corresponding error of a request.
func toStatusError(events *chat.Events, got chat.Event) error {
	var said struct {
		Error struct{ Type string }
	}
	_ = got.Decode(&said) // a text without a type is an error, too
	return events.Refusal(statusOf[said.Error.Type], got.Data)
}
