package chat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/provider"
)

// StatusError is what an API says instead of an answer, or in the midst of
// one.
type StatusError struct {
	Status int
	Header http.Header
	Body   []byte // its head
}

func (e *StatusError) Error() string { return e.classify(time.Now()).Error() }

func (e *StatusError) classify(now time.Time) *provider.Error {
	if e.Status >= 200 && e.Status < 300 { // nobody knows what it means
		return provider.ClassifyHTTP(http.StatusInternalServerError, e.Header, e.Body, now)
	}
	return provider.ClassifyHTTP(e.Status, e.Header, e.Body, now)
}

func (e *StatusError) tooLong() bool {
	return strings.HasPrefix(e.classify(time.Time{}).Message, provider.TooLong)
}

var tools = regexp.MustCompile(`(?i)\b(tool|function)(s\b|_|\b)`)

// namesTools says whether the request may have been refused for its tools.
// There is no code for that: the servers of local models say it in words.
func (e *StatusError) namesTools() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
		return tools.Match(e.Body)
	}
	return false
}

// failed is the end of a call in an error. Ctx is the caller's.
func (c *call) failed(ctx context.Context, err error) (provider.Response, error) {
	err = c.classify(ctx, err)
	resp := provider.Response{RawText: c.out.all(), FinishReason: provider.Failed}
	if e, ok := errors.AsType[*provider.Error](err); ok { // in a *Limited, too
		e.Message = provider.Clip(c.Redact.String(e.Message), provider.MaxMessage)
		resp = e.Response(resp.RawText, 0)
	}
	return resp, err
}

func (c *call) classify(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refusal, ok := errors.AsType[*StatusError](err); ok {
		now := time.Now()
		refusal.Body = c.Redact.Bytes(refusal.Body) // before it is clipped: half a secret is not found
		return limit(refusal.classify(now), refusal.Header, now)
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*provider.Exhausted](err); ok {
		return e
	}
	fail := func(code provider.Code, retriable bool, format string, args ...any) error {
		return &provider.Error{Code: code, Message: fmt.Sprintf(format, args...), Retriable: retriable}
	}
	switch {
	case errors.Is(err, errFlood):
		return fail(provider.BadRequest, false, "%v: it was cut off after %d bytes of text", err, len(c.out.kept))
	case errors.Is(err, errNoStream):
		return fail(provider.BadRequest, false, "%v: check its base URL", err)
	case errors.Is(err, errIdle):
		return fail(provider.Timeout, true, "%v for %v", err, c.Idle)
	case errors.Is(err, errLate):
		return fail(provider.Timeout, true, "no whole answer within %v", c.req.Constraints.Timeout())
	}
	return provider.ClassifyTransport(ctx, err)
}
