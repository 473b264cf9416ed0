package claude_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

func TestATurnWithATool(t *testing.T) {
	lines := []string{
		`{"type":"command_lifecycle","command_uuid":"u","state":"started"}`,
		initLine,
		`{"type":"assistant","message":{"id":"msg_1","model":"claude-sonnet-4-5","role":"assistant","content":[{"type":"text","text":"round 1"}],"usage":{"input_tokens":900,"cache_creation_input_tokens":60,"cache_read_input_tokens":40,"output_tokens":1}},"parent_tool_use_id":null}`,
		`{"type":"assistant","message":{"id":"msg_1","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"a.txt"}}],"usage":{"input_tokens":900,"cache_creation_input_tokens":60,"cache_read_input_tokens":40,"output_tokens":7}}}`,
		`not a frame`,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"A"},{"type":"image","source":{}}]}]},"tool_use_result":{"type":"text"}}`,
		`{"type":"user","message":{"role":"user","content":"again"},"isReplay":true}`,
		`{"type":"assistant","message":{"id":"msg_2","model":"claude-sonnet-4-5","content":[{"type":"thinking","thinking":"hm"}]}}`,
		`{"type":"assistant","message":{"id":"msg_2","model":"claude-sonnet-4-5","content":[{"type":"text","text":"do"}],"usage":{"input_tokens":1100,"output_tokens":2}}}`,
		`{"type":"assistant","message":{"id":"msg_2","model":"claude-sonnet-4-5","content":[{"type":"text","text":"ne"}],"usage":{"input_tokens":1100,"output_tokens":2}}}`,
		`{"is_error":false,"duration_ms":320,"subtype":"success","type":"result","num_turns":2,"result":"done","total_cost_usd":0.011,"usage":{"input_tokens":1900,"cache_creation_input_tokens":60,"cache_read_input_tokens":40,"output_tokens":40},"modelUsage":{"claude-sonnet-4-5":{"costUSD":0.011,"contextWindow":200000}},"terminal_reason":"completed"}`,
	}
	s := newFake(t, script{Turns: [][]string{lines}}).start(t, agent.Options{})
	started, _ := agenttest.Until[agent.Started](t, s)
	got, events := agenttest.Turn(t, s, "go")
	cost := run.Micros(11_000)
	want := agent.Turn{
		Status: agent.Completed, Text: "done", Tokens: agent.Tokens{Input: 2000, Output: 40, Cached: 40}, Cost: &cost,
		Context: agent.Context{Used: 1100, Total: 200_000},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if started.SessionID != s.ID() || started.Resumed {
		t.Errorf("%+v of session %s", started, s.ID())
	}
	wantEvents := []agent.Event{
		agent.Raw{Frame: json.RawMessage(lines[0])},
		agent.Text{Text: "round 1"},
		agent.UsageUpdate{Tokens: agent.Tokens{Input: 1000, Output: 1, Cached: 40}, Context: agent.Context{Used: 1000}},
		agent.ToolUse{CallID: "toolu_1", Tool: "Read", Input: json.RawMessage(`{"file_path":"a.txt"}`)},
		agent.UsageUpdate{Tokens: agent.Tokens{Input: 1000, Output: 7, Cached: 40}, Context: agent.Context{Used: 1000}},
		agent.ToolResult{CallID: "toolu_1", Output: "A\n[image]"},
		agent.Raw{Frame: json.RawMessage(lines[6])},
		agent.Raw{Frame: json.RawMessage(lines[7])},
		agent.Text{Text: "do"},
		agent.UsageUpdate{Tokens: agent.Tokens{Input: 2100, Output: 9, Cached: 40}, Context: agent.Context{Used: 1100}},
		agent.Text{Text: "ne"},
	}
	last := len(events) - 1
	if c, ok := events[last].(agent.TurnClosed); !ok || c.Status != "completed" || c.ID == "" {
		t.Errorf("the turn was closed by %+v", events[last])
	}
	events = events[:last]
	if !reflect.DeepEqual(events, wantEvents) {
		t.Errorf("got  %+v\nwant %+v", events, wantEvents)
	}
}

// TestHowResultsEnd is the table of CLIENT.md, 5, both versions.
func TestHowResultsEnd(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		result string
		want   agent.TurnStatus
	}{
		"normal":                              {`"subtype":"success","is_error":false,"terminal_reason":"completed"`, agent.Completed},
		"a command":                           {`"subtype":"success","is_error":false,"num_turns":0`, agent.Completed},
		"API error, older":                    {`"subtype":"success","is_error":true,"terminal_reason":"completed","api_error_status":null,"result":"refused"`, agent.Failed},
		"API error":                           {`"subtype":"success","is_error":true,"terminal_reason":"api_error","result":"refused"`, agent.Failed},
		"prompt too long":                     {`"subtype":"success","is_error":true,"terminal_reason":"prompt_too_long","api_error_status":400,"result":"Prompt is too long"`, agent.Failed},
		"interrupted while the model speaks":  {`"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","errors":["[ede_diagnostic] x"]`, agent.Interrupted},
		"interrupted in a tool":               {`"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","errors":["[ede_diagnostic] x"]`, agent.Interrupted},
		"too many turns":                      {`"subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","errors":["Reached maximum number of turns (1)"]`, agent.Failed},
		"budget used up":                      {`"subtype":"error_max_budget_usd","is_error":true,"terminal_reason":"budget_exhausted","errors":["Reached maximum budget ($0.5)"]`, agent.Failed},
		"budget used up, older":               {`"subtype":"error_max_budget_usd","is_error":true,"errors":["Reached maximum budget ($0.5)"]`, agent.Failed},
		"a result that nobody can make sense": {`"subtype":7`, agent.Failed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFake(t, script{Turns: [][]string{{initLine, helloLine, `{"type":"result",` + tt.result + `}`}, plain}}).start(t, agent.Options{})
			got, _ := agenttest.Turn(t, s, "go")
			if got.Status != tt.want || got.Text != "hello" || got.Tokens.Input != 1000 {
				t.Errorf("got %+v", got)
			}
			if (got.Err != nil) != (tt.want == agent.Failed) {
				t.Errorf("a turn that %s, with error %v", got.Status, got.Err)
			}
			if again, _ := agenttest.Turn(t, s, "again"); again.Status != agent.Completed {
				t.Errorf("the turn after it: %+v", again)
			}
		})
	}
}

// TestErrors is the table of CLIENT.md, 9, and what public reports add to it.
func TestErrors(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Hour).Unix()
	rejected := fmt.Sprintf(`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%d,"rateLimitType":"five_hour"}}`, later)
	tests := map[string]struct {
		before string // a frame
		word   string
		result string
		want   failure.Error // of Message, a part
		until  int64
	}{
		"401": {word: "authentication_failed", result: `"api_error_status":401,"result":"Invalid API key"`,
			want: failure.Error{Code: failure.Auth, Message: "Invalid API key"}},
		"a login without a status": {word: "authentication_failed", result: `"api_error_status":null,"result":"Not logged in"`,
			want: failure.Error{Code: failure.Auth, Message: "Not logged in"}},
		"429": {word: "rate_limit", result: `"api_error_status":429,"result":"API Error: Request rejected (429)"`,
			want: failure.Error{Code: failure.RateLimit, Message: "rejected", Retriable: true}},
		"529": {word: "server_error", result: `"api_error_status":529,"result":"API Error: 529 Overloaded"`,
			want: failure.Error{Code: failure.Unknown, Message: "Overloaded", Retriable: true}},
		"connection refused": {word: "server_error", result: `"api_error_status":null,"result":"API Error: Connection refused"`,
			want: failure.Error{Code: failure.Unknown, Message: "Connection refused", Retriable: true}},
		"400 prompt too long": {word: "invalid_request", result: `"api_error_status":400,"terminal_reason":"prompt_too_long","result":"Prompt is too long"`,
			want: failure.Error{Code: failure.BadRequest, Message: "context too long: "}},
		"another 400": {word: "unknown", result: `"api_error_status":400,"result":"API Error: 400 bad thing"`,
			want: failure.Error{Code: failure.BadRequest, Message: "bad thing"}},
		"404": {word: "model_not_found", result: `"api_error_status":404,"result":"There's an issue with the selected model"`,
			want: failure.Error{Code: failure.BadRequest, Message: "selected model"}},
		"credit used up": {word: "billing_error", result: `"api_error_status":400,"result":"Credit balance is too low"`,
			want: failure.Error{Code: failure.RateLimit, Message: "quota or credit exhausted"}},
		"a limit of its own": {result: `"subtype":"error_max_turns","errors":["Reached maximum number of turns (1)"]`,
			want: failure.Error{Code: failure.BadRequest, Message: "number of turns"}},
		"errors with a diagnostic": {result: `"subtype":"error_during_execution","errors":["[ede_diagnostic] x","it broke"]`,
			want: failure.Error{Code: failure.Unknown, Message: "it broke", Retriable: true}},
		"a subscription that states its reset": {result: fmt.Sprintf(`"result":"Claude AI usage limit reached|%d"`, later),
			want: failure.Error{Code: failure.RateLimit, Message: "usage limit", Retriable: true}, until: later},
		"a subscription whose reset has passed": {result: `"result":"Claude AI usage limit reached|1755615600"`,
			want: failure.Error{Code: failure.RateLimit, Message: "usage limit", Retriable: true}},
		"a subscription that was rejected": {before: rejected, word: "rate_limit", result: `"api_error_status":429,"result":"You've hit your limit"`,
			want: failure.Error{Code: failure.RateLimit, Message: "hit your limit", Retriable: true}, until: later},
		"another error after a rejection": {before: rejected, word: "server_error", result: `"api_error_status":500,"result":"boom"`,
			want: failure.Error{Code: failure.Unknown, Message: "boom", Retriable: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := []string{initLine, tt.before}
			if tt.word != "" {
				lines = append(lines, `{"type":"assistant","message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]},"error":"`+tt.word+`"}`)
			}
			lines = append(lines, `{"type":"result","is_error":true,`+tt.result+`}`)
			s := newFake(t, script{Turns: [][]string{lines}}).start(t, agent.Options{})
			got, events := agenttest.Turn(t, s, "go")
			e, ok := errors.AsType[*failure.Error](got.Err)
			if !ok || e.Code != tt.want.Code || e.Retriable != tt.want.Retriable || !strings.Contains(e.Message, tt.want.Message) || strings.Contains(e.Message, "diagnostic") {
				t.Errorf("got %v, want %v", got.Err, &tt.want)
			}
			limited, ok := errors.AsType[*failure.Limited](got.Err)
			if ok != (tt.until != 0) || ok && limited.Until.Unix() != tt.until {
				t.Errorf("limited: %v, want it until %d", got.Err, tt.until)
			}
			if said := agenttest.All[agent.Text](events); len(said) > 0 || got.Text != "" {
				t.Errorf("the error became the assistant's: %v %q", said, got.Text)
			}
		})
	}
}

