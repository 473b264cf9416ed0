package openai_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/openai"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

func problem(kind, code, message string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, kind, code)
}

// docs/contracts/run.md, 13: the caller decides about retries, so each error is one
// request.
func TestErrors(t *testing.T) {
	date := time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)
	limited := problem("requests", "rate_limit_exceeded", "slow down")
	tests := map[string]struct {
		status int
		body   string
		header []string
		want   providertest.Outcome
		after  time.Duration // at most, and more than half of it
	}{
		"invalid request":            {400, problem("invalid_request_error", "", "messages: too few"), nil, providertest.Fails(failure.BadRequest, false, "too few"), 0},
		"prompt too long":            {400, problem("invalid_request_error", "context_length_exceeded", "long"), nil, providertest.Fails(failure.BadRequest, false, failure.TooLong), 0},
		"no such key":                {401, problem("invalid_request_error", "invalid_api_key", "Incorrect API key"), nil, providertest.Fails(failure.Auth, false, "Incorrect"), 0},
		"payment required":           {402, "", nil, providertest.Fails(failure.RateLimit, false, "402"), 0},
		"no permission":              {403, "", nil, providertest.Fails(failure.Auth, false, "403"), 0},
		"no such model":              {404, problem("invalid_request_error", "model_not_found", "The model x does not exist"), nil, providertest.Fails(failure.BadRequest, false, "does not exist"), 0},
		"request timeout":            {408, "", nil, providertest.Fails(failure.Timeout, true, "408"), 0},
		"conflict":                   {409, "", nil, providertest.Fails(failure.Unknown, true, "409"), 0},
		"request too large":          {413, "", nil, providertest.Fails(failure.BadRequest, false, failure.TooLong), 0},
		"unprocessable":              {422, `{"detail":"bad"}`, nil, providertest.Fails(failure.BadRequest, false, "bad"), 0},
		"too early":                  {425, "", nil, providertest.Fails(failure.Unknown, true, "425"), 0},
		"rate limit":                 {429, limited, nil, providertest.Fails(failure.RateLimit, true, "slow down"), 0},
		"rate limit with seconds":    {429, limited, []string{"Retry-After", "7"}, providertest.Fails(failure.RateLimit, true, "429"), 7 * time.Second},
		"rate limit with a date":     {429, limited, []string{"Retry-After", date}, providertest.Fails(failure.RateLimit, true, "429"), 30 * time.Second},
		"rate limit with its resets": {429, limited, []string{"X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "6s"}, providertest.Fails(failure.RateLimit, true, "429"), 6 * time.Second},
		"quota used up":              {429, problem("insufficient_quota", "insufficient_quota", "quota"), []string{"Retry-After", "7"}, providertest.Fails(failure.RateLimit, false, "quota"), 0},
		"server error":               {500, problem("server_error", "", "internal"), []string{"X-Should-Retry", "true"}, providertest.Fails(failure.Unknown, true, "internal"), 0},
		"bad gateway":                {502, "<html>", nil, providertest.Fails(failure.Unknown, true, "<html>"), 0},
		"unavailable":                {503, "", []string{"Retry-After", "3"}, providertest.Fails(failure.Unknown, true, "503"), 3 * time.Second},
		"gateway timeout":            {504, "", nil, providertest.Fails(failure.Timeout, true, "504"), 0},
		"overloaded":                 {529, "", nil, providertest.Fails(failure.Unknown, true, "529"), 0},
		"a body without an end":      {400, strings.Repeat("x", 1<<20), nil, providertest.Fails(failure.BadRequest, false, "xxx"), 0},
		"a success that is a page":   {200, "<html>", []string{"Content-Type", "text/html"}, providertest.Fails(failure.BadRequest, false, "base URL"), 0},
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
		"rate limit":             {problem("tokens", "rate_limit_exceeded", "slow down"), providertest.Fails(failure.RateLimit, true, "slow down")},
		"quota used up":          {problem("insufficient_quota", "insufficient_quota", "quota"), providertest.Fails(failure.RateLimit, false, "quota")},
		"server error":           {problem("server_error", "", "internal"), providertest.Fails(failure.Unknown, true, "internal")},
		"prompt too long":        {problem("invalid_request_error", "context_length_exceeded", "long"), providertest.Fails(failure.BadRequest, false, failure.TooLong)},
		"invalid request":        {problem("invalid_request_error", "", "bad"), providertest.Fails(failure.BadRequest, false, "bad")},
		"a status for its code":  {`{"error":{"code":503,"message":"no workers"}}`, providertest.Fails(failure.Unknown, true, "no workers")},
		"an error of no name":    {problem("tomorrow", "", "what"), providertest.Fails(failure.Unknown, true, "what")},
		"an error that is text":  {`{"error":"boom"}`, providertest.Fails(failure.Unknown, true, "boom")},
		"no JSON":                {"oops", providertest.Fails(failure.Unknown, true, "")},
		"a code that is nothing": {`{"error":{"code":7,"message":"seven"}}`, providertest.Fails(failure.Unknown, true, "seven")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := serve(t, func(w http.ResponseWriter, _ *http.Request) { send(w, start, delta("half"), tt.body) })
			resp, err := a.provider().Generate(t.Context(), providertest.Request(), nil)
			tt.want.Check(t, resp, err)
			if resp.RawText != "half" || len(a.Requests()) != 1 {
				t.Errorf("kept %q, %d requests", resp.RawText, len(a.Requests()))
			}
		})
	}
}

