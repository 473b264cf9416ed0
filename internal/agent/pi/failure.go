package pi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// apiError matches an error of a model's API as pi repeats it: the status, in some
// wires after the name of the API and in brackets, and the body.
var apiError = regexp.MustCompile(`(?s)^(?:[^(){}]{0,80}\()?([45]\d\d)\)?:?\s+(.*)$`)

// statusPatterns guess the status from the text if there is none.
var statusPatterns = []struct {
	status int
	text   *regexp.Regexp
}{
	{http.StatusUnauthorized, regexp.MustCompile(`(?i)no api key|no model selected|authentication failed|unauthorized|/login`)},
	{http.StatusPaymentRequired, regexp.MustCompile(`(?i)insufficient_quota|usage limit reached|out of budget|quota exceeded|\bbilling\b`)},
	{http.StatusTooManyRequests, regexp.MustCompile(`(?i)rate.?limit|too many requests|usage limit`)},
	{http.StatusServiceUnavailable, regexp.MustCompile(`(?i)overloaded|unavailable`)},
}

// resetPattern matches the time until the reset of a used-up subscription.
var resetPattern = regexp.MustCompile(`Try again in ~(\d+) min`)

// classifyError says whether an error at which pi gave up can be retried.
func classifyError(text string) error {
	now := time.Now()
	text = cmp.Or(text, "the turn failed without a reason")
	status, body, guessed := 0, text, false
	if at := apiError.FindStringSubmatch(text); at != nil {
		status, _ = strconv.Atoi(at[1])
		body = wrapError(at[2])
	} else {
		status, guessed = guessStatus(text), true
	}
	e := failure.ClassifyHTTP(status, nil, []byte(body), now)
	if status == 0 {
		return newError(failure.Unknown, true, "%s", text)
	}
	if guessed { // a guessed status is left out of the message
		e.Message = strings.Replace(e.Message, fmt.Sprintf("HTTP %d %s: ", status, http.StatusText(status)), "", 1)
	}
	if at := resetPattern.FindStringSubmatch(text); at != nil && e.Code == failure.RateLimit {
		minutes, _ := strconv.Atoi(at[1])
		return &failure.Limited{Until: now.Add(time.Duration(minutes+1) * time.Minute), Cause: e}
	}
	return e
}

func guessStatus(text string) int {
	for _, w := range statusPatterns {
		if w.text.MatchString(text) {
			return w.status
		}
	}
	return 0
}

// wrapError returns the body of an error in the form that APIs send: pi removes the
// enclosing error member of some.
func wrapError(body string) string {
	var in map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &in) != nil || in["error"] != nil {
		return body
	}
	return `{"error":` + body + `}`
}

func newError(code failure.Code, retriable bool, format string, args ...any) *failure.Error {
	return &failure.Error{Code: code, Message: display.Clip(fmt.Sprintf(format, args...), failure.MaxMessage), Retriable: retriable}
}
