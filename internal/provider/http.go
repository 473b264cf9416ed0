package provider

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ClassifyHTTP says what the answer of a model API means for a retry
// (docs/contracts/run.md, 13). Body is the head of the answer, as much as was read. A
// success is nil.
func ClassifyHTTP(status int, header http.Header, body []byte, now time.Time) *Error {
	if status >= 200 && status < 300 {
		return nil
	}
	said := readProblem(body)
	e := &Error{Code: codeOf(status), Message: describe(status, said.text)}
	e.Retriable = e.Code == Unknown || e.Code == Timeout || e.Code == RateLimit
	switch {
	case status >= 500: // whatever it says, it is the server's own trouble
	case status == http.StatusPaymentRequired || said.quota():
		e.Code, e.Retriable = RateLimit, false
		e.Message = "quota or credit exhausted: " + e.Message
	case status == http.StatusRequestEntityTooLarge || said.tooLong():
		e.Code, e.Retriable = BadRequest, false
		e.Message = TooLong + ": " + e.Message
	}
	if e.Retriable {
		e.RetryAfter = retryAfter(header, now)
	}
	e.Message = Clip(e.Message, MaxMessage)
	return e
}

func codeOf(status int) Code {
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

func describe(status int, text string) string {
	s := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
	if text != "" {
		s += ": " + text
	}
	return s
}

// problem is what an API's error body says. OpenAI and Anthropic both wrap
// {type, code, message} in an "error" member.
type problem struct {
	words []string // type and code, lower case
	text  string
}

func readProblem(body []byte) problem {
	var doc struct {
		Error struct {
			Type    string `json:"type"`
			Code    any    `json:"code"` // a word or a number
			Message string `json:"message"`
		} `json:"error"`
	}
	text := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &doc) != nil || doc.Error.Message == "" {
		return problem{text: text}
	}
	code, _ := doc.Error.Code.(string)
	return problem{[]string{strings.ToLower(doc.Error.Type), strings.ToLower(code)}, doc.Error.Message}
}

func (p problem) quota() bool {
	return p.is("insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active") ||
		p.says("credit balance is too low", "exceeded your current quota")
}

func (p problem) tooLong() bool {
	return p.is("context_length_exceeded", "request_too_large", "exceed_context_size_error") ||
		p.says("prompt is too long", "maximum context length", "exceed context limit", "exceeds the available context size")
}

func (p problem) is(words ...string) bool {
	return slices.ContainsFunc(p.words, func(w string) bool { return slices.Contains(words, w) })
}

func (p problem) says(phrases ...string) bool {
	text := strings.ToLower(p.text)
	return slices.ContainsFunc(phrases, func(s string) bool { return strings.Contains(text, s) })
}

// retryAfter reads Retry-After in seconds or as a date, and the finer
// Retry-After-Ms that some APIs send beside it. What cannot be read is zero.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if d, ok := wait(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := header.Get("Retry-After")
	if d, ok := wait(value, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), MaxRetryAfter)
	}
	return 0
}

func wait(value string, unit time.Duration) (d time.Duration, ok bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(n >= 0) {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(MaxRetryAfter))), true
}

// ClassifyTransport says what the failure of a request or of reading its
// answer means. When ctx has ended it is ctx.Err(), else an *Error.
func ClassifyTransport(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &Error{Code: Unknown, Message: Clip(err.Error(), MaxMessage), Retriable: true}
	if t, ok := errors.AsType[net.Error](err); errors.Is(err, os.ErrDeadlineExceeded) || ok && t.Timeout() {
		e.Code = Timeout
	}
	if untrusted(err) {
		e.Code, e.Retriable = BadRequest, false
	}
	return e
}

// untrusted says whether the server's certificate was refused: trying again
// meets the same one.
func untrusted(err error) bool {
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	return authority || host || invalid
}

// Clip shortens s to at most limit bytes, which must be at least 8, and says
// so; what is not UTF-8 is replaced.
func Clip(s string, limit int) string {
	const mark = " ..."
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len(mark)], "") + mark
}
