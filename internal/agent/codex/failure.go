package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// turnError is the error of a turn (CLIENT.md, 3 and 10).
type turnError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"`
}

// parseTurnError returns nil if there is no error.
func parseTurnError(raw json.RawMessage) *turnError {
	var e *turnError
	if len(raw) > 0 && json.Unmarshal(raw, &e) != nil {
		return &turnError{Message: string(raw)}
	}
	return e
}

// nameAndStatus returns the name of the error, and its HTTP status if it carries
// one; zero means none.
func (e *turnError) nameAndStatus() (name string, status int) {
	if json.Unmarshal(e.Info, &name) == nil {
		return name, 0
	}
	var carried map[string]struct {
		Status int `json:"httpStatusCode"`
	}
	json.Unmarshal(e.Info, &carried) // members of another type carry none
	for name, c := range carried {
		return name, c.Status
	}
	return "", 0
}

// errorKinds holds the errors whose name alone determines the code.
var errorKinds = map[string]failure.Error{
	"rateLimitExceeded":           {Code: failure.RateLimit, Retriable: true},
	"serverOverloaded":            {Code: failure.RateLimit, Retriable: true},
	"flexUnavailable":             {Code: failure.RateLimit, Retriable: true},
	"policyCapacityUnavailable":   {Code: failure.RateLimit, Retriable: true},
	"usageLimitExceeded":          {Code: failure.RateLimit},
	"sessionBudgetExceeded":       {Code: failure.RateLimit},
	"unauthorized":                {Code: failure.Auth},
	"contextWindowExceeded":       {Code: failure.BadRequest},
	"badRequest":                  {Code: failure.BadRequest},
	"sandboxError":                {Code: failure.BadRequest},
	"modelNotFound":               {Code: failure.BadRequest},
	"inferenceHookDenied":         {Code: failure.BadRequest},
	"cyberPolicy":                 {Code: failure.BadRequest},
	"misalignmentPolicyViolation": {Code: failure.BadRequest},
	"tooManyDenials":              {Code: failure.BadRequest},
	"internalServerError":         {Code: failure.Unknown, Retriable: true},
}

// providerError returns the error that says whether e can be retried. A nil e is
// a failure without a stated reason.
func (e *turnError) providerError(l limits, now time.Time) error {
	if e == nil {
		return &failure.Error{Code: failure.Unknown, Message: "codex failed without a reason", Retriable: true}
	}
	name, status := e.nameAndStatus()
	if status != 0 {
		if byStatus := failure.ClassifyHTTP(status, nil, []byte(e.Message), now); byStatus != nil {
			return byStatus
		}
	}
	known, ok := errorKinds[name]
	if !ok {
		return e.classifyText(now)
	}
	known.Message = e.Message
	if name == "contextWindowExceeded" {
		known.Message = failure.TooLong + ": " + e.Message
	}
	known.Message = display.Clip(known.Message, failure.MaxMessage)
	if until, told := l.resetTime(now); told && name == "usageLimitExceeded" {
		return &failure.Limited{Until: until, Cause: &known}
	}
	return &known
}

// classifyText classifies errors without a name of their own by their text: the
// body of an HTTP 400, a missing key, and a stream that was cut off
// (CLIENT.md, 10).
func (e *turnError) classifyText(now time.Time) *failure.Error {
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal([]byte(e.Message), &body) == nil && len(body.Error) > 0 {
		return failure.ClassifyHTTP(http.StatusBadRequest, nil, []byte(e.Message), now)
	}
	message := display.Clip(e.Message, failure.MaxMessage)
	if strings.Contains(e.Message, "Missing environment variable") {
		return &failure.Error{Code: failure.Auth, Message: message}
	}
	return &failure.Error{Code: failure.Unknown, Message: message, Retriable: true}
}

// refusalError returns the error of a refused request. It reads the structure
// first and the text second (CLIENT.md, 5).
func refusalError(e *rpcError) error {
	var data struct {
		Info json.RawMessage `json:"codexErrorInfo"`
	}
	json.Unmarshal(e.Data, &data) // members of another type stay empty
	problem := turnError{Message: e.Message, Info: data.Info}
	if name, _ := problem.nameAndStatus(); name != "" {
		return problem.providerError(nil, time.Now())
	}
	if isUnknownThread(e) {
		return agent.ErrNoSession
	}
	failed := &failure.Error{Code: failure.Unknown, Message: display.Clip(e.Error(), failure.MaxMessage), Retriable: true}
	switch {
	case e.Code == overloaded:
		failed.Code = failure.RateLimit
	case e.says("already has an active writer"): // until that writer's process has ended
	case e.Code == invalidRequest, e.Code == methodNotFound, e.Code == invalidParams:
		failed.Code, failed.Retriable = failure.BadRequest, false
	}
	return failed
}

// turnStartError returns the error of a turn that did not begin.
func turnStartError(err error) error {
	var e *rpcError
	if errors.As(err, &e) {
		return refusalError(e)
	}
	return unknownOutcome("turn/start: %v", err)
}

// unknownOutcome is the error of a turn whose effects are not known. It must not
// be retried automatically.
func unknownOutcome(format string, args ...any) *failure.Error {
	return &failure.Error{Code: failure.Unknown, Message: fmt.Sprintf(format, args...)}
}
