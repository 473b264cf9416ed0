package failure_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
)

// Servers say in many words that a prompt is too long.
func TestPromptTooLong(t *testing.T) {
	for text, want := range map[string]bool{
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).":                                               true,
		"This model's maximum prompt length is 131072 but the request contains 200000 tokens.":                                                  true,
		"However, the model's context length is only 202752 tokens, resulting in a maximum input length of 202752 tokens.":                      true,
		"Input is too long for requested model.":                                                                                                true,
		"prompt token count of 160000 exceeds the limit of 128000":                                                                              true,
		"Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length":                              true,
		"Requested token count exceeds the model's maximum context length of 163840 tokens.":                                                    true,
		"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens": true,
		"Your input exceeds the context window of this model. Please adjust your input and try again.":                                          true,
		"input length and max_tokens exceed context limit: 199000 + 8192 > 200000, decrease input length or max_tokens and try again":           true,
		"max_tokens is too large: 99999. This model supports at most 16384 completion tokens":                                                   false,
		"Input validation error: `inputs` must have less than 1024 tokens. Given: 1500":                                                         true,
		"`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens and 100 `max_new_tokens`":                              true,
		"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]":                                                 true,
		"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192":                                    true,
		"Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, but got a string with length 12":        true,
		"too many tokens: total number of tokens in the prompt cannot exceed 4081":                                                              true,
		"Token count 12000 exceeds limit 8192":                                                                                                  true,
		"max_tokens must be less than 8192":                                                                                                     false,
		"The request is malformed":                                                                                                              false,
		"Unknown parameter: input":                                                                                                              false,
	} {
		e := failure.ClassifyHTTP(400, nil, fmt.Appendf(nil, `{"error":{"message":%q}}`, text), time.Now())
		if got := strings.HasPrefix(e.Message, failure.TooLong); got != want || e.Code != failure.BadRequest {
			t.Errorf("%q: too long is %t, want %t; %v", text, got, want, e)
		}
	}
}

// A wait that the server names makes a used up quota a limit that passes.
func TestQuotaForAMinute(t *testing.T) {
	const gemini = `{"error":{"code":429,"message":"You exceeded your current quota.\nPlease retry in 2.1s.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2s"}]}}`
	quota := func(text string) string {
		return fmt.Sprintf(`{"error":{"message":%q}}`, "You exceeded your current quota. "+text)
	}
	for name, tt := range map[string]struct {
		body      string
		retriable bool
		after     time.Duration
	}{
		"Gemini":                  {gemini, true, 2 * time.Second},
		"Gemini in a list":        {"[" + gemini + "]", true, 2 * time.Second},
		"behind a mark":           {"\ufeff" + gemini, true, 2 * time.Second},
		"a sentence":              {quota("Please retry in 2.5s."), true, 2500 * time.Millisecond},
		"milliseconds":            {quota("Please try again in 250ms."), true, 250 * time.Millisecond},
		"minutes and seconds":     {quota("Please try again in 6m0.5s. Visit x"), true, 6*time.Minute + 500*time.Millisecond},
		"words":                   {quota("Please retry after 10 seconds."), true, 10 * time.Second},
		"a minute":                {quota("Try again in about 1 minute."), true, time.Minute},
		"longer than a retry":     {quota("Please retry in 13h0m0s."), true, failure.MaxRetryAfter},
		"no wait":                 {quota("Check your plan."), false, 0},
		"a wait, but no credit":   {`{"error":{"code":"insufficient_quota","message":"try again in 2s"}}`, false, 0},
		"a wait in words":         {quota("Please wait 12.5 seconds before retrying."), true, 12500 * time.Millisecond},
		"a wait for seconds":      {quota("Please wait for 30 seconds and try again."), true, 30 * time.Second},
		"two units":               {quota("Try again in 2 minutes 30 seconds."), true, 150 * time.Second},
		"two units and a word":    {quota("Try again in 1 minute and 5 seconds."), true, 65 * time.Second},
		"a reset":                 {quota("Your quota will reset after 34s."), true, 34 * time.Second},
		"a blank before the unit": {quota("Please try again in 59 ms."), true, 59 * time.Millisecond},
		"a member":                {`{"message":"You exceeded your current quota","retry_after":12.5}`, true, 12500 * time.Millisecond},
		"a member in ms":          {`{"error":{"message":"You exceeded your current quota","retryAfterMs":700}}`, true, 700 * time.Millisecond},
		"a member of Google":      {`{"error":{"message":"You exceeded your current quota","details":[{"retryDelay":{"seconds":34}}]}}`, true, 34 * time.Second},
		"a member of a client":    {`{"error":{"message":"You exceeded your current quota","details":[{"metadata":{"quotaResetDelay":"34.07s"}}]}}`, true, 34070 * time.Millisecond},
		"no balance":              {`{"error":{"code":"1113","message":"Insufficient balance or no resource package."}}`, false, 0},
		"no balance of Moonshot":  {`{"error":{"type":"exceeded_current_quota_error","message":"Your account is suspended"}}`, false, 0},
		"the type alone":          {`{"type":"error","error":{"type":"insufficient_quota"}}`, false, 0},
		"a number of other units": {quota("Please retry in 3 apples."), false, 0},
	} {
		e := failure.ClassifyHTTP(429, nil, []byte(tt.body), time.Now())
		if e.Code != failure.RateLimit || e.Retriable != tt.retriable || e.RetryAfter != tt.after {
			t.Errorf("%s: got %+v, want retriable %t after %v", name, e, tt.retriable, tt.after)
		}
	}
}

