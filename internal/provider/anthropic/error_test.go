package anthropic_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/anthropic"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

func problem(kind, message string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, message)
}

// docs/contracts/run.md, 13: the caller decides about retries, so each error is one
// request.
func TestErrors(t *testing.T) {
	date := time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)
	tests := map[string]struct {
		status int
		body   string
		header []string
		want   providertest.Outcome
		after  time.Duration // at most, and more than half of it
	}{
		"invalid request":          {400, problem("invalid_request_error", "messages: too few"), nil, providertest.Fails(failure.BadRequest, false, "too few"), 0},
		"prompt too long":          {400, problem("invalid_request_error", "prompt is too long: 3 tokens > 2 maximum"), nil, providertest.Fails(failure.BadRequest, false, failure.TooLong), 0},
		"credit used up":           {400, problem("invalid_request_error", "Your credit balance is too low"), nil, providertest.Fails(failure.RateLimit, false, "credit"), 0},
		"no such key":              {401, problem("authentication_error", "invalid x-api-key"), nil, providertest.Fails(failure.Auth, false, "x-api-key"), 0},
		"billing":                  {402, problem("billing_error", "billing"), nil, providertest.Fails(failure.RateLimit, false, "billing"), 0},
		"no permission":            {403, problem("permission_error", "no"), nil, providertest.Fails(failure.Auth, false, "403"), 0},
		"no such model":            {404, problem("not_found_error", "model: x"), nil, providertest.Fails(failure.BadRequest, false, "model: x"), 0},
		"request timeout":          {408, "", nil, providertest.Fails(failure.Timeout, true, "408"), 0},
		"conflict":                 {409, "", nil, providertest.Fails(failure.Unknown, true, "409"), 0},
		"request too large":        {413, problem("request_too_large", "big"), nil, providertest.Fails(failure.BadRequest, false, failure.TooLong), 0},
		"unprocessable":            {422, "", nil, providertest.Fails(failure.BadRequest, false, "422"), 0},
		"too early":                {425, "", nil, providertest.Fails(failure.Unknown, true, "425"), 0},
		"rate limit":               {429, problem("rate_limit_error", "slow down"), nil, providertest.Fails(failure.RateLimit, true, "slow down"), 0},
		"rate limit with seconds":  {429, problem("rate_limit_error", ""), []string{"Retry-After", "7"}, providertest.Fails(failure.RateLimit, true, "429"), 7 * time.Second},
		"rate limit with a date":   {429, problem("rate_limit_error", ""), []string{"Retry-After", date}, providertest.Fails(failure.RateLimit, true, "429"), 30 * time.Second},
		"server error":             {500, problem("api_error", "internal"), []string{"X-Should-Retry", "true"}, providertest.Fails(failure.Unknown, true, "internal"), 0},
		"bad gateway":              {502, "<html>", nil, providertest.Fails(failure.Unknown, true, "<html>"), 0},
		"unavailable":              {503, "", []string{"Retry-After", "3"}, providertest.Fails(failure.Unknown, true, "503"), 3 * time.Second},
		"gateway timeout":          {504, problem("timeout_error", "late"), nil, providertest.Fails(failure.Timeout, true, "late"), 0},
		"overloaded":               {529, problem("overloaded_error", "Overloaded"), nil, providertest.Fails(failure.Unknown, true, "Overloaded"), 0},
		"a body without an end":    {400, strings.Repeat("x", 1<<20), nil, providertest.Fails(failure.BadRequest, false, "xxx"), 0},
		"a success that is a page": {200, "<html>", []string{"Content-Type", "text/html"}, providertest.Fails(failure.BadRequest, false, "base URL"), 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := serve(t, providertest.Refuse(tt.status, tt.body, tt.header...))
			resp, err := a.provider().Generate(t.Context(), providertest.Request(), nil)
			e := tt.want.Check(t, resp, err)
			if n := len(a.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
			if e != nil && (e.RetryAfter > tt.after || e.RetryAfter < tt.after/2 || len(e.Message) > failure.MaxMessage) {
				t.Errorf("retry after %v, a message of %d bytes", e.RetryAfter, len(e.Message))
			}
		})
	}
}

