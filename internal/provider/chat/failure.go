package chat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// StatusError is an error that an API reports instead of an answer, or within
// one.
type StatusError struct {
	Status int
	Header http.Header
	Body   []byte // its head
}

func (e *StatusError) Error() string { return e.classifyStatus(time.Now()).Error() }

// classifyStatus returns the meaning of the error for a retry.
func (e *StatusError) classifyStatus(now time.Time) *failure.Error {
	return failure.ClassifyHTTP(e.Status, e.Header, e.Body, now)
}

// isTooLong reports whether the API found the prompt too long.
func (e *StatusError) isTooLong() bool {
	return strings.HasPrefix(e.classifyStatus(time.Time{}).Message, failure.TooLong)
}

var toolWords = regexp.MustCompile(`(?i)\b(tool|function)(s\b|_|\b)`)

// namesTools reports whether the request may have been refused for its tools. There is no code for that;
// the servers of local models say it in words.
func (e *StatusError) namesTools() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
		return toolWords.Match(e.Body)
	}
	return false
}

// endInError returns the response of a call that ended in an error. ctx is the caller's.
func (c *activeCall) endInError(ctx context.Context, err error) (provider.Response, error) {
	err = c.classifyError(ctx, err)
	resp := provider.Response{RawText: c.out.allText(), FinishReason: provider.Failed}
	e, failed := errors.AsType[*failure.Error](err) // in a *Limited, too
	if failed {
		e.Message = display.Clip(c.Redact.String(e.Message), failure.MaxMessage)
	}
	if h, ok := provider.HaltOf(err); ok {
		return resp.WithHalt(h), nil
	}
	if failed {
		resp = provider.FailedResponse(e, resp.RawText, 0)
	}
	return resp, err
}

// classifyError returns the meaning of an error of the call.
func (c *activeCall) classifyError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refusal, ok := errors.AsType[*StatusError](err); ok {
		now := time.Now()
		refusal.Body = c.Redact.Bytes(refusal.Body) // before it is clipped: half a secret is not found
		return limitError(refusal.classifyStatus(now), refusal.Header, failure.WaitIn(refusal.Body), now)
	}
	if e, ok := errors.AsType[*failure.Error](err); ok {
		return e
	}
	if h, ok := errors.AsType[*provider.Halted](err); ok {
		return h
	}
	fail := func(code failure.Code, retriable bool, format string, args ...any) error {
		return &failure.Error{Code: code, Message: fmt.Sprintf(format, args...), Retriable: retriable}
	}
	switch {
	case errors.Is(err, errFlood):
		return fail(failure.BadRequest, false, "%v: it was cut off after %d bytes of text", err, len(c.out.kept))
	case errors.Is(err, errNoStream):
		return fail(failure.BadRequest, false, "%v: check its base URL", err)
	case errors.Is(err, errIdle):
		return fail(failure.Timeout, true, "%v for %v", err, c.Idle)
	case errors.Is(err, errLate):
		return fail(failure.Timeout, true, "no complete answer within %v", c.req.Constraints.Timeout())
	}
	return failure.ClassifyTransport(ctx, err)
}
