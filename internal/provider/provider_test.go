package provider_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

func TestRequestJSON(t *testing.T) {
	warm := 0.0
	full := providertest.Request()
	full.Call = 2
	full.ContextArtifacts = provider.Artifacts{{Name: "plan", Path: "plan.md", Content: "# Plan"}}
	full.Constraints.MaxOutputTokens, full.Constraints.Temperature = 100, &warm
	tests := map[string]struct {
		req  provider.Request
		want string
	}{
		"the least": {providertest.Request(), `{"runId":"run-1","iteration":1,"phase":"execute","role":"developer","prompt":{"system":"system","user":"user"},"contextArtifacts":[],"constraints":{"timeoutMs":60000,"patchFirst":true}}`},
		"the most":  {full, `{"runId":"run-1","iteration":1,"phase":"execute","role":"developer","call":2,"prompt":{"system":"system","user":"user"},"contextArtifacts":[{"name":"plan","path":"plan.md","content":"# Plan"}],"constraints":{"timeoutMs":60000,"maxOutputTokens":100,"temperature":0,"patchFirst":true}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(tt.req)
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, tt.want)
			}
		})
	}
}

func TestResponseJSON(t *testing.T) {
	limited := &failure.Error{Code: failure.RateLimit, Message: "slow down", Retriable: true, RetryAfter: 1500 * time.Millisecond}
	tests := map[string]struct {
		resp provider.Response
		want string
	}{
		"an answer":            {provider.Response{RawText: "x", FinishReason: provider.Stop, DurationMs: 5}, `{"rawText":"x","finishReason":"stop","durationMs":5}`},
		"an answer with usage": {provider.Response{FinishReason: provider.Length, Usage: &run.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3}}, `{"rawText":"","finishReason":"length","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"durationMs":0}`},
		"a timeout":            {provider.FailedResponse(&failure.Error{Code: failure.Timeout, Message: "late", Retriable: true}, "part", time.Second), `{"rawText":"part","finishReason":"timeout","durationMs":1000,"error":{"code":"TIMEOUT","message":"late","retriable":true}}`},
		"a rate limit":         {provider.FailedResponse(limited, "", 0), `{"rawText":"","finishReason":"error","durationMs":0,"error":{"code":"RATE_LIMIT","message":"slow down","retriable":true,"retryAfterMs":1500}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(tt.resp)
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, tt.want)
			}
			var back provider.Response
			if err := json.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(back, tt.resp) {
				t.Errorf("comes back as %+v (%v)", back, err)
			}
		})
	}
}

func TestUnknownWordsAreRefused(t *testing.T) {
	for _, text := range []string{
		`{"rawText": "x", "finishReason": "end_turn"}`,
		`{"rawText": "x", "finishReason": ""}`,
		`{"rawText": "x", "finishReason": "error", "error": {"code": "OVERLOADED", "message": "m"}}`,
		`{"rawText": "x", "finishReason": "error", "error": {"code": "auth", "message": "m"}}`,
	} {
		var resp provider.Response
		if err := json.Unmarshal([]byte(text), &resp); err == nil {
			t.Errorf("%s is read as %+v", text, resp)
		}
	}
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		change func(*provider.Request)
		says   string
	}{
		"a valid request":               {func(*provider.Request) {}, ""},
		"a planner needs no patch":      {func(r *provider.Request) { r.Phase, r.Role, r.Constraints.PatchFirst = run.Plan, run.Planner, false }, ""},
		"no run":                        {func(r *provider.Request) { r.RunID = "" }, "run id"},
		"the role of another phase":     {func(r *provider.Request) { r.Role = run.Fixer }, `role "fixer" does not serve phase "execute"`},
		"a person's phase":              {func(r *provider.Request) { r.Phase, r.Role = run.Ask, "" }, "does not serve"},
		"iteration 0":                   {func(r *provider.Request) { r.Iteration = 0 }, "iteration 0"},
		"a call before the first":       {func(r *provider.Request) { r.Call = -1 }, "call -1"},
		"no timeout":                    {func(r *provider.Request) { r.Constraints.TimeoutMs = 0 }, "timeout of 0 ms"},
		"a timeout beyond all time":     {func(r *provider.Request) { r.Constraints.TimeoutMs = math.MaxInt64 }, "timeout of"},
		"a developer not patch first":   {func(r *provider.Request) { r.Constraints.PatchFirst = false }, "patch first"},
		"a temperature no number tells": {func(r *provider.Request) { r.Constraints.Temperature = new(math.NaN()) }, "temperature"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			req := providertest.Request()
			tt.change(&req)
			err := req.Validate()
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
			if e := req.Check(); (e == nil) != (err == nil) || e != nil && (e.Code != failure.BadRequest || e.Retriable) {
				t.Errorf("checked as %+v", e)
			}
		})
	}
}

func TestTail(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	tests := map[string]struct{ text, want string }{
		"nothing":                    {"", ""},
		"a short text":               {"short\n", "short\n"},
		"a long text":                {long, long[len(long)-provider.MaxTail:]},
		"a rune at the cut":          {strings.Repeat("x", 9) + "☃" + strings.Repeat("y", provider.MaxTail-1), strings.Repeat("y", provider.MaxTail-1)},
		"a rune still on its way":    {"x\xe2\x98", "x?"},
		"nothing that starts a rune": {strings.Repeat("\x98", 2*provider.MaxTail), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := provider.Tail([]byte(tt.text)); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
