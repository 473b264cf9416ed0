package acp_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func use(id, tool, input string) agent.Event {
	return agent.ToolUse{CallID: id, Tool: tool, Input: json.RawMessage(input)}
}

// Frames as the agents sent them, shortened.
func TestACallIsToldOnceAndHasOneResult(t *testing.T) {
	t.Parallel()
	shown := `{"title":"touch ga.txt","kind":"execute","content":[{"type":"content","content":{"type":"text","text":"[current working directory /w] (make a)"}}]}`
	tests := map[string]struct {
		agent   string
		steps   []step
		verdict agent.PermissionVerdict // on what is asked
		reason  string
		want    []agent.Event
	}{
		"opencode: the input is whole when the call runs": {"opencode", []step{
			update(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"bash","kind":"execute","status":"pending","locations":[],"rawInput":{"cwd":"/w"}}`),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress","kind":"execute","title":"touch a","rawInput":{"command":"touch a","cwd":"/w"}}`),
			ask(asked["opencode"]),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress","rawInput":{"command":"touch a","cwd":"/w"}}`),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"(no output)"}}],"rawOutput":{"output":"(no output)","metadata":{"exit":0}}}`),
		}, agent.Allow, "", []agent.Event{use("c1", "execute", `{"command":"touch a","cwd":"/w"}`), agent.ToolResult{CallID: "c1", Output: "(no output)"}}},

		"opencode: denied, and it says so": {"opencode", []step{
			update(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"bash","kind":"execute","status":"pending","rawInput":{}}`),
			{Ask: json.RawMessage(asked["opencode"]), Quiet: true},
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","rawOutput":{"error":"rejected"},"content":[{"type":"content","content":{"type":"text","text":"rejected"}}]}`),
		}, agent.Deny, "no", []agent.Event{use("c1", "execute", `{"command":"touch b.txt"}`), agent.ToolResult{CallID: "c1", Output: "rejected", Error: true}}},

		"the bridge to Claude Code: the input grows while the call is pending": {"claude", []step{
			update(`{"_meta":{"claudeCode":{"toolName":"Read"}},"toolCallId":"c1","sessionUpdate":"tool_call","rawInput":{},"status":"pending","title":"Read File","kind":"read","content":[]}`),
			update(`{"_meta":{"claudeCode":{"toolName":"Read"}},"toolCallId":"c1","sessionUpdate":"tool_call_update","rawInput":{"file_path":"/w/a"},"title":"Read a"}`),
			update(`{"_meta":{"claudeCode":{"toolName":"Read"}},"toolCallId":"c1","sessionUpdate":"tool_call_update","rawInput":{"file_path":"/w/a","limit":12345678901234567890}}`),
			update(`{"_meta":{"claudeCode":{"toolName":"Read"}},"toolCallId":"c1","sessionUpdate":"tool_call_update","status":"completed","rawOutput":"1\thi","content":[{"type":"content","content":{"type":"text","text":"fenced"}}]}`),
			update(`{"toolCallId":"c1","sessionUpdate":"tool_call_update","status":"completed","rawOutput":"again"}`),
		}, "", "", []agent.Event{use("c1", "Read", `{"file_path":"/w/a","limit":12345678901234567890}`), agent.ToolResult{CallID: "c1", Output: "1\thi"}}},

		"gemini: the request is the first that is seen of a call": {"gemini", []step{
			ask(asked["gemini"]),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"run_shell_command__fc_1","status":"completed","title":"touch ga.txt","content":[],"kind":"execute"}`),
		}, agent.Allow, "", []agent.Event{use("run_shell_command__fc_1", "run_shell_command", shown), agent.ToolResult{CallID: "run_shell_command__fc_1"}}},

		"gemini: after a denial comes nothing": {"gemini", []step{ask(asked["gemini"])}, agent.Deny, "not on my watch",
			[]agent.Event{use("run_shell_command__fc_1", "run_shell_command", shown), agent.ToolResult{CallID: "run_shell_command__fc_1", Output: "denied: not on my watch", Error: true}}},

		"the bridge to Codex: no text of the result": {"codex", []step{
			update(`{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"execute","title":"touch xa.txt","status":"in_progress","content":[{"type":"terminal","terminalId":"c1"}],"rawInput":{"command":"touch xb.txt","cwd":"/w"}}`),
			ask(asked["codex"]),
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","name":"exec_command","status":"completed"}`),
		}, agent.Allow, "", []agent.Event{use("c1", "execute", `{"command":"touch xb.txt","cwd":"/w"}`), agent.ToolResult{CallID: "c1"}}},

		"a call without a word about it": {"plain", []step{
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"c9","status":"failed","rawOutput":{"code":7}}`),
		}, "", "", []agent.Event{use("c9", "other", `{}`), agent.ToolResult{CallID: "c9", Output: `{"code":7}`, Error: true}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l := newBench(t, tt.agent).start()
			l.Send(script(append(tt.steps, ends("end_turn"))...))
			if tt.verdict != "" {
				p := agenttest.Next[agent.Permission](l)
				if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: tt.verdict, Reason: tt.reason}); err != nil {
					t.Fatal(err)
				}
			}
			agenttest.Next[agent.Turn](l)
			var got []agent.Event
			for _, e := range l.Events() {
				switch e.(type) {
				case agent.ToolUse, agent.ToolResult:
					got = append(got, e)
				}
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %s\nwant %s", told(got), told(tt.want))
			}
		})
	}
}

func told(events []agent.Event) string {
	var b strings.Builder
	for _, e := range events {
		if u, ok := e.(agent.ToolUse); ok {
			b.WriteString("use " + u.CallID + " " + u.Tool + " " + string(u.Input) + "; ")
			continue
		}
		j, _ := json.Marshal(e)
		b.Write(j)
	}
	return b.String()
}