func TestRetriesAreNotices(t *testing.T) {
	retry := `{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":522.5,"error_status":401,"error":"authentication_failed"}`
	compact := `{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto"}}`
	s := newFake(t, script{Turns: [][]string{{initLine, retry, compact, helloLine, resultLine}}}).start(t, agent.Options{})
	_, events := agenttest.Turn(t, s, "go")
	want := []agent.Notice{
		{Name: "api_retry", Data: json.RawMessage(retry), Stall: true},
		{Name: "compact_boundary", Data: json.RawMessage(compact)},
	}
	if got := agenttest.All[agent.Notice](events); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestSubAgents(t *testing.T) {
	lines := []string{
		initLine,
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"task","name":"Task","input":{}}],"usage":{"input_tokens":500}}}`,
		`{"type":"assistant","parent_tool_use_id":"task","message":{"id":"m2","content":[{"type":"text","text":"inner"},{"type":"tool_use","id":"inner","name":"Read","input":{}}],"usage":{"input_tokens":90000}}}`,
		`{"type":"user","parent_tool_use_id":"task","message":{"content":[{"type":"tool_result","tool_use_id":"inner","content":"x"}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"task","content":"report","is_error":true}]}}`,
		resultLine,
	}
	s := newFake(t, script{Turns: [][]string{lines}}).start(t, agent.Options{})
	got, events := agenttest.Turn(t, s, "go")
	if got.Context.Used != 500 || len(agenttest.All[agent.Text](events)) != 0 {
		t.Errorf("what a sub-agent says counts as the agent's: %+v, %+v", got, events)
	}
	calls, results := agenttest.All[agent.ToolUse](events), agenttest.All[agent.ToolResult](events)
	if len(calls) != 1 || len(results) != 1 || calls[0].CallID != "task" || !results[0].Error || results[0].Output != "report" {
		t.Errorf("calls %+v, results %+v", calls, results)
	}
}

func TestAMessageThatCanBeReadInPart(t *testing.T) {
	odd := strings.Replace(helloLine, `"output_tokens":1`, `"output_tokens":"many"`, 1)
	odd = strings.Replace(odd, `"role":"assistant"`, `"model":{"id":7}`, 1)
	s := newFake(t, script{Turns: [][]string{{initLine, odd, `{"type":"assistant","message":"hello"}`, resultLine}}}).start(t, agent.Options{})
	if got, events := agenttest.Turn(t, s, "go"); got.Text != "hello" || len(agenttest.All[agent.Raw](events)) != 1 {
		t.Errorf("got %+v after %+v", got, events)
	}
}

func TestLinesOfAnySize(t *testing.T) {
	text := strings.Repeat("long ", 200_000)
	s := newFake(t, script{Turns: [][]string{{initLine, strings.Replace(helloLine, "hello", text, 1), resultLine}}}).start(t, agent.Options{})
	if got, _ := agenttest.Turn(t, s, "go"); got.Text != text {
		t.Errorf("%d bytes", len(got.Text))
	}
}

func TestALineBeyondMeasureEndsTheSession(t *testing.T) {
	need.Suite(t, need.CI)
	s := newFake(t, script{Turns: [][]string{{initLine, "flood"}}}).start(t, agent.Options{})
	if err := s.Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if got, _ := agenttest.Until[agent.Exit](t, s); got.Code != -1 || !strings.Contains(got.Stderr, "a line of more than") || s.Alive() {
		t.Errorf("got %+v, alive is %v", got, s.Alive())
	}
}
