package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/provider/openai"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Subject{
		Answers: func(t *testing.T, raw string) provider.Provider { return serve(t, says(raw, "stop")).provider() },
		Fails:   func(t *testing.T) provider.Provider { return serve(t, providertest.Refuse(500, "oops")).provider() },
		Hangs:   func(t *testing.T, partial string) provider.Provider { return serve(t, hangs(partial)).provider() },
	})
}

func bounded() provider.Request {
	req := providertest.Request()
	req.ContextArtifacts = provider.Artifacts{{Name: "a.go", Path: "a.go", Content: "package a\n"}}
	req.Constraints.Temperature = new(0.5)
	req.Constraints.MaxOutputTokens = 100
	req.Work.Site = files.Site()
	return req
}

func TestTheRequest(t *testing.T) {
	a := serve(t, says("ok", "stop"))
	if _, err := a.provider().Generate(t.Context(), bounded(), nil); err != nil {
		t.Fatal(err)
	}
	q := a.Requests()[0]
	for name, want := range map[string]any{
		"model": "gpt-4o", "max_tokens": 100.0, "max_completion_tokens": nil, "stream": true, "temperature": 0.5,
		"stream_options": map[string]any{"include_usage": true},
		"messages": []any{
			map[string]any{"role": "system", "content": "system"},
			map[string]any{"role": "user", "content": "# Artifacts\n\n## a.go\n\n```\npackage a\n```\n\nuser"},
		},
		"tool_choice": nil, "prompt_cache_key": nil,
	} {
		if !reflect.DeepEqual(q.Body[name], want) {
			t.Errorf("%s is %v\nwant %v", name, q.Body[name], want)
		}
	}
	if tools := q.Body["tools"].([]any); len(tools) != 3 || tools[0].(map[string]any)["type"] != "function" {
		t.Errorf("tools %v", tools)
	}
	if q.Path != "/v1/chat/completions" || q.Header.Get("Authorization") != "Bearer sk-test-key" {
		t.Errorf("%s %v", q.Path, q.Header)
	}
}

// official is OpenAI's own address, answered by a.
type official struct{ a api }

func (o official) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Asked", r.URL.Host)
	r.URL.Scheme, r.URL.Host = "http", strings.TrimPrefix(o.a.URL, "http://")
	return o.a.Client().Transport.RoundTrip(r)
}

func TestTheOfficialAPIGetsMore(t *testing.T) {
	for base, host := range map[string]string{"": "api.openai.com", "https://eu.api.openai.com/v1": "eu.api.openai.com"} {
		a := serve(t, says("ok", "stop"))
		p := a.provider(func(c *openai.Config) { c.BaseURL, c.HTTP = base, &http.Client{Transport: official{a}} })
		for range 2 {
			if _, err := p.Generate(t.Context(), bounded(), nil); err != nil {
				t.Fatal(err)
			}
		}
		first, second := a.Requests()[0], a.Requests()[1]
		if first.Header.Get("X-Asked") != host || first.Body["max_completion_tokens"] != 100.0 || first.Body["max_tokens"] != nil {
			t.Errorf("%v %v", first.Header, first.Body)
		}
		key, _ := first.Body["prompt_cache_key"].(string)
		if key == "" || len(key) > 64 || second.Body["prompt_cache_key"] != key {
			t.Errorf("keys %q and %q", key, second.Body["prompt_cache_key"])
		}
	}
}

func TestAModelWithoutAKey(t *testing.T) {
	a := serve(t, says("ok", "stop"))
	if _, err := a.provider(func(c *openai.Config) { c.Key = "" }).Generate(t.Context(), providertest.Request(), nil); err != nil {
		t.Fatal(err)
	}
	q := a.Requests()[0]
	if _, ok := q.Header["Authorization"]; ok || q.Body["max_tokens"] != nil || q.Body["tools"] != nil {
		t.Errorf("%v %v", q.Header, q.Body)
	}
}

