// Package failure holds the error that a provider or an agent reports, with the codes of the contract. It
// decides what a failure means for a retry, and imports nothing of this module.
package failure

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// Code is the kind of a failure.
type Code string

// The error codes of the contract.
const (
	Timeout    Code = "TIMEOUT"
	RateLimit  Code = "RATE_LIMIT"
	Auth       Code = "AUTH"
	BadRequest Code = "BAD_REQUEST"
	Unknown    Code = "UNKNOWN"
)

// Codes lists every error code.
var Codes = []Code{Timeout, RateLimit, Auth, BadRequest, Unknown}

func (c *Code) UnmarshalText(b []byte) error { return exact.Word(c, b, "error code", Codes...) }

// MaxMessage bounds Error.Message where a provider makes it, because error texts enter the workflow's
// history.
const MaxMessage = 1 << 10

// TooLong begins the message of a BAD_REQUEST whose prompt does not fit the model's window. A shorter
// prompt may fit.
const TooLong = "context too long"

// MaxRetryAfter is the longest wait that a provider may ask for.
const MaxRetryAfter = 10 * time.Minute

// Error is a failure of the provider.
type Error struct {
	Code      Code
	Message   string
	Retriable bool // retrying may help; when it is false, a retry is forbidden
	// RetryAfter is the wait that the provider asked for; zero if it asked for none.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// wireError is Error in JSON. RetryAfterMs is ours; the contract defines the other members.
type wireError struct {
	Code         Code   `json:"code"`
	Message      string `json:"message"`
	Retriable    bool   `json:"retriable"`
	RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
}

// MarshalJSON writes the contract's members, and retryAfterMs when it is known.
func (e Error) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireError{e.Code, e.Message, e.Retriable, e.RetryAfter.Milliseconds()})
}

// UnmarshalJSON refuses an unknown code.
func (e *Error) UnmarshalJSON(b []byte) error {
	var w wireError
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*e = Error{w.Code, w.Message, w.Retriable, time.Duration(w.RetryAfterMs) * time.Millisecond}
	return nil
}

// Limited is the error of a call that a usage limit refused until a stated
// time.
type Limited struct {
	Until time.Time
	Cause *Error
}

func (l *Limited) Error() string {
	return fmt.Sprintf("limited until %s: %v", l.Until.UTC().Format(time.RFC3339), l.Cause)
}

// Unwrap returns the failure itself.
func (l *Limited) Unwrap() error { return l.Cause }
