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

	"github.com/ratchet-dev/ratchet/internal/provider"
)

// authRequired is the code of the protocol for an agent that is not logged in.
const authRequired = -32000

// apiError is how the bridge to Claude Code reports what the model's API said.
var apiError = regexp.MustCompile(`API Error: (\d{3})\s*(.*)`)

// words tell the status of the model's API where an agent keeps it to itself.
var words = []struct {
	status int
	text   *regexp.Regexp
}{
	{http.StatusUnauthorized, regexp.MustCompile(`(?i)unauthorized|\bapi.?key\b|authentication|ProviderAuthError`)},
	{http.StatusTooManyRequests, regexp.MustCompile(`(?i)rate.?limit|too many requests|quota`)},
	{http.StatusServiceUnavailable, regexp.MustCompile(`(?i)overloaded|unavailable`)},
	// Opencode repeats what may help: what it reports after that is final.
	{http.StatusBadRequest, regexp.MustCompile(`"errorName":"APIError"`)},
}

// classify says what an error that the agent answered with means for a retry.
// Gemini answers with the status of the model's API for a code, others with an
// internal error and a text.
func classify(err error) *provider.Error {
	said, ok := errors.AsType[*sdk.RequestError](err)
	if !ok {
		return failure(provider.Unknown, true, err.Error())
	}
	text := describe(said)
	switch {
	case said.Code == authRequired:
		return failure(provider.Auth, false, text)
	case said.Code <= -32600 && said.Code >= -32602: // the agent could not take it
		return failure(provider.BadRequest, false, text)
	case said.Code >= 400 && said.Code < 600:
		return provider.ClassifyHTTP(said.Code, nil, []byte(said.Message), time.Now())
	}
	if at := apiError.FindStringSubmatch(said.Message); at != nil {
		status, _ := strconv.Atoi(at[1])
		if e := provider.ClassifyHTTP(status, nil, []byte(at[2]), time.Now()); e != nil {
			return e
		}
	}
	if e := byWords(text); e != nil {
		return e
	}
	return failure(provider.Unknown, true, text)
}

// byWords is what the words of a text stand for; nil for nothing.
func byWords(text string) *provider.Error {
	for _, w := range words {
		if w.text.MatchString(text) {
			e := provider.ClassifyHTTP(w.status, nil, []byte(text), time.Now())
			// The status is a guess, and not to be told.
			e.Message = strings.Replace(e.Message, fmt.Sprintf("HTTP %d %s: ", w.status, http.StatusText(w.status)), "", 1)
			return e
		}
	}
	return nil
}

func failure(code provider.Code, retriable bool, text string) *provider.Error {
	return &provider.Error{Code: code, Message: provider.Clip(text, provider.MaxMessage), Retriable: retriable}
}

// describe is the message of an error and what its data add to it.
func describe(e *sdk.RequestError) string {
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
