package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/provider/openai"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/exploretest"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

var files = exploretest.Files{"main.go": "package main\n", "lib/a.go": "package lib // needle\n", ".env": "CANARY=1\n"}

func exploring() provider.Request {
	req := providertest.Request()
	req.Work.Site = files.Site()
	return req
}

func TestTheModelExplores(t *testing.T) {
	model := fakemodel.Start(t)
	p := openai.New(openai.Config{Model: "local", BaseURL: model.URL + "/v1"})
	req := exploring()
	req.Prompt.User = fakemodel.Tool("list_files", map[string]any{}) +
		fakemodel.Tool("read_file", map[string]any{"path": "main.go"}) + fakemodel.Par("read_file", map[string]any{"path": ".env"}) +
		fakemodel.Tool("search_files", map[string]any{"pattern": "needle"}) + "[[usage:10,2,4]]" + fakemodel.Say("done")
	resp, err := p.Generate(t.Context(), req, nil)
	if err != nil || resp.RawText != "done" {
		t.Fatalf("got %q, %v", resp.RawText, err)
	}
	if want := (run.Usage{InputTokens: 40, OutputTokens: 8, TotalTokens: 48}); resp.Usage == nil || *resp.Usage != want {
		t.Errorf("usage %+v", resp.Usage)
	}
	asked := model.Requests()
	if len(asked) != 4 || len(asked[0].Tools) != 3 {
		t.Fatalf("%d requests with the tools %q", len(asked), asked[0].Tools)
	}
	text := asked[3].Text()
	for _, want := range []string{"lib/a.go\nmain.go\n", "package main", "withheld", "lib/a.go:1: package lib // needle"} {
		if !strings.Contains(text, want) {
			t.Errorf("the model did not see %q in %s", want, text)
		}
	}
	if strings.Contains(text, "CANARY") {
		t.Errorf("the model saw %s", text)
	}
}

// Servers differ in how they number the calls of a message, in whether they
// give them ids, and in the reason that they end it with.
func TestHowCallsArrive(t *testing.T) {
	part := func(index int, id, name, arguments string) string {
		b, err := json.Marshal(map[string]any{"tool_calls": []any{
			map[string]any{"index": index, "id": id, "function": map[string]any{"name": name, "arguments": arguments}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return chunk(string(b), "")
	}
	main, lib := `{"path":"main.go"}`, `{"path":"lib/a.go"}`
	tests := map[string]struct {
		finish string
		parts  []string
	}{
		"in pieces": {"tool_calls", []string{
			part(0, "a", "read_file", ""), part(0, "", "", `{"path":`), part(0, "", "", `"main.go"}`), part(1, "b", "read_file", ""), part(1, "", "", lib),
		}},
		"interleaved":                {"tool_calls", []string{part(0, "a", "read_file", `{"path":`), part(1, "b", "read_file", lib), part(0, "", "", `"main.go"}`)}},
		"whole, all with one number": {"tool_calls", []string{part(0, "a", "read_file", main), part(0, "b", "read_file", lib)}},
		"whole, without ids":         {"tool_calls", []string{part(0, "", "read_file", main), part(1, "", "read_file", lib)}},
		"with members of other types": {"tool_calls", []string{
			`{"error":null,"usage":"none","choices":[{"index":0.0,"delta":{"content":7,"tool_calls":[{"index":0.0,"id":"a","function":{"name":"read_file","arguments":` + providertest.Quote(main) + `}}]}}]}`,
			part(1, "b", "read_file", lib),
		}},
		"ended as an answer is": {"stop", []string{part(0, "a", "read_file", main), part(1, "b", "read_file", lib)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				send(w, start, delta("let me see"))
				send(w, tt.parts...)
				send(w, chunk("{}", tt.finish), done)
			}, says("done", "stop"))
			resp, err := a.provider().Generate(t.Context(), exploring(), nil)
			if err != nil || resp.RawText != "done" {
				t.Fatalf("got %+v, %v", resp, err)
			}
			messages := a.Requests()[1].Body["messages"].([]any)[2:]
			said := messages[0].(map[string]any)
			calls := said["tool_calls"].([]any)
			if said["content"] != "let me see" || len(calls) != 2 || len(messages) != 3 {
				t.Fatalf("sent back %v", messages)
			}
			for i, want := range []string{"package main", "package lib"} {
				result := messages[i+1].(map[string]any)
				if result["tool_call_id"] != calls[i].(map[string]any)["id"] || !strings.Contains(result["content"].(string), want) {
					t.Errorf("call %v got %v", calls[i], result)
				}
			}
		})
	}
}

func TestAtTheBoundTheToolsAreWithdrawn(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		send(w, chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"list_files"}}]}`, ""), chunk("{}", "tool_calls"), done)
	})
	if _, err := a.provider().Generate(t.Context(), exploring(), nil); err != nil {
		t.Fatal(err)
	}
	asked := a.Requests()
	last := asked[len(asked)-1].Body
	if len(asked) != chat.MaxRounds+1 || last["tool_choice"] != "none" || last["tools"] == nil || asked[0].Body["tool_choice"] != nil {
		t.Errorf("%d requests, at last with the choice %v", len(asked), last["tool_choice"])
	}
}

func TestACallThatTheLimitCutIsNone(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		send(w, chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"pa"}}]}`, ""), chunk("{}", "length"), done)
	})
	if resp, err := a.provider().Generate(t.Context(), exploring(), nil); err != nil || resp.FinishReason != "length" || len(a.Requests()) != 1 {
		t.Errorf("got %+v, %v", resp, err)
	}
}

func TestAModelWithoutTools(t *testing.T) {
	for _, body := range []string{
		`{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools","type":"api_error"}}`,
		`{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice","code":400}`,
		`{"error":{"message":"Function calling is not enabled for this model"}}`,
	} {
		a := serve(t, providertest.Refuse(400, body), says("done", "stop"))
		p := a.provider()
		for range 2 {
			if resp, err := p.Generate(t.Context(), exploring(), nil); err != nil || resp.RawText != "done" {
				t.Errorf("got %+v, %v", resp, err)
			}
		}
		asked := a.Requests()
		if len(asked) != 3 || asked[0].Body["tools"] == nil || asked[1].Body["tools"] != nil || asked[2].Body["tools"] != nil {
			t.Errorf("%d requests: %v", len(asked), asked)
		}
	}
}
