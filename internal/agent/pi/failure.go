package pi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/provider"
)

// apiError is how pi repeats what the API of a model said: the status, in some
// wires after the name of the API and in brackets, and the body.
var apiError = regexp.MustCompile(`(?s)^(?:[^(){}]{0,80}\()?([45]\d\d)\)?:?\s+(.*)$`)

// words are what stands for a status where there is none.
var words = []struct {
	status int
	text   *regexp.Regexp
}{
	{http.StatusUnauthorized, regexp.MustCompile(`(?i)no api key|no model selected|authentication failed|unauthorized|/login`)},
	{http.StatusPaymentRequired, regexp.MustCompile(`(?i)insufficient_quota|usage limit reached|out of budget|quota exceeded|\bbilling\b`)},
	{http.StatusTooManyRequests, regexp.MustCompile(`(?i)rate.?limit|too many requests|usage limit`)},
	{http.StatusServiceUnavailable, regexp.MustCompile(`(?i)overloaded|unavailable`)},
}

// resets is how pi says until when a subscription is used up.
var resets = regexp.MustCompile(`Try again in ~(\d+) min`)

// classify says what an error that pi gave up on means for a retry.
func classify(text string) error {
	now := time.Now()
	if text == "" {
		text = "the turn failed without a word"
	}
	status, body, guessed := 0, text, false
	if at := apiError.FindStringSubmatch(text); at != nil {
		status, _ = strconv.Atoi(at[1])
		body = wrapped(at[2])
	} else {
		status, guessed = byWords(text), true
	}
	e := provider.ClassifyHTTP(status, nil, []byte(body), now)
	if status == 0 {
		return failed(provider.Unknown, true, "%s", text)
	}
	if guessed { // the status is not to be told
		e.Message = strings.Replace(e.Message, fmt.Sprintf("HTTP %d %s: ", status, http.StatusText(status)), "", 1)
	}
	if at := resets.FindStringSubmatch(text); at != nil && e.Code == provider.RateLimit {
		minutes, _ := strconv.Atoi(at[1])
		return &provider.Limited{Until: now.Add(time.Duration(minutes+1) * time.Minute), Cause: e}
	}
	return e
}

func byWords(text string) int {
	for _, w := range words {
		if w.text.MatchString(text) {
			return w.status
		}
	}
	return 0
}

// wrapped is the body of an error as APIs send it: of some pi passes on only
// what they wrap in an error member.
func wrapped(body string) string {
	var in map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &in) != nil || in["error"] != nil {
		return body
	}
	return `{"error":` + body + `}`
}

func failed(code provider.Code, retriable bool, format string, args ...any) *provider.Error {
	return &provider.Error{Code: code, Message: provider.Clip(fmt.Sprintf(format, args...), provider.MaxMessage), Retriable: retriable}
}
