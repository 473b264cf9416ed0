package anthropic_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/anthropic"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Subject{
		Answers: func(t *testing.T, raw string) provider.Provider { return serve(t, says(raw, "end_turn")).provider() },
		Fails:   func(t *testing.T) provider.Provider { return serve(t, providertest.Refuse(500, "oops")).provider() },
		Hangs:   func(t *testing.T, partial string) provider.Provider { return serve(t, hangs(partial)).provider() },
	})
}

func TestTheRequest(t *testing.T) {
	a := serve(t, says("ok", "end_turn"))
	req := providertest.Request()
	req.ContextArtifacts = provider.Artifacts{{Name: "a.go", Path: "a.go", Content: "package a\n"}, {Name: "b.go", Path: "b.go", Content: "package b\n"}}
	req.Constraints.Temperature = new(0.5)
	req.Work.Site = files.Site()
	if _, err := a.provider().Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	q := a.Requests()[0]
	cached := map[string]any{"type": "ephemeral"}
	context := "# Artifacts\n\n## a.go\n\n```\npackage a\n```\n\n## b.go\n\n```\npackage b\n```\n\n"
	for name, want := range map[string]any{
		"model": "claude-sonnet-4-5", "max_tokens": 32000.0, "stream": true, "temperature": 0.5,
		"system": []any{map[string]any{"type": "text", "text": "system", "cache_control": cached}},
		"messages": []any{map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "text", "text": context, "cache_control": cached},
			map[string]any{"type": "text", "text": "user"},
		}}},
		"tool_choice": nil,
	} {
		if !reflect.DeepEqual(q.Body[name], want) {
			t.Errorf("%s is %v\nwant %v", name, q.Body[name], want)
		}
	}
	tools := q.Body["tools"].([]any)
	for i, tool := range tools {
		_, marked := tool.(map[string]any)["cache_control"]
		if marked != (i == len(tools)-1) {
			t.Errorf("tool %d: marked is %t", i, marked)
		}
	}
	if q.Path != "/v1/messages" || q.Header.Get("X-Api-Key") != "sk-test-key" || q.Header.Get("Authorization") != "" || q.Header.Get("Anthropic-Version") == "" {
		t.Errorf("%s %v", q.Path, q.Header)
	}
}

func TestABarePromptHasNoMarksOnNothing(t *testing.T) {
	a := serve(t, says("ok", "end_turn"))
	req := providertest.Request()
	req.Prompt.System = ""
	if _, err := a.provider().Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	body := a.Requests()[0].Body
	for _, name := range []string{"system", "tools", "temperature"} {
		if body[name] != nil {
			t.Errorf("%s is %v", name, body[name])
		}
	}
}

// The official client takes keys, addresses, headers and profiles from where it runs.
func TestNothingComesFromTheEnvironment(t *testing.T) {
	elsewhere := serve(t, says("from elsewhere", "end_turn"))
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "from-the-environment", "ANTHROPIC_AUTH_TOKEN": "from-the-environment",
		"ANTHROPIC_BASE_URL": elsewhere.URL, "ANTHROPIC_CUSTOM_HEADERS": "X-Custom: from-the-environment",
		"ANTHROPIC_PROFILE": "from-the-environment", "ANTHROPIC_CONFIG_DIR": t.TempDir(),
		"ANTHROPIC_OPEN_TELEMETRY": "true", "ANTHROPIC_WORKSPACE_ID": "from-the-environment",
	} {
		t.Setenv(name, value)
	}
	a := serve(t, says("ok", "end_turn"))
	p := a.provider(func(c *anthropic.Config) { c.Key, c.Token = "", "own-token" })
	resp, err := p.Generate(t.Context(), providertest.Request(), nil)
	if err != nil || resp.RawText != "ok" {
		t.Fatalf("got %q, %v", resp.RawText, err)
	}
	q := a.Requests()[0]
	sent, err := json.Marshal([]any{q.Header, q.Body})
	if err != nil || strings.Contains(string(sent), "from-the-environment") {
		t.Errorf("sent %s, %v", sent, err)
	}
	if q.Header.Get("Authorization") != "Bearer own-token" || q.Header.Get("X-Api-Key") != "" || len(elsewhere.Requests()) != 0 {
		t.Errorf("header %v, %d requests elsewhere", q.Header, len(elsewhere.Requests()))
	}
}