// The official client takes keys, addresses and headers from where it runs.
func TestNothingComesFromTheEnvironment(t *testing.T) {
	elsewhere := serve(t, says("from elsewhere", "stop"))
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "from-the-environment", "OPENAI_ADMIN_KEY": "from-the-environment", "OPENAI_BASE_URL": elsewhere.URL,
		"OPENAI_ORG_ID": "from-the-environment", "OPENAI_PROJECT_ID": "from-the-environment",
		"OPENAI_CUSTOM_HEADERS": "X-Custom: from-the-environment", "OPENAI_WEBHOOK_SECRET": "from-the-environment",
	} {
		t.Setenv(name, value)
	}
	a := serve(t, says("ok", "stop"))
	resp, err := a.provider(func(c *openai.Config) { c.Key = "" }).Generate(t.Context(), providertest.Request(), nil)
	if err != nil || resp.RawText != "ok" {
		t.Fatalf("got %q, %v", resp.RawText, err)
	}
	q := a.Requests()[0]
	sent, err := json.Marshal([]any{q.Header, q.Body})
	if err != nil || strings.Contains(string(sent), "from-the-environment") || len(elsewhere.Requests()) != 0 {
		t.Errorf("sent %s, %v, %d requests elsewhere", sent, err, len(elsewhere.Requests()))
	}
}

func TestFromEnv(t *testing.T) {
	tests := map[string]struct {
		env   map[string]string
		model string
		want  openai.Config
		says  string
	}{
		"a key":                    {env: map[string]string{"OPENAI_API_KEY": " k\n"}, model: "m", want: openai.Config{Model: "m", Key: "k"}},
		"a local model":            {env: map[string]string{"OPENAI_BASE_URL": "http://localhost:11434/v1"}, model: "m", want: openai.Config{Model: "m", BaseURL: "http://localhost:11434/v1"}},
		"no key":                   {model: "m", says: "OPENAI_API_KEY is not set"},
		"no key for OpenAI's own":  {env: map[string]string{"OPENAI_BASE_URL": "https://api.openai.com/v1"}, model: "m", says: "OPENAI_API_KEY is not set"},
		"no model":                 {env: map[string]string{"OPENAI_API_KEY": "k"}, says: "no model"},
		"an address of nothing":    {env: map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "ftp://h"}, model: "m", says: "OPENAI_BASE_URL: not a URL"},
		"an address that is none":  {env: map[string]string{"OPENAI_BASE_URL": "http://[::1"}, model: "m", says: "OPENAI_BASE_URL: not a URL"},
		"an address with a secret": {env: map[string]string{"OPENAI_BASE_URL": "https://u:secret@h/v1"}, model: "m", says: "credentials"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := openai.FromEnv(func(n string) (string, bool) { v, ok := tt.env[n]; return v, ok }, tt.model)
			if got != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %+v, %v", got, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%v tells a secret", err)
			}
		})
	}
}

func TestWhyAnAnswerEnds(t *testing.T) {
	refuses := func(w http.ResponseWriter, _ *http.Request) {
		send(w, start, chunk(`{"refusal":"so "}`, ""), chunk(`{"refusal":"far"}`, ""), chunk("{}", "stop"), done)
	}
	tests := map[string]struct {
		answer http.HandlerFunc
		finish provider.FinishReason
		code   failure.Code
	}{
		"stop":                  {says("so far", "stop"), provider.Stop, ""},
		"length":                {says("so far", "length"), provider.Length, ""},
		"a reason of its own":   {says("so far", "eos"), provider.Stop, ""},
		"tool calls, but none":  {says("so far", "tool_calls"), provider.Stop, ""},
		"a content filter":      {says("so far", "content_filter"), provider.Failed, failure.BadRequest},
		"the model's own words": {refuses, provider.Failed, failure.BadRequest},
		"a limit of its own":    {says("so far", "model_length"), provider.Length, ""},
		"a filter of Zhipu":     {says("so far", "sensitive"), provider.Failed, failure.BadRequest},
		"a filter of Gemini":    {says("so far", "SPII"), provider.Failed, failure.BadRequest},
		"the network":           {says("so far", "network_error"), provider.Failed, failure.Unknown},
		"capitals":              {says("so far", "MAX_TOKENS"), provider.Length, ""},
		"no resources":          {says("so far", "insufficient_system_resource"), provider.Failed, failure.Unknown},
		"an error":              {says("so far", "error"), provider.Failed, failure.Unknown},
		"aborted":               {says("so far", "abort"), provider.Failed, failure.Unknown},
		"a word of tomorrow":    {says("so far", "tomorrow"), provider.Failed, failure.Unknown},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resp, err := serve(t, tt.answer).provider().Generate(t.Context(), providertest.Request(), nil)
			if resp.FinishReason != tt.finish || resp.RawText != "so far" || (err != nil) != (tt.code != "") {
				t.Errorf("got %+v, %v", resp, err)
			}
			if resp.Error != nil && (resp.Error.Code != tt.code || resp.Error.Retriable != (tt.code == failure.Unknown)) {
				t.Errorf("error %+v", resp.Error)
			}
		})
	}
}