func TestClassifyHTTP(t *testing.T) {
	const (
		openAIQuota    = `{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "param": null, "code": "insufficient_quota"}}`
		openAIRate     = `{"error": {"message": "Rate limit reached for requests", "type": "requests", "code": "rate_limit_exceeded"}}`
		openAILong     = `{"error": {"message": "This model's maximum context length is 8192 tokens", "type": "invalid_request_error", "code": "context_length_exceeded"}}`
		anthropicQuota = `{"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API"}}`
		anthropicRate  = `{"type": "error", "error": {"type": "rate_limit_error", "message": "This request would exceed your rate limit"}}`
		anthropicLong  = `{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 250000 tokens > 200000 maximum"}}`
		overloaded     = `{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}`
	)
	tests := map[string]struct {
		status    int
		body      string
		code      failure.Code
		retriable bool
		says      string
	}{
		"request timeout":             {408, "", failure.Timeout, true, "HTTP 408 Request Timeout"},
		"conflict":                    {409, "", failure.Unknown, true, "HTTP 409 Conflict"},
		"too early":                   {425, "", failure.Unknown, true, "HTTP 425"},
		"rate limit":                  {429, "", failure.RateLimit, true, "HTTP 429"},
		"rate limit of OpenAI":        {429, openAIRate, failure.RateLimit, true, "Rate limit reached"},
		"rate limit of Anthropic":     {429, anthropicRate, failure.RateLimit, true, "exceed your rate limit"},
		"server error":                {500, "<html>oops</html>", failure.Unknown, true, "<html>oops</html>"},
		"bad gateway":                 {502, "", failure.Unknown, true, "HTTP 502"},
		"unavailable":                 {503, "", failure.Unknown, true, "HTTP 503"},
		"gateway timeout":             {504, "", failure.Timeout, true, "HTTP 504"},
		"overloaded":                  {529, overloaded, failure.Unknown, true, "HTTP 529: Overloaded"},
		"bad request":                 {400, "", failure.BadRequest, false, "HTTP 400"},
		"payment required":            {402, "", failure.RateLimit, false, "quota or credit exhausted: HTTP 402"},
		"not found":                   {404, "", failure.BadRequest, false, "HTTP 404"},
		"request entity too large":    {413, "", failure.BadRequest, false, "context too long: HTTP 413"},
		"unprocessable":               {422, "", failure.BadRequest, false, "HTTP 422"},
		"unauthorized":                {401, "", failure.Auth, false, "HTTP 401"},
		"forbidden":                   {403, "", failure.Auth, false, "HTTP 403"},
		"quota exhausted, OpenAI":     {429, openAIQuota, failure.RateLimit, false, "quota or credit exhausted"},
		"credit exhausted, Anthropic": {400, anthropicQuota, failure.RateLimit, false, "quota or credit exhausted"},
		"context too long, OpenAI":    {400, openAILong, failure.BadRequest, false, "context too long"},
		"context too long, Anthropic": {400, anthropicLong, failure.BadRequest, false, "context too long"},
		"a request beyond the minute": {429, `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.","code":"rate_limit_exceeded"}}`, failure.BadRequest, false, "context too long"},
		"context too long, Mistral":   {400, `{"object":"error","message":"m","type":"invalid_request_error","code":"context_length_exceeded"}`, failure.BadRequest, false, "context too long"},
		"context too long, a router":  {400, `{"error":{"message":"Provider returned error","metadata":{"raw":"{\"message\":\"prompt is too long\"}"}}}`, failure.BadRequest, false, "context too long"},
		"context too long, Gemini":    {500, `{"error":{"code":500,"message":"Your input context is too long."}}`, failure.Unknown, true, "context too long"},
		"a server error that quotes":  {500, openAILong, failure.Unknown, true, "HTTP 500"},
		"a numeric code":              {400, `{"error": {"message": "m", "code": 7}}`, failure.BadRequest, false, "HTTP 400 Bad Request: m"},
		"a redirect":                  {302, "", failure.BadRequest, false, "HTTP 302"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			header := http.Header{"Retry-After": {"7"}}
			e := failure.ClassifyHTTP(tt.status, header, []byte(tt.body), time.Now())
			if e.Code != tt.code || e.Retriable != tt.retriable || !strings.Contains(e.Message, tt.says) {
				t.Errorf("got %+v, want %s (retriable %t) that says %q", e, tt.code, tt.retriable, tt.says)
			}
			if want := 7 * time.Second; tt.retriable && e.RetryAfter != want || !tt.retriable && e.RetryAfter != 0 {
				t.Errorf("retry after %v", e.RetryAfter)
			}
		})
	}
	if e := failure.ClassifyHTTP(http.StatusOK, nil, nil, time.Now()); e != nil {
		t.Errorf("a success is %v", e)
	}
}

