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
	stream := w.completions.NewStreaming(ctx, w.params(c), option.WithMiddleware(line.Middleware))
	defer stream.Close()
	var a answer
	for stream.Next() {
		line.Hear(a.add(stream.Current()))
	}
	switch err := stream.Err(); {
	case a.finish != "": // all is there but, perhaps, the usage
		return a.message(), a.refused()
	case err != nil:
		return a.message(), reported(err)
	}
	return a.message(), chat.ErrUnfinished
}

// statuses are those that stand for the errors which come within a stream, by
// their code or type.
var statuses = map[string]int{
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

// reported turns an error within a stream into what it would be outside of one.
// Some servers give the status itself as its code.
func reported(err error) error {
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
	case statuses[code] != 0:
		out.Status = statuses[code]
	case statuses[said.Error.Type] != 0:
		out.Status = statuses[said.Error.Type]
	}
	return out
}
