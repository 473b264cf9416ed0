package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

const (
	// unknownSession is the client's text for an id that it does not know: in the
	// errors of a result, and on its standard error (CLIENT.md, 8).
	unknownSession = "No conversation found with session ID"
	rootRefused    = "full access: Claude Code refuses to bypass permissions as root; run the worker as another user"
)

// statusOfWord maps the client's words for errors to HTTP statuses, for errors
// without a status (CLIENT.md, 9).
var statusOfWord = map[string]int{
	"authentication_failed": http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"invalid_request":       http.StatusBadRequest,
	"model_not_found":       http.StatusNotFound,
	"rate_limit":            http.StatusTooManyRequests,
}

// turnError returns the error of a failed turn. Word is the client's own word
// for it.
func (s *session) turnError(r resultFrame, word string) error {
	text := errorText(r)
	switch {
	case strings.Contains(text, unknownSession):
		return agent.ErrNoSession
	case strings.HasPrefix(r.Subtype, "error_max_"): // limits that the caller set
		return badRequest("%s", text)
	}
	until := s.limit
	if said, ok := parseReset(text); ok {
		until, word = said, "rate_limit"
	}
	e := classifyError(r.Status, word, text)
	if e.Code == failure.RateLimit && until.After(time.Now()) {
		return &failure.Limited{Until: until, Cause: e}
	}
	return e
}

// errorText returns the error text of a result. The diagnostics of an abort are
// left out: they are for the client's developers (CLIENT.md, 5).
func errorText(r resultFrame) string {
	if r.Text != "" {
		return r.Text
	}
	var said []string
	for _, text := range r.Errors {
		if !strings.HasPrefix(text, "[ede_diagnostic]") {
			said = append(said, text)
		}
	}
	if len(said) == 0 {
		return "the turn failed without a reason: " + r.Subtype
	}
	return strings.Join(said, "; ")
}

// classifyError says whether an error of the API can be retried. An error without
// a status never reached the API, or was cut off.
func classifyError(status int, word, text string) *failure.Error {
	status = cmp.Or(status, statusOfWord[word])
	if status == 0 {
		return newError(failure.Unknown, true, "%s", text)
	}
	return failure.ClassifyHTTP(status, nil, []byte(text), time.Now())
}

// resetPattern matches the text of a used-up subscription; the number is the
// time of its reset in seconds since 1970 (public reports: Claude AI usage limit
// reached|1755615600).
var resetPattern = regexp.MustCompile(`usage limit reached\|(\d+)`)

func parseReset(text string) (time.Time, bool) {
	found := resetPattern.FindStringSubmatch(text)
	if found == nil {
		return time.Time{}, false
	}
	n, err := strconv.ParseFloat(found[1], 64)
	return epochTime(n), err == nil
}

// epochTime converts seconds since 1970, and milliseconds, which public reports
// have as well.
func epochTime(n float64) time.Time {
	if n > 1e11 {
		n /= 1000
	}
	return time.Unix(int64(n), 0)
}

// takeRateLimit stores until when a subscription is used up. The turn that fails
// because of it does not say until when.
func (s *session) takeRateLimit(line []byte) bool {
	var f rateFrame
	if json.Unmarshal(line, &f) != nil {
		return false
	}
	s.limit = time.Time{}
	if f.Info.Status == "rejected" && f.Info.ResetsAt > 0 {
		s.limit = epochTime(f.Info.ResetsAt)
	}
	s.Queue.Put(agent.Notice{Name: "rate_limit_event", Data: line})
	return true
}

func newError(code failure.Code, retriable bool, format string, args ...any) *failure.Error {
	return &failure.Error{Code: code, Message: display.Clip(fmt.Sprintf(format, args...), failure.MaxMessage), Retriable: retriable}
}

func unavailableError(why string) error {
	return fmt.Errorf("%w: %s", agent.ErrUnavailable, display.Clip(why, failure.MaxMessage))
}
