package chat_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

func TestLimits(t *testing.T) {
	in := func(d time.Duration) time.Time { return time.Now().Add(d) }
	seconds := func(d time.Duration) string { return strconv.FormatInt(in(d).Unix(), 10) }
	const hour = time.Hour
	tests := map[string]struct {
		status  int
		header  []string
		limited time.Duration // roughly; zero: an error
		after   time.Duration // roughly
	}{
		"nothing said":                         {429, nil, 0, 0},
		"some seconds":                         {429, []string{"Retry-After", "30"}, 0, 30 * time.Second},
		"as long as a retry waits":             {429, []string{"Retry-After", "600"}, 0, 10 * time.Minute},
		"hours":                                {429, []string{"Retry-After", "7200"}, 2 * hour, 0},
		"a date tomorrow":                      {429, []string{"Retry-After", in(24 * hour).UTC().Format(http.TimeFormat)}, 24 * hour, 0},
		"hours for an overload":                {529, []string{"Retry-After", "7200"}, 0, failure.MaxRetryAfter},
		"tokens of Anthropic":                  {429, []string{"anthropic-ratelimit-tokens-remaining", "0", "anthropic-ratelimit-tokens-reset", in(3 * hour).UTC().Format(time.RFC3339)}, 3 * hour, 0},
		"tokens of Anthropic that are left":    {429, []string{"anthropic-ratelimit-tokens-remaining", "9", "anthropic-ratelimit-tokens-reset", in(3 * hour).UTC().Format(time.RFC3339)}, 0, 0},
		"the last of several":                  {429, []string{"anthropic-ratelimit-input-tokens-remaining", "0", "anthropic-ratelimit-input-tokens-reset", in(hour).UTC().Format(time.RFC3339), "anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", in(2 * hour).UTC().Format(time.RFC3339)}, 2 * hour, 0},
		"a subscription of Anthropic":          {429, []string{"anthropic-ratelimit-unified-status", "rejected", "anthropic-ratelimit-unified-reset", seconds(5 * hour)}, 5 * hour, 0},
		"a subscription that goes on":          {429, []string{"anthropic-ratelimit-unified-status", "allowed", "anthropic-ratelimit-unified-reset", seconds(5 * hour)}, 0, 0},
		"requests of OpenAI":                   {429, []string{"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "1h30m0s"}, 90 * time.Minute, 0},
		"requests of OpenAI that are left":     {429, []string{"x-ratelimit-remaining-requests", "1", "x-ratelimit-reset-requests", "1h30m0s"}, 0, 0},
		"a moment of OpenAI":                   {429, []string{"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "90s"}, 0, 90 * time.Second},
		"Retry-After goes before a moment":     {429, []string{"Retry-After", "7", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "90s"}, 0, 7 * time.Second},
		"a time in milliseconds":               {429, []string{"x-ratelimit-remaining", "0", "x-ratelimit-reset", seconds(hour) + "000"}, hour, 0},
		"a number of seconds":                  {429, []string{"x-ratelimit-remaining", "0", "x-ratelimit-reset", "3600"}, hour, 0},
		"a reset that is no time":              {429, []string{"x-ratelimit-remaining", "0", "x-ratelimit-reset", "soon"}, 0, 0},
		"a reset that has passed":              {429, []string{"x-ratelimit-remaining", "0", "x-ratelimit-reset", seconds(-hour)}, 0, 0},
		"a reset in a thousand years":          {429, []string{"x-ratelimit-remaining", "0", "x-ratelimit-reset", "3026-01-01T00:00:00Z"}, 31 * 24 * hour, 0},
		"a reset beyond all numbers":           {429, []string{"x-ratelimit-remaining", "0", "x-ratelimit-reset", "1e300"}, 31 * 24 * hour, 0},
		"a wait beyond all numbers":            {429, []string{"Retry-After", "1e300"}, 31 * 24 * hour, 0},
		"a wait that is negative":              {429, []string{"Retry-After", "-1"}, 0, 0},
		"a quota that no time brings back":     {402, []string{"Retry-After", "7200"}, 0, 0},
		"a bad request that names a far reset": {400, []string{"x-ratelimit-remaining", "0", "x-ratelimit-reset", "3600"}, 0, 0},
	}
	const inHours = `{"error":{"message":"You exceeded your current quota. Please retry in 13h0m0s."}}`
	_, p := asking(refuses(429, inHours))
	resp, err := p.Generate(t.Context(), providertest.Request(), nil)
	if l := providertest.Limit(resp); err != nil || time.Until(l.Until) < 12*hour {
		t.Errorf("a wait of hours in the text: got %+v, %v, want a limit that ends in 13 hours", l, err)
	}
	near := func(got, want time.Duration) bool { return got <= want && got >= want-want/100-2*time.Second }
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, p := asking(refuses(tt.status, "", tt.header...))
			resp, err := p.Generate(t.Context(), providertest.Request(), nil)
			if tt.limited > 0 {
				if l := providertest.Limit(resp); err != nil || !near(time.Until(l.Until), tt.limited) || resp.FinishReason != provider.Failed {
					t.Errorf("got %+v, %v, want a limit that ends in %v", l, err, tt.limited)
				}
				return
			}
			e, ok := errors.AsType[*failure.Error](err)
			if !ok || resp.Error != e || resp.Halt != nil || resp.FinishReason != provider.Failed {
				t.Fatalf("got %+v, %v", resp, err)
			}
			if !near(e.RetryAfter, tt.after) {
				t.Errorf("retry after %v", e.RetryAfter)
			}
		})
	}
}

func TestAnAPIWithoutTools(t *testing.T) {
	const untooled = `{"error":{"message":"this model does not support tools"}}`
	tests := map[string]struct {
		steps []step
		tools []bool // of each message, over two calls
	}{
		"is asked without them from then on":   {[]step{refuses(400, untooled), says("x")}, []bool{true, false, false}},
		"that is not found with them":          {[]step{refuses(404, "No endpoints found that support tool use"), says("x")}, []bool{true, false, false}},
		"fails for another reason":             {[]step{refuses(400, untooled), refuses(400, untooled), says("x")}, []bool{true, false, true}},
		"is not what a server's trouble means": {[]step{refuses(500, untooled), says("x")}, []bool{true, true}},
		"is not what other words mean":         {[]step{refuses(400, "the toolchain is malfunctioning"), says("x")}, []bool{true, true}},
		"is not what a later refusal means":    {[]step{calls("", reads("a.go")), refuses(400, untooled), says("x")}, []bool{true, true, true}},
		"may find the prompt too long as well": {[]step{refuses(400, untooled), refuses(413, ""), says("x")}, []bool{true, false, false, false}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, p := asking(tt.steps...)
			req := exploring()
			req.ContextArtifacts = with(2, 100).ContextArtifacts
			for range 2 {
				p.Generate(t.Context(), req, nil)
			}
			if len(w.asked) != len(tt.tools) {
				t.Fatalf("%d messages", len(w.asked))
			}
			for i, want := range tt.tools {
				if (w.asked[i].Tools != nil) != want {
					t.Errorf("message %d: tools %v", i+1, w.asked[i].Tools)
				}
			}
		})
	}
}

func TestASecretAtTheCutStaysOut(t *testing.T) {
	const key = "canary-0123456789"
	for n := failure.MaxMessage - 100; n < failure.MaxMessage; n++ {
		w := &wire{steps: []step{refuses(500, strings.Repeat("x", n)+key+strings.Repeat("x", 100))}}
		p := chat.New(chat.Config{Model: model, Wire: w, Redact: redact.New([]string{"A_KEY=" + key})})
		if _, err := p.Generate(t.Context(), providertest.Request(), nil); err == nil || strings.Contains(err.Error(), key[:4]) {
			t.Fatalf("leaked behind %d bytes: %v", n, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "https://api.invalid": true, "http://localhost:11434/v1": true, "localhost:11434": false, "ftp://h": false,
		"/v1": false, "http://": false, "http://[::1": false, "https://h/?a=b": false, "https://h/#a": false, "https://u@h/": false,
	} {
		if err := chat.CheckURL(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
