package failure

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// ClassifyHTTP returns the meaning of a model API's answer for a retry (docs/contracts/run.md, 13). body
// is the head of the answer, as much as was read. A success is nil.
func ClassifyHTTP(status int, header http.Header, body []byte, now time.Time) *Error {
	if status >= 200 && status < 300 {
		return nil
	}
	said := readProblem(body)
	named := WaitIn(body)
	e := &Error{Code: codeOfStatus(status), Message: describeStatus(status, said.text)}
	e.Retriable = e.Code == Unknown || e.Code == Timeout || e.Code == RateLimit
	switch {
	case status >= 500: // the server's own failure, whatever its text says
	case status == http.StatusPaymentRequired || said.isBilling() || said.isQuota() && named == 0:
		e.Code, e.Retriable = RateLimit, false
		e.Message = "quota or credit exhausted: " + e.Message
	case status == http.StatusRequestEntityTooLarge || status != http.StatusTooManyRequests && said.isTooLong():
		e.Code, e.Retriable = BadRequest, false
		e.Message = TooLong + ": " + e.Message
	}
	if e.Retriable {
		e.RetryAfter = cmp.Or(readRetryAfter(header, now), min(named, MaxRetryAfter))
	}
	e.Message = display.Clip(e.Message, MaxMessage)
	return e
}

// codeOfStatus returns the error code of an HTTP status.
func codeOfStatus(status int) Code {
	switch status {
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return Timeout
	case http.StatusTooManyRequests:
		return RateLimit
	case http.StatusUnauthorized, http.StatusForbidden:
		return Auth
	case http.StatusConflict, http.StatusTooEarly:
		return Unknown
	}
	if status >= 500 { // 529, overloaded, among them
		return Unknown
	}
	return BadRequest
}

// describeStatus returns an HTTP status and the text of its answer in one line.
func describeStatus(status int, text string) string {
	s := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
	if text != "" {
		s += ": " + text
	}
	return s
}

// problem holds the content of an API's error body. OpenAI and Anthropic both wrap {type, code, message}
// in an "error" member.
type problem struct {
	words []string // type and code, lower case
	text  string
}

// readProblem reads an API's error body.
func readProblem(body []byte) problem {
	type document struct {
		Error struct {
			Type    string `json:"type"`
			Code    any    `json:"code"` // a word or a number
			Message string `json:"message"`
		} `json:"error"`
	}
	body = bytes.TrimPrefix(bytes.TrimSpace(body), []byte("\ufeff"))
	text := string(body)
	var doc document
	if list := []document(nil); bytes.HasPrefix(body, []byte("[")) && json.Unmarshal(body, &list) == nil && len(list) > 0 { // Gemini
		doc = list[0]
	} else if json.Unmarshal(body, &doc) != nil {
		return problem{text: text}
	}
	if doc.Error.Message == "" {
		return problem{text: text}
	}
	code, _ := doc.Error.Code.(string)
	return problem{[]string{strings.ToLower(doc.Error.Type), strings.ToLower(code)}, doc.Error.Message}
}

// isBilling reports whether a credit is exhausted, which no wait brings back.
func (p problem) isBilling() bool {
	return p.hasWord("insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active") ||
		p.hasPhrase("credit balance is too low")
}

// isQuota reports whether a quota is exhausted: for a minute, for a day, or until the bill is paid.
func (p problem) isQuota() bool { return p.hasPhrase("exceeded your current quota") }

// tooLong matches what servers say of a prompt that is too long for the model.
var tooLong = regexp.MustCompile(`(?i)\b(?:input|prompt|request|messages?)\b[^.]{0,60}\b(?:too (?:long|large)\b|exceed)|\b(?:maximum|max) (?:prompt|input|context) (?:length|size|tokens)|\bcontext (?:length|window|size|limit)\b`)

// outputWords matches an error about a limit of the answer's length. A shorter prompt does not help.
var outputWords = regexp.MustCompile(`(?i)max_(?:completion_|output_)?tokens\b[^.]{0,20}\b(?:too large|at most|less than|must be)\b`)

