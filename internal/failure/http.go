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
	case status >= 500: // the server's own failure, whatever its text says; Gemini's own for a prompt that is too long
		if said.isTooLong() {
			e.Message = TooLong + ": " + e.Message
		}
	case status == http.StatusPaymentRequired || said.isBilling() || said.hasPhrase("exceeded your current quota") && named == 0:
		e.Code, e.Retriable = RateLimit, false
		e.Message = "quota or credit exhausted: " + e.Message
	case status == http.StatusRequestEntityTooLarge, status != http.StatusTooManyRequests && said.isTooLong(), said.hasPhrase("request too large for"):
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
// in an "error" member; others write these members alone.
type problem struct {
	words []string // type and code, lower case
	text  string
}

// apiError is an error in a body.
type apiError struct {
	Type     string `json:"type"`
	Code     any    `json:"code"` // a word or a number
	Message  string `json:"message"`
	Metadata struct {
		Raw string `json:"raw"` // OpenRouter: what the model's server said
	} `json:"metadata"`
}

// readProblem reads an API's error body.
func readProblem(body []byte) problem {
	type document struct {
		Error apiError `json:"error"`
		apiError
	}
	body = bytes.TrimPrefix(bytes.TrimSpace(body), []byte("\ufeff"))
	p := problem{text: string(body)}
	var doc document
	if list := []document(nil); bytes.HasPrefix(body, []byte("[")) && json.Unmarshal(body, &list) == nil && len(list) > 0 { // Gemini
		doc = list[0]
	} else if json.Unmarshal(body, &doc) != nil {
		return p
	}
	for _, e := range []apiError{doc.Error, doc.apiError} {
		code, _ := e.Code.(string)
		p.words = append(p.words, strings.ToLower(e.Type), strings.ToLower(code))
	}
	if said := doc.Error; said.Message != "" {
		p.text = strings.TrimSpace(said.Message + " " + said.Metadata.Raw)
	}
	return p
}

// isBilling reports whether a credit is exhausted, which no wait brings back.
func (p problem) isBilling() bool {
	return p.hasWord("insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active", "exceeded_current_quota_error", "arrearage") ||
		p.hasPhrase("credit balance is too low", "insufficient balance", "insufficient credit", "used all available credits", "spending cap", "spending limit")
}

// tooLong matches what servers say of a prompt that is too long for the model.
var tooLong = regexp.MustCompile(`(?i)\b(?:inputs?|prompts?|requests?|messages?|token count|sequence length)\b[^.]{0,60}\b(?:too (?:long|large)\b|exceed|must have less than|tokens must be <)` +
	`|\b(?:maximum|max) (?:prompt|input|context) (?:length|size|tokens|characters)|\bcontext (?:length|window|size|limit)\b|\binput (?:length should be|context is too long)` +
	`|\bstring too long\b|\btoo many (?:\w+ )?tokens\b|\btokens? limit exceeded\b|\breduce (?:the length of|your prompt)\b|\binputs. tokens \+ `)

// outputWords matches an error about a limit of the answer's length. A shorter prompt does not help.
var outputWords = regexp.MustCompile(`(?i)max_(?:completion_|output_)?tokens\b[^.]{0,20}\b(?:too large|at most|less than|must be)\b`)

// isTooLong reports whether the prompt is too long for the model.
func (p problem) isTooLong() bool {
	return p.hasWord("context_length_exceeded", "request_too_large", "exceed_context_size_error", "string_above_max_length", "tokens_limit_reached") ||
		tooLong.MatchString(p.text) && !outputWords.MatchString(p.text)
}

// waitForms match the waits that error texts name: members such as the retryDelay of Google's RetryInfo, whose name may
// say the unit, and sentences such as "Please try again in 6m0s", "wait 30 seconds" and "resets in 1 hour 5 minutes".
var (
	waitMember   = regexp.MustCompile(`(?i)"(?:retry_?(?:after|delay)|quotaResetDelay)(_?ms|_?seconds)?"\s*:\s*(?:\{\s*"seconds"\s*:\s*)?"?([0-9]+(?:\.[0-9]+)?)(s|ms)?["},\s]`)
	waitSentence = regexp.MustCompile(`(?i)\b(?:(?:retry|try again|resets?|available)\b[^.\n"]{0,40}?\b(?:in|after)|wait(?: for)?)\s+(?:about\s+|at least\s+)?((?:[0-9]+(?:\.[0-9]+)?\s*` + units + `\b(?:,?\s+(?:and\s+)?)?)+|(?:[0-9.]+(?:h|m|s|ms))+\b)`)
	waitPart     = regexp.MustCompile(`(?i)([0-9]+(?:\.[0-9]+)?)\s*(` + units + `)`)
)

// units are those of waitUnits, the longest forms first.
const units = `(?:milliseconds?|ms|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|[smhd])`

// WaitIn returns the wait that the text of an error names, or zero if it names none. It is not bounded by MaxRetryAfter.
func WaitIn(body []byte) time.Duration {
	if m := waitMember.FindSubmatch(body); m != nil {
		unit := strings.ToLower(cmp.Or(string(m[3]), strings.TrimPrefix(string(m[1]), "_"), "s"))
		return waitOf(string(m[2]), unit)
	}
	var sum time.Duration
	if m := waitSentence.FindSubmatch(body); m != nil {
		for _, part := range waitPart.FindAllSubmatch(m[1], -1) {
			sum += waitOf(string(part[1]), strings.ToLower(string(part[2])))
		}
	}
	return sum
}

// waitOf returns n units.
func waitOf(n, unit string) time.Duration {
	i := slices.IndexFunc(waitUnits, func(u waitUnit) bool { return strings.HasPrefix(unit, u.word) })
	x, err := strconv.ParseFloat(n, 64)
	if i < 0 || err != nil {
		return 0
	}
	return time.Duration(min(x, 1e6) * float64(waitUnits[i].length))
}

type waitUnit struct {
	word   string
	length time.Duration
}

// waitUnits are the units of waits by the beginnings of their words, ms and milliseconds before m.
var waitUnits = []waitUnit{{"ms", time.Millisecond}, {"milli", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}}

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