// What a body says is in the message, whatever its form.
func TestNothingOfABodyIsLost(t *testing.T) {
	for _, body := range []string{
		`{"error":{"message":"w1w"}}`, `{"error":{"message":"w1w","code":7}}`, `[{"error":{"message":"w1w"}}]`, `{"error":"w1w"}`, `{"message":"w1w"}`, `{"detail":[{"msg":"w1w"}]}`,
		`{"error":{"code":"w1w"}}`, `{"error":{"message":["w1w"]}}`, `"w1w"`, `<html>w1w</html>`, `{"error":{"message":"m","metadata":{"raw":"w1w"}}}`, "\ufeff" + `{"error":{"message":"w1w"}}`, `{"error":{"message":"w1w"`,
	} {
		for _, status := range []int{400, 402, 413, 429, 500} {
			if e := failure.ClassifyHTTP(status, nil, []byte(body), time.Now()); !strings.Contains(e.Message, "w1w") {
				t.Errorf("%d %s: got %q, want all that was said", status, body, e.Message)
			}
		}
	}
}

func TestAHugeErrorBodyIsCut(t *testing.T) {
	for _, body := range []string{strings.Repeat("é", 1<<16), `{"error": {"message": "` + strings.Repeat("x", 1<<16) + `", "type": "insufficient_quota"}}`} {
		e := failure.ClassifyHTTP(429, nil, []byte(body), time.Now())
		if len(e.Message) > failure.MaxMessage || !strings.HasSuffix(e.Message, "…") {
			t.Errorf("a message of %d bytes", len(e.Message))
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		header http.Header
		want   time.Duration
	}{
		"absent":                     {http.Header{}, 0},
		"seconds":                    {http.Header{"Retry-After": {"12"}}, 12 * time.Second},
		"half a second":              {http.Header{"Retry-After": {"0.5"}}, 500 * time.Millisecond},
		"zero":                       {http.Header{"Retry-After": {"0"}}, 0},
		"negative":                   {http.Header{"Retry-After": {"-5"}}, 0},
		"a day":                      {http.Header{"Retry-After": {"86400"}}, failure.MaxRetryAfter},
		"more than a number holds":   {http.Header{"Retry-After": {"1" + strings.Repeat("0", 400)}}, 0},
		"infinite":                   {http.Header{"Retry-After": {"Inf"}}, failure.MaxRetryAfter},
		"no number":                  {http.Header{"Retry-After": {"NaN"}}, 0},
		"a word":                     {http.Header{"Retry-After": {"soon"}}, 0},
		"a date":                     {http.Header{"Retry-After": {"Sat, 14 Feb 2026 12:00:30 GMT"}}, 30 * time.Second},
		"a date in the old form":     {http.Header{"Retry-After": {"Saturday, 14-Feb-26 12:00:30 GMT"}}, 30 * time.Second},
		"a date that has passed":     {http.Header{"Retry-After": {"Sat, 14 Feb 2026 11:00:00 GMT"}}, 0},
		"a date next year":           {http.Header{"Retry-After": {"Sun, 14 Feb 2027 12:00:00 GMT"}}, failure.MaxRetryAfter},
		"milliseconds are finer":     {http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"1250"}}, 1250 * time.Millisecond},
		"milliseconds nobody reads":  {http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"?"}}, 2 * time.Second},
		"white space around seconds": {http.Header{"Retry-After": {" 3 "}}, 3 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := failure.ClassifyHTTP(503, tt.header, nil, now).RetryAfter; got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestClassifyTransport(t *testing.T) {
	post := func(err error) error { return &url.Error{Op: "Post", URL: "https://api.invalid", Err: err} }
	read := func(err error) error { return &net.OpError{Op: "read", Net: "tcp", Err: err} }
	tests := map[string]struct {
		err       error
		code      failure.Code
		retriable bool
	}{
		"connection reset":        {post(read(syscall.ECONNRESET)), failure.Unknown, true},
		"connection refused":      {post(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}), failure.Unknown, true},
		"end of file":             {post(io.EOF), failure.Unknown, true},
		"end within the answer":   {fmt.Errorf("read answer: %w", io.ErrUnexpectedEOF), failure.Unknown, true},
		"no such host":            {post(&net.DNSError{Err: "no such host", IsNotFound: true}), failure.Unknown, true},
		"timeout before any byte": {post(read(os.ErrDeadlineExceeded)), failure.Timeout, true},
		"the call's own deadline": {post(context.DeadlineExceeded), failure.Timeout, true},
		"timeout in the answer":   {fmt.Errorf("read answer: %w", os.ErrDeadlineExceeded), failure.Timeout, true},
		"unknown authority":       {post(x509.UnknownAuthorityError{}), failure.BadRequest, false},
		"another host's name":     {post(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "api.invalid"}), failure.BadRequest, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := failure.ClassifyTransport(t.Context(), tt.err)
			e, ok := errors.AsType[*failure.Error](err)
			if !ok || e.Code != tt.code || e.Retriable != tt.retriable {
				t.Errorf("got %+v, want %s (retriable %t)", err, tt.code, tt.retriable)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := failure.ClassifyTransport(ctx, post(context.Canceled)); err != context.Canceled {
		t.Errorf("canceled: got %v", err)
	}
}