func TestAStreamThatEndsTooEarly(t *testing.T) {
	tests := map[string]struct {
		events []string
		cut    bool
		err    bool
	}{
		"cut off":                 {[]string{start, delta("half")}, true, true},
		"ended in good order":     {[]string{start, delta("half")}, false, true},
		"done without a reason":   {[]string{start, delta("half"), done}, false, true},
		"all but its usage":       {[]string{start, delta("half"), chunk("{}", "stop")}, true, false},
		"a reason with the piece": {[]string{chunk(`{"content":"half"}`, "stop")}, false, false},
		"another choice":          {[]string{delta("half"), `{"choices":[{"index":1,"delta":{"content":"other"},"finish_reason":"stop"}]}`}, false, true},
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

func TestAStreamOfNothing(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		send(w)
		for line := []byte(": " + strings.Repeat("x", 1<<15) + "\n"); r.Context().Err() == nil; {
			w.Write(line)
		}
	})
	resp, err := a.provider().Generate(t.Context(), providertest.Request(), nil)
	providertest.Fails(failure.BadRequest, false, "does not stop").Check(t, resp, err)
}

func TestALimitThatEndsLater(t *testing.T) {
	a := serve(t, providertest.Refuse(429, problem("requests", "rate_limit_exceeded", "slow down"), "X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "2h0m0s"))
	resp, err := a.provider().Generate(t.Context(), providertest.Request(), nil)
	if l := providertest.Limit(resp); err != nil || time.Until(l.Until) < time.Hour || !strings.Contains(l.Reason, "slow down") {
		t.Errorf("got %+v, %v, want a limit that ends in two hours", l, err)
	}
}

func TestAnAnswerThatFallsSilent(t *testing.T) {
	p := serve(t, hangs("half")).provider(func(c *openai.Config) { c.Idle = 500 * time.Millisecond })
	resp, err := p.Generate(t.Context(), providertest.Request(), nil)
	providertest.Fails(failure.Timeout, true, "silent").Check(t, resp, err)
	if resp.RawText != "half" || resp.FinishReason != provider.TimedOut {
		t.Errorf("got %+v", resp)
	}
}

func TestNobodyListens(t *testing.T) {
	p := serve(t, says("", "")).provider(func(c *openai.Config) { c.BaseURL = "http://127.0.0.1:1" })
	resp, err := p.Generate(t.Context(), providertest.Request(), nil)
	providertest.Fails(failure.Unknown, true, "refused").Check(t, resp, err)
}

func TestSecretsStayOut(t *testing.T) {
	const key = "sk-proj-canary-0123456789"
	secrets := redact.New([]string{"OPENAI_API_KEY=" + key})
	own := func(c *openai.Config) { c.Key, c.Redact = key, secrets }
	var seen strings.Builder
	watch := func(p provider.Progress) { seen.WriteString(p.Tail) }

	resp, err := serve(t, providertest.Refuse(401, problem("", "invalid_api_key", "Incorrect API key provided: "+key))).provider(own).Generate(t.Context(), providertest.Request(), watch)
	providertest.Fails(failure.Auth, false, "[redacted:OPENAI_API_KEY]").Check(t, resp, err)
	said, err := serve(t, says("the key is "+key+".", "stop")).provider(own).Generate(t.Context(), providertest.Request(), watch)
	if err != nil || said.RawText != "the key is [redacted:OPENAI_API_KEY]." {
		t.Errorf("got %q, %v", said.RawText, err)
	}
	if all := resp.Error.Message + seen.String(); strings.Contains(all, key) {
		t.Errorf("leaked: %s", all)
	}
}

func TestNothingIsLeftRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("calls", func(t *testing.T) {
		for _, answer := range []http.HandlerFunc{says("ok", "stop"), providertest.Refuse(500, ""), hangs("half")} {
			p := serve(t, answer).provider(func(c *openai.Config) { c.Idle = time.Millisecond })
			p.Generate(t.Context(), providertest.Request(), nil)
		}
	})
	for patience := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(patience) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