func TestErrorsWithinTheStream(t *testing.T) {
	tests := map[string]struct {
		body string
		want providertest.Outcome
	}{
		"overloaded":          {problem("overloaded_error", "Overloaded"), providertest.Fails(failure.Unknown, true, "Overloaded")},
		"rate limit":          {problem("rate_limit_error", "slow down"), providertest.Fails(failure.RateLimit, true, "slow down")},
		"server error":        {problem("api_error", "internal"), providertest.Fails(failure.Unknown, true, "internal")},
		"no such key":         {problem("authentication_error", "key"), providertest.Fails(failure.Auth, false, "key")},
		"invalid request":     {problem("invalid_request_error", "bad"), providertest.Fails(failure.BadRequest, false, "bad")},
		"credit used up":      {problem("billing_error", "pay"), providertest.Fails(failure.RateLimit, false, "pay")},
		"timeout":             {problem("timeout_error", "late"), providertest.Fails(failure.Timeout, true, "late")},
		"an error of no name": {problem("tomorrow_error", "what"), providertest.Fails(failure.Unknown, true, "what")},
		"no JSON":             {"oops", providertest.Fails(failure.Unknown, true, "oops")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				send(w, start, text, delta("half"))
				fmt.Fprintf(w, "event: error\ndata: %s\n\n", tt.body)
			})
			resp, err := a.provider().Generate(t.Context(), providertest.Request(), nil)
			tt.want.Check(t, resp, err)
			if resp.RawText != "half" || resp.Usage == nil || len(a.Requests()) != 1 {
				t.Errorf("kept %q, usage %v, %d requests", resp.RawText, resp.Usage, len(a.Requests()))
			}
		})
	}
}

func TestAStreamThatEndsTooEarly(t *testing.T) {
	half := []string{start, text, delta("half")}
	tests := map[string]struct {
		events []string
		cut    bool
		err    bool
	}{
		"cut off":                        {half, true, true},
		"ended in good order":            {half, false, true},
		"cut off in a block that is not": {append(half, `{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":""}}`), false, true},
		"all but its last event":         {append(half, stop, fmt.Sprintf(ends, "end_turn")), true, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				send(w, tt.events...)
				if tt.cut {
					panic(http.ErrAbortHandler)
				}
			})
			resp, err := a.provider().Generate(t.Context(), providertest.Request(), nil)
			if tt.err {
				providertest.Fails(failure.Unknown, true, "").Check(t, resp, err)
			} else if err != nil || resp.FinishReason != provider.Stop {
				t.Errorf("got %+v, %v", resp, err)
			}
			if resp.RawText != "half" {
				t.Errorf("kept %q", resp.RawText)
			}
		})
	}
}

func TestALimitThatEndsLater(t *testing.T) {
	later := time.Now().Add(2 * time.Hour).UTC().Format(time.RFC3339)
	a := serve(t, providertest.Refuse(429, problem("rate_limit_error", "slow down"), "Anthropic-Ratelimit-Requests-Remaining", "0", "Anthropic-Ratelimit-Requests-Reset", later))
	resp, err := a.provider().Generate(t.Context(), providertest.Request(), nil)
	if l := providertest.Limit(resp); err != nil || time.Until(l.Until) < time.Hour || !strings.Contains(l.Reason, "slow down") {
		t.Errorf("got %+v, %v, want a limit that ends in two hours", l, err)
	}
}

func TestAnAnswerThatFallsSilent(t *testing.T) {
	p := serve(t, hangs("half")).provider(func(c *anthropic.Config) { c.Idle = 500 * time.Millisecond })
	resp, err := p.Generate(t.Context(), providertest.Request(), nil)
	providertest.Fails(failure.Timeout, true, "silent").Check(t, resp, err)
	if resp.RawText != "half" || resp.FinishReason != provider.TimedOut {
		t.Errorf("got %+v", resp)
	}
}

func TestNobodyListens(t *testing.T) {
	p := serve(t, says("", "")).provider(func(c *anthropic.Config) { c.BaseURL = "http://127.0.0.1:1" })
	resp, err := p.Generate(t.Context(), providertest.Request(), nil)
	providertest.Fails(failure.Unknown, true, "refused").Check(t, resp, err)
}

func TestSecretsStayOut(t *testing.T) {
	const key = "sk-ant-canary-0123456789"
	secrets := redact.New([]string{"ANTHROPIC_API_KEY=" + key})
	own := func(c *anthropic.Config) { c.Key, c.Redact = key, secrets }
	var seen strings.Builder
	watch := func(p provider.Progress) { seen.WriteString(p.Tail) }

	resp, err := serve(t, providertest.Refuse(401, problem("authentication_error", "no such key "+key))).provider(own).Generate(t.Context(), providertest.Request(), watch)
	providertest.Fails(failure.Auth, false, "[redacted:ANTHROPIC_API_KEY]").Check(t, resp, err)
	said, err := serve(t, says("the key is "+key+".", "end_turn")).provider(own).Generate(t.Context(), providertest.Request(), watch)
	if err != nil || said.RawText != "the key is [redacted:ANTHROPIC_API_KEY]." {
		t.Errorf("got %q, %v", said.RawText, err)
	}
	if all := resp.Error.Message + seen.String(); strings.Contains(all, key) {
		t.Errorf("leaked: %s", all)
	}
}

func TestNothingIsLeftRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("calls", func(t *testing.T) {
		for _, answer := range []http.HandlerFunc{says("ok", "end_turn"), providertest.Refuse(500, ""), hangs("half")} {
			p := serve(t, answer).provider(func(c *anthropic.Config) { c.Idle = time.Millisecond })
			p.Generate(t.Context(), providertest.Request(), nil)
		}
	})
	for patience := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(patience) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
