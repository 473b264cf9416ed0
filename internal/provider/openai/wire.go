package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/ratchet-dev/ratchet/internal/provider/chat"
)

type wire struct {
	completions sdk.ChatCompletionService
	official    bool
}

func (w wire) Send(ctx context.Context, c chat.Conversation, line *chat.Line) (chat.Message, error) {
	stream := w.completions.NewStreaming(ctx, w.newParams(c), option.WithMiddleware(line.Middleware))
	defer stream.Close()
	var a answer
	for stream.Next() {
		line.Hear(a.addChunk(stream.Current()))
	}
	switch err := stream.Err(); {
	case a.finish != "": // at most the usage is missing
		return a.toMessage(), a.refusalError()
	case err != nil:
		return a.toMessage(), toStatusError(err)
	}
	return a.toMessage(), chat.ErrUnfinished
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

// toStatusError converts an error within a stream to the corresponding error of a request. Some servers
// give the status itself as its code.
func toStatusError(err error) error {
	e, ok := errors.AsType[*ssestream.StreamError](err)
	if !ok {
		return err
	}
	var said struct {
		Error struct {
			Type string
			Code any
		}
	}
	out := &chat.StatusError{Status: http.StatusInternalServerError, Body: e.Event.Data}
	if json.Unmarshal(e.Event.Data, &said) != nil {
		return out
	}
	code, _ := said.Error.Code.(string)
	number, _ := said.Error.Code.(float64)
	switch {
	case number >= 400 && number < 600:
		out.Status = int(number)
	case statusOf[code] != 0:
		out.Status = statusOf[code]
	case statusOf[said.Error.Type] != 0:
		out.Status = statusOf[said.Error.Type]
	}
	return out
}
