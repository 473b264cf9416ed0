package openai

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/provider/chat"
)

type wire struct {
	completions chat.Endpoint
	official    bool
}

func (w wire) Send(ctx context.Context, c chat.Conversation, line *chat.Line) (chat.Message, error) {
	var a answer
	events, err := w.completions.Send(ctx, w.newParams(c), line)
	if err != nil {
		return a.toMessage(), err
	}
	defer events.Close()
	for err == nil {
		err = a.readChunk(events, line)
	}
	switch {
	case a.finish != "": // at most the usage is missing
		return a.toMessage(), a.endError()
	case err == io.EOF:
		return a.toMessage(), chat.ErrUnfinished
	}
	return a.toMessage(), err
}

// readChunk reads one event of the stream. The error is io.EOF at the end of the stream.
func (a *answer) readChunk(events *chat.Events, line *chat.Line) error {
	got, err := events.Next()
	if err != nil {
		return err
	}
	if strings.HasPrefix(string(got.Data), "[DONE]") {
		return io.EOF
	}
	var c chunk
	if err := got.Decode(&c); err != nil {
		return err
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return events.Refusal(statusOfError(c.Error), got.Data)
	}
	line.Hear(a.addChunk(c))
	if a.finish != "" {
		line.Finish()
	}
	return nil
}

// statusOf maps the errors within a stream to HTTP statuses, by
// their code or type.
var statusOf = map[string]int{
	"invalid_request_error":   http.StatusBadRequest,
	"context_length_exceeded": http.StatusBadRequest,
	"invalid_api_key":         http.StatusUnauthorized,
	"authentication_error":    http.StatusUnauthorized,
	"permission_error":        http.StatusForbidden,
	"insufficient_quota":      http.StatusTooManyRequests,
	"rate_limit_exceeded":     http.StatusTooManyRequests,
	"rate_limit_error":        http.StatusTooManyRequests,
	"server_error":            http.StatusInternalServerError,
}

// statusOfError returns the HTTP status of an error within a stream, or zero. Some servers give the status
// itself as its code.
func statusOfError(e json.RawMessage) int {
	var said struct {
		Type string
		Code any
	}
	_ = (chat.Event{Data: e}).Decode(&said) // a text is an error, too
	code, _ := said.Code.(string)
	number, _ := said.Code.(float64)
	switch {
	case number >= 400 && number < 600:
		return int(number)
	case statusOf[code] != 0:
		return statusOf[code]
	}
	return statusOf[said.Type]
}
