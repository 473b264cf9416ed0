package openclaw

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// refusal is the error of an answer.
type refusal struct {
	Code         string  `json:"code"`
	Message      string  `json:"message"`
	Details      details `json:"details"`
	Retryable    bool    `json:"retryable"`
	RetryAfterMs int64   `json:"retryAfterMs"`
}

type details struct {
	Code    string `json:"code"`
	Reason  string `json:"reason"`
	Request string `json:"requestId"`
	Missing string `json:"missingScope"`
}

// UnmarshalJSON ignores members of another type: the form of the details depends on
// the method.
func (d *details) UnmarshalJSON(b []byte) error {
	type plain details
	_ = json.Unmarshal(b, (*plain)(d))
	return nil
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Message) }

// isGone reports whether the refusal says that a permission request no longer waits.
func (r *refusal) isGone() bool {
	return slices.Contains([]string{"APPROVAL_NOT_FOUND", "APPROVAL_ALREADY_RESOLVED"}, r.Details.Reason) ||
		r.Code == "APPROVAL_NOT_FOUND"
}

// classifyError says whether a refusal can be retried. It returns other errors
// unchanged.
func classifyError(err error) error {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return err
	}
	e := &failure.Error{Code: failure.BadRequest, Message: "the gateway: " + r.Message}
	switch {
	case r.Details.Code == "AUTH_RATE_LIMITED":
		e.Code, e.Retriable = failure.RateLimit, true
	case r.Details.Code == "PAIRING_REQUIRED":
		e.Code = failure.Auth
		e.Message += fmt.Sprintf(": approve this device where the gateway runs, with openclaw devices approve %s", r.Details.Request)
	case strings.HasPrefix(r.Details.Code, "AUTH_"):
		e.Code = failure.Auth
		e.Message += ": check " + TokenVariable
	case strings.HasPrefix(r.Details.Code, "DEVICE_"), r.Code == "NOT_PAIRED", r.Code == "FORBIDDEN":
		e.Code = failure.Auth
	case r.Retryable, r.Code == "UNAVAILABLE":
		e.Code, e.Retriable = failure.Unknown, true
	}
	if e.Retriable {
		e.RetryAfter = min(time.Duration(r.RetryAfterMs)*time.Millisecond, failure.MaxRetryAfter)
	}
	e.Message = display.Clip(e.Message, failure.MaxMessage)
	return e
}

// trouble is the part of a chat event that describes a failed run.
type trouble struct {
	Text   string `json:"errorMessage"`
	Kind   string `json:"errorKind"`
	Detail struct {
		Reason  string `json:"failoverReason"`
		Status  int    `json:"httpStatus"`
		Preview string `json:"providerErrorMessagePreview"`
	} `json:"errorDetail"`
}

// errorKinds holds the errors for the gateway's words for a failure of the model's
// API. The gateway's own retries are over by then.
var errorKinds = map[string]failure.Error{
	"auth":               {Code: failure.Auth},
	"auth_permanent":     {Code: failure.Auth},
	"auth_invalid_token": {Code: failure.Auth},
	"billing":            {Code: failure.RateLimit},
	"rate_limit":         {Code: failure.RateLimit, Retriable: true},
	"timeout":            {Code: failure.Timeout, Retriable: true},
	"context_overflow":   {Code: failure.BadRequest},
	"context_length":     {Code: failure.BadRequest},
	"format":             {Code: failure.BadRequest},
	"model_not_found":    {Code: failure.BadRequest},
	"refusal":            {Code: failure.BadRequest},
	"tls_certificate":    {Code: failure.BadRequest},
}

// providerError returns the failure. A word counts more than the status, since it is
// more specific. A failure without a known word can be retried.
func (t trouble) providerError(now time.Time) *failure.Error {
	text := strings.TrimSpace(strings.TrimPrefix(t.Text, "⚠️"))
	if t.Detail.Preview != "" {
		text += ": " + t.Detail.Preview
	}
	e, known := errorKinds[t.Detail.Reason]
	if !known {
		e, known = errorKinds[t.Kind]
	}
	if !known && t.Detail.Status >= 400 {
		return failure.ClassifyHTTP(t.Detail.Status, nil, []byte(text), now)
	}
	if !known {
		e = failure.Error{Code: failure.Unknown, Retriable: true}
	}
	e.Message = display.Clip("the gateway: "+text, failure.MaxMessage)
	return &e
}
