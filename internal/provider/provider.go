// Package provider defines the interface to every program or API that turns a prompt into an answer: the
// request, the response and the errors of docs/contracts/run.md, 2, and the classifier of HTTP answers. A
// provider changes nothing and decides nothing; the caller decides about retries. The package does no I/O.
// Its sub-packages do, and package catalog opens them by their specs.
package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/exact"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Provider turns a request into a raw answer. It is safe for concurrent use.
type Provider interface {
	Capabilities() Capabilities

	// Generate makes one call and never retries by itself. The Response holds
	// everything that was received, on an error too.
	//
	// A failure of the provider is a *failure.Error, and the Response comes from FailedResponse. When ctx ends first, the
	// error is ctx.Err(). A call that can continue, but not by a retry alone, has not failed: the Response holds its halt.
	//
	// Unless progress is nil, Generate calls it with the amount received so far: often, from
	// one goroutine at a time, and never after Generate has returned.
	Generate(ctx context.Context, req Request, progress func(Progress)) (Response, error)
}

// Capabilities describes the abilities of a provider.
type Capabilities struct {
	Name               string `json:"name"`
	Version            string `json:"version,omitempty"`
	SupportsPatchFirst bool   `json:"supportsPatchFirst"`
	SupportsStreaming  bool   `json:"supportsStreaming,omitempty"`
	SupportsToolCalls  bool   `json:"supportsToolCalls,omitempty"`
	MaxContextTokens   int    `json:"maxContextTokens,omitempty"` // zero: not known
	// Explores says that the provider reads the run's files itself, by Work.Site. Edits
	// says that it changes them in the site's checkout and answers with Changes.
	Explores bool `json:"explores,omitempty"`
	Edits    bool `json:"edits,omitempty"`
}

// Request is one prompt to one role.
type Request struct {
	RunID     run.ID    `json:"runId"`
	Iteration int       `json:"iteration"`
	Phase     run.Phase `json:"phase"`
	Role      run.Role  `json:"role"`
	// Call counts the calls of the same phase in the same iteration, from 1;
	// zero means 1. Attempts of one call share its number.
	Call int `json:"call,omitempty"`
	// Candidate is the number of the candidate in a contest, from 1; zero if the call is part of none.
	Candidate        int         `json:"attempt,omitempty"`
	Prompt           Prompt      `json:"prompt"`
	ContextArtifacts Artifacts   `json:"contextArtifacts"`
	Constraints      Constraints `json:"constraints"`
	Work             Work        `json:"-"`
}

// Prompt is the text that the model gets.
type Prompt struct {
	System string `json:"system"`
	User   string `json:"user"`
}

// Artifact is a text that goes with the prompt.
type Artifact struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Constraints bound the answer.
type Constraints struct {
	TimeoutMs       int64    `json:"timeoutMs"`
	MaxOutputTokens int      `json:"maxOutputTokens,omitempty"` // zero: the provider's own limit
	Temperature     *float64 `json:"temperature,omitempty"`
	PatchFirst      bool     `json:"patchFirst"` // demanded of developer and fixer
}

// Timeout returns TimeoutMs as a duration.
func (c Constraints) Timeout() time.Duration { return time.Duration(c.TimeoutMs) * time.Millisecond }

// Validate returns an error that names the rules of the contract that the request breaks.
func (r Request) Validate() error {
	var errs []error
	refuse := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	if err := r.RunID.Validate(); err != nil {
		errs = append(errs, err)
	}
	refuse(r.Role == "" || r.Phase.Role() != r.Role, "role %q does not serve phase %q", r.Role, r.Phase)
	refuse(r.Iteration < 1, "iteration %d: they count from 1", r.Iteration)
	refuse(r.Call < 0, "call %d: they count from 1", r.Call)
	ms := r.Constraints.TimeoutMs
	refuse(ms <= 0 || ms > math.MaxInt64/int64(time.Millisecond), "a timeout of %d ms", ms)
	if t := r.Constraints.Temperature; t != nil {
		refuse(!(*t >= 0 && *t <= math.MaxFloat64), "a temperature of %v", *t)
	}
	patches := r.Role == run.Developer || r.Role == run.Fixer
	refuse(patches && !r.Constraints.PatchFirst, "the %s must be asked patch first", r.Role)
	return errors.Join(errs...)
}

// Check returns the error of Validate as providers report it: BAD_REQUEST, not retriable.
func (r Request) Check() *failure.Error {
	if err := r.Validate(); err != nil {
		return &failure.Error{Code: failure.BadRequest, Message: "request: " + err.Error()}
	}
	return nil
}

// Artifacts marshal to a list, never to null.
type Artifacts []Artifact

// MarshalJSON implements json.Marshaler.
func (a Artifacts) MarshalJSON() ([]byte, error) {
	if a == nil {
		return []byte("[]"), nil
	}
	var list bytes.Buffer
	enc := json.NewEncoder(&list)
	enc.SetEscapeHTML(false) // the marshaler of the request decides
	err := enc.Encode([]Artifact(a))
	return list.Bytes(), err
}

// Response is the result of a call.
type Response struct {
	RawText      string         `json:"rawText"` // verbatim
	FinishReason FinishReason   `json:"finishReason"`
	Usage        *run.Usage     `json:"usage,omitempty"` // nil: not known
	DurationMs   int64          `json:"durationMs"`
	Error        *failure.Error `json:"error,omitempty"`
	// Halt says why there is no answer although nothing has failed; nil: the call was answered, or has failed. Of a
	// permission it holds what the agent reports, and Asked holds the whole input of its tool.
	Halt  *run.Halt       `json:"-"`
	Asked json.RawMessage `json:"-"`
	// Changes is the diff of an agent's work in its checkout; empty when the agent
	// changed nothing, or has no checkout.
	Changes []byte `json:"-"`
}

// FailedResponse returns the response of a call that ended in e after raw was received.
func FailedResponse(e *failure.Error, raw string, took time.Duration) Response {
	finish := Failed
	if e.Code == failure.Timeout {
		finish = TimedOut
	}
	return Response{RawText: raw, FinishReason: finish, DurationMs: took.Milliseconds(), Error: e}
}

// FinishReason says why the output ended.
type FinishReason string

// The finish reasons.
const (
	Stop     FinishReason = "stop"
	Length   FinishReason = "length" // the output limit was reached
	TimedOut FinishReason = "timeout"
	Failed   FinishReason = "error"
)

func (f *FinishReason) UnmarshalText(b []byte) error {
	return exact.Word(f, b, "finish reason", Stop, Length, TimedOut, Failed)
}

// MaxTail bounds Progress.Tail.
const MaxTail = 512

// Progress is the state of a call that has not ended.
type Progress struct {
	Bytes int64  `json:"bytes"`
	Tail  string `json:"tail,omitempty"`  // the last MaxTail bytes at most, whole runes of UTF-8
	Doing string `json:"doing,omitempty"` // the current action of an agent, in a line
	// Used is the usage of the call so far, as far as it is known.
	Used run.Usage `json:"used,omitzero"`
	// Steers says that the agent takes the notes of people into the current turn.
	Steers bool `json:"steers,omitempty"`
}

// Tail returns the end of b, for Progress: at most MaxTail bytes. It replaces bytes that are not UTF-8.
func Tail(b []byte) string {
	if over := len(b) - MaxTail; over > 0 {
		for b = b[over:]; len(b) > 0 && !utf8.RuneStart(b[0]); b = b[1:] {
		}
	}
	return string(bytes.ToValidUTF8(b, []byte("?")))
}
