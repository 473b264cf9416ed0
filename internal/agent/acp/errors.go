package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// authRequired is the protocol's code for an agent that is not logged in.
const authRequired = -32000

// apiError matches the errors of the model's API in the reports of the bridge to
// Claude Code.
var apiError = regexp.MustCompile(`API Error: (\d{3})\s*(.*)`)

// statusPatterns guess the status of the model's API from the text, for agents
// that do not report it.
var statusPatterns = []struct {
	status int
	text   *regexp.Regexp
}{
	{http.StatusUnauthorized, regexp.MustCompile(`(?i)unauthorized|\bapi.?key\b|authentication|ProviderAuthError`)},
	{http.StatusTooManyRequests, regexp.MustCompile(`(?i)rate.?limit|too many requests|quota`)},
	{http.StatusServiceUnavailable, regexp.MustCompile(`(?i)overloaded|unavailable`)},
	// Opencode itself retries where that may help: the errors that it reports are final.
	{http.StatusBadRequest, regexp.MustCompile(`"errorName":"APIError"`)},
}

// classifyError says whether an error of the agent can be retried. Gemini answers
// with the status of the model's API as the code, others with an internal error
// and a text.
func classifyError(err error) *failure.Error {
	said, ok := errors.AsType[*sdk.RequestError](err)
	if !ok {
		return newError(failure.Unknown, true, err.Error())
	}
	text := describeError(said)
	switch {
	case said.Code == authRequired:
		return newError(failure.Auth, false, text)
	case said.Code <= -32600 && said.Code >= -32602: // the agent could not read the request
		return newError(failure.BadRequest, false, text)
	case said.Code >= 400 && said.Code < 600:
		return failure.ClassifyHTTP(said.Code, nil, []byte(said.Message), time.Now())
	}
	if at := apiError.FindStringSubmatch(said.Message); at != nil {
		status, _ := strconv.Atoi(at[1])
		if e := failure.ClassifyHTTP(status, nil, []byte(at[2]), time.Now()); e != nil {
			return e
		}
	}
	if e := classifyText(text); e != nil {
		return e
	}
	return newError(failure.Unknown, true, text)
}

// classifyText returns the error that a text stands for; nil for none.
func classifyText(text string) *failure.Error {
	for _, w := range statusPatterns {
		if w.text.MatchString(text) {
			e := failure.ClassifyHTTP(w.status, nil, []byte(text), time.Now())
			// The status is a guess, so it is left out of the message.
			e.Message = strings.Replace(e.Message, fmt.Sprintf("HTTP %d %s: ", w.status, http.StatusText(w.status)), "", 1)
			return e
		}
	}
	return nil
}

func newError(code failure.Code, retriable bool, text string) *failure.Error {
	return &failure.Error{Code: code, Message: display.Clip(text, failure.MaxMessage), Retriable: retriable}
}

// describeError returns the message of an error, with its data.
func describeError(e *sdk.RequestError) string {
	text := e.Message
	switch data := e.Data.(type) {
	case nil:
	case string:
		text += ": " + data
	default:
		if b, err := json.Marshal(data); err == nil {
			text += ": " + string(b)
		}
	}
	return text
}