// isTooLong reports whether the prompt is too long for the model.
func (p problem) isTooLong() bool {
	return p.hasWord("context_length_exceeded", "request_too_large", "exceed_context_size_error") ||
		tooLong.MatchString(p.text) && !outputWords.MatchString(p.text)
}

// waitForms match the waits that error texts name: the retryDelay of Google's RetryInfo, and sentences such as "Please
// try again in 6m0s" and "retry after 10 seconds".
var waitForms = []*regexp.Regexp{
	regexp.MustCompile(`"retryDelay"\s*:\s*"([0-9.]+)(s)"`),
	regexp.MustCompile(`(?i)\b(?:retry|try again)[^.\n"]{0,40}?\b(?:in|after)\s+(?:about\s+)?((?:[0-9.]+(?:h|m|s|ms))+)\b()`),
	regexp.MustCompile(`(?i)\b(?:retry|try again)[^.\n"]{0,40}?\b(?:in|after)\s+(?:about\s+)?([0-9]+(?:\.[0-9]+)?)\s*(milliseconds?|seconds?|secs?|minutes?|mins?|hours?|days?)\b`),
}

// WaitIn returns the wait that the text of an error names, or zero if it names none. It is not bounded by MaxRetryAfter.
func WaitIn(body []byte) time.Duration {
	for _, form := range waitForms {
		m := form.FindSubmatch(body)
		if m == nil {
			continue
		}
		n, unit := string(m[1]), strings.ToLower(string(m[2]))
		if i := slices.IndexFunc(waitUnits, func(u waitUnit) bool { return unit != "" && strings.HasPrefix(unit, u.word) }); i >= 0 {
			if x, err := strconv.ParseFloat(n, 64); err == nil {
				return time.Duration(min(x, 1e6) * float64(waitUnits[i].length))
			}
		}
		if d, err := time.ParseDuration(strings.ToLower(n) + unit); err == nil && d > 0 {
			return d
		}
	}
	return 0
}

type waitUnit struct {
	word   string
	length time.Duration
}

var waitUnits = []waitUnit{{"milli", time.Millisecond}, {"sec", time.Second}, {"min", time.Minute}, {"hour", time.Hour}, {"day", 24 * time.Hour}}

// hasWord reports whether the type or the code is one of words.
func (p problem) hasWord(words ...string) bool {
	return slices.ContainsFunc(p.words, func(w string) bool { return slices.Contains(words, w) })
}

// hasPhrase reports whether the text contains one of phrases.
func (p problem) hasPhrase(phrases ...string) bool {
	text := strings.ToLower(p.text)
	return slices.ContainsFunc(phrases, func(s string) bool { return strings.Contains(text, s) })
}

// readRetryAfter reads Retry-After in seconds or as a date, and the finer Retry-After-Ms that some APIs
// send beside it. It returns zero for a value that it cannot read.
func readRetryAfter(header http.Header, now time.Time) time.Duration {
	if d, ok := parseWait(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := header.Get("Retry-After")
	if d, ok := parseWait(value, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), MaxRetryAfter)
	}
	return 0
}

// parseWait reads a number of units.
func parseWait(value string, unit time.Duration) (d time.Duration, ok bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(n >= 0) {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(MaxRetryAfter))), true
}

// ClassifyTransport returns the meaning of a failed request, or of a failure to read its answer. It
// returns ctx.Err() if ctx has ended, else an *Error.
func ClassifyTransport(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &Error{Code: Unknown, Message: display.Clip(err.Error(), MaxMessage), Retriable: true}
	if t, ok := errors.AsType[net.Error](err); errors.Is(err, os.ErrDeadlineExceeded) || ok && t.Timeout() {
		e.Code = Timeout
	}
	if isUntrusted(err) {
		e.Code, e.Retriable = BadRequest, false
	}
	return e
}

// isUntrusted reports whether the server's certificate was refused. A retry would meet the same
// certificate.
func isUntrusted(err error) bool {
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	return authority || host || invalid
}