// The server keeps the connection open after the end of the answer, and sends comments.
func TestAnAnswerThatHasEndedIsNotWaitedFor(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		send(w, start, delta("whole"), chunk("{}", "stop"))
		for tick := time.Tick(5 * time.Millisecond); ; {
			select {
			case <-r.Context().Done():
				return
			case <-tick:
				io.WriteString(w, ": still here\n\n")
				w.(http.Flusher).Flush()
			}
		}
	})
	p := a.provider(func(c *openai.Config) { c.Idle = 500 * time.Millisecond })
	resp, err := p.Generate(t.Context(), providertest.Request(), nil)
	if err != nil || resp.RawText != "whole" || resp.FinishReason != provider.Stop {
		t.Errorf("got %+v, %v; want the whole answer", resp, err)
	}
}

func TestTextInParts(t *testing.T) {
	thought := `{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}`
	for name, tt := range map[string]struct{ content, want string }{
		"text":               {`[{"type":"text","text":"so "},{"type":"text","text":"far"}]`, "so far"},
		"thoughts and text":  {`[` + thought + `,{"type":"text","text":"so far"}]`, "so far"},
		"thoughts":           {`[` + thought + `]`, ""},
		"another kind":       {`[{"type":"image_url","image_url":{}},{"type":"text","text":"y"}]`, "y"},
		"a text of tomorrow": {`[{"type":"markdown","text":"x"},{"text":"y"}]`, "xy"},
		"reasoning":          {`[{"type":"reasoning.text","text":"hm"},{"type":"text","text":"y"}]`, "y"},
		"strings":            {`["x",{"type":"text","text":"y"}]`, "xy"},
		"a part":             {`{"type":"text","text":"x"}`, "x"},
		"a part of thoughts": {`{"type":"thinking","text":"x"}`, ""},
		"nothing":            {`null`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				send(w, start, chunk(`{"content":`+tt.content+`}`, ""), delta("."), chunk("{}", "stop"), done)
			})
			resp, err := a.provider().Generate(t.Context(), providertest.Request(), nil)
			if err != nil || resp.RawText != tt.want+"." {
				t.Errorf("got %q, %v; want %q", resp.RawText, err, tt.want+".")
			}
		})
	}
}

func TestUsage(t *testing.T) {
	priced := func(c *openai.Config) { c.Price = chat.Price{Input: 1e6, CacheRead: 1e5, Output: 5e6} }
	resp, err := serve(t, says("ok", "stop")).provider(priced).Generate(t.Context(), providertest.Request(), nil)
	want := run.Usage{InputTokens: 50, OutputTokens: 5, TotalTokens: 55, Cost: 20 + 3 + 25}
	if err != nil || resp.Usage == nil || *resp.Usage != want {
		t.Errorf("got %+v, %v", resp.Usage, err)
	}
	untold := func(w http.ResponseWriter, _ *http.Request) { send(w, start, delta("ok"), chunk("{}", "stop"), done) }
	if resp, err = serve(t, untold).provider().Generate(t.Context(), providertest.Request(), nil); err != nil || resp.Usage != nil {
		t.Errorf("got %+v, %v, want nothing known", resp.Usage, err)
	}
}

func TestWindows(t *testing.T) {
	for model, want := range map[string]int{
		"gpt-5-mini": 272_000, "gpt-5.2-chat-latest": 128_000, "gpt-4.1-nano": 1_047_576, "gpt-4o": 128_000, "gpt-4": 8_192,
		"gpt-4-turbo": 128_000, "gpt-3.5-turbo": 16_385, "o3-mini": 200_000, "o1-preview": 128_000, "gpt-6": 128_000,
		"ft:gpt-4o-mini-2024-07-18:org::id": 128_000, "openai/o3": 200_000, "qwen3:8b": 128_000,
	} {
		c := openai.New(openai.Config{Model: model}).Capabilities()
		if c.MaxContextTokens != want || !c.Explores || !c.SupportsToolCalls || c.Version != model {
			t.Errorf("%s: %+v", model, c)
		}
	}
}

// A redirect would take the key to another host.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := serve(t, says("from elsewhere", "stop"))
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	resp, err := a.provider().Generate(t.Context(), providertest.Request(), nil)
	if err == nil || resp.Error == nil || resp.Error.Code != failure.BadRequest || len(elsewhere.Requests()) != 0 {
		t.Errorf("got %+v, %v, %d requests elsewhere", resp, err, len(elsewhere.Requests()))
	}
}