func TestFromEnv(t *testing.T) {
	tests := map[string]struct {
		env   map[string]string
		model string
		want  anthropic.Config
		says  string
	}{
		"a key":                   {env: map[string]string{"ANTHROPIC_API_KEY": " k\n"}, model: "m", want: anthropic.Config{Model: "m", Key: "k"}},
		"a token":                 {env: map[string]string{"ANTHROPIC_AUTH_TOKEN": "t"}, model: "m", want: anthropic.Config{Model: "m", Token: "t"}},
		"a key goes before":       {env: map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"}, model: "m", want: anthropic.Config{Model: "m", Key: "k"}},
		"an address":              {env: map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://localhost:1/x"}, model: "m", want: anthropic.Config{Model: "m", Key: "k", BaseURL: "http://localhost:1/x"}},
		"no key":                  {model: "m", says: "ANTHROPIC_API_KEY is not set"},
		"an empty key":            {env: map[string]string{"ANTHROPIC_API_KEY": " "}, model: "m", says: "ANTHROPIC_API_KEY is not set"},
		"no model":                {env: map[string]string{"ANTHROPIC_API_KEY": "k"}, says: "no model"},
		"an address of nothing":   {env: map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "localhost:1"}, model: "m", says: "ANTHROPIC_BASE_URL: not a URL"},
		"an address with a query": {env: map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://h/?a=b"}, model: "m", says: "query"},
		"an address with a login": {env: map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://u:secret@h/"}, model: "m", says: "credentials"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := anthropic.FromEnv(func(n string) (string, bool) { v, ok := tt.env[n]; return v, ok }, tt.model)
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
	tests := map[string]struct {
		finish provider.FinishReason
		code   failure.Code
	}{
		"end_turn":                      {finish: provider.Stop},
		"stop_sequence":                 {finish: provider.Stop},
		"max_tokens":                    {finish: provider.Length},
		"model_context_window_exceeded": {finish: provider.Length},
		"pause_turn":                    {finish: provider.Failed, code: failure.Unknown},
		"a reason of tomorrow":          {finish: provider.Failed, code: failure.Unknown},
		"refusal":                       {finish: provider.Failed, code: failure.BadRequest},
	}
	for reason, tt := range tests {
		t.Run(reason, func(t *testing.T) {
			resp, err := serve(t, says("so far", reason)).provider().Generate(t.Context(), providertest.Request(), nil)
			if resp.FinishReason != tt.finish || resp.RawText != "so far" || (err != nil) != (tt.code != "") {
				t.Errorf("got %+v, %v", resp, err)
			}
			if resp.Error != nil && (resp.Error.Code != tt.code || resp.Error.Retriable != (tt.code == failure.Unknown)) {
				t.Errorf("error %+v", resp.Error)
			}
		})
	}
}

func TestARefusalSaysWhy(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		send(w, start, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio","explanation":"not that"}},"usage":{"output_tokens":1}}`, over)
	})
	resp, err := a.provider().Generate(t.Context(), providertest.Request(), nil)
	providertest.Fails(failure.BadRequest, false, "the model refuses to answer: not that").Check(t, resp, err)
}

func TestUsageCountsWhatIsCached(t *testing.T) {
	p := serve(t, says("ok", "end_turn")).provider(func(c *anthropic.Config) {
		c.Price = chat.Price{Input: 1e6, CacheWrite: 2e6, CacheRead: 1e5, Output: 5e6}
	})
	resp, err := p.Generate(t.Context(), providertest.Request(), nil)
	want := run.Usage{InputTokens: 60, OutputTokens: 5, TotalTokens: 65, Cost: 10 + 40 + 3 + 25}
	if err != nil || resp.Usage == nil || *resp.Usage != want {
		t.Errorf("got %+v, %v", resp.Usage, err)
	}
}

func TestWindows(t *testing.T) {
	for model, want := range map[string]int{
		"claude-opus-5": 1_000_000, "claude-sonnet-5-5": 1_000_000, "claude-sonnet-4-6": 200_000, "claude-haiku-5-5": 200_000,
		"claude-3-haiku-20240307": 200_000, "anthropic/claude-opus-4-1": 200_000, "local": 128_000,
	} {
		c := anthropic.New(anthropic.Config{Model: model, Key: "k"}).Capabilities()
		if c.MaxContextTokens != want || !c.Explores || !c.SupportsToolCalls || c.Version != model {
			t.Errorf("%s: %+v", model, c)
		}
	}
}

func TestAnAnswerIsNoLongerThanItsModelCan(t *testing.T) {
	for model, want := range map[string]float64{"claude-3-haiku-20240307": 4096, "claude-opus-4-1": 32000, "claude-opus-5": 32000, "local": 32000} {
		a := serve(t, says("ok", "end_turn"))
		if _, err := a.provider(func(c *anthropic.Config) { c.Model = model }).Generate(t.Context(), providertest.Request(), nil); err != nil {
			t.Fatal(err)
		}
		if got := a.Requests()[0].Body["max_tokens"]; got != want {
			t.Errorf("%s: %v", model, got)
		}
	}
}

// A redirect would take the key to another host.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := serve(t, says("from elsewhere", "end_turn"))
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	resp, err := a.provider().Generate(t.Context(), providertest.Request(), nil)
	if err == nil || resp.Error == nil || resp.Error.Code != failure.BadRequest || len(elsewhere.Requests()) != 0 {
		t.Errorf("got %+v, %v, %d requests elsewhere", resp, err, len(elsewhere.Requests()))
	}
}
