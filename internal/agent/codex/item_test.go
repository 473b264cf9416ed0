package codex_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestItems(t *testing.T) {
	t.Parallel()
	const change = `"changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}]`
	for name, tt := range map[string]struct {
		started, completed string
		tool, input        string
		output             string
		failed             bool
	}{
		"a command": {
			`{"type":"commandExecution","id":"c","command":"ls <x>","cwd":"/w","status":"inProgress"}`,
			`{"type":"commandExecution","id":"c","command":"ls <x>","cwd":"/w","status":"completed","aggregatedOutput":"ok\n","exitCode":0}`,
			"shell", `{"command":"ls <x>","cwd":"/w"}`, "ok\n", false,
		},
		"a command that ends badly": {
			`{"type":"commandExecution","id":"c","command":"false","status":"inProgress"}`,
			`{"type":"commandExecution","id":"c","command":"false","status":"completed","aggregatedOutput":"no\n","exitCode":2}`,
			"shell", `{"command":"false"}`, "no\n", true,
		},
		"a command that is declined": {
			`{"type":"commandExecution","id":"c","command":"rm","status":"inProgress"}`,
			`{"type":"commandExecution","id":"c","command":"rm","status":"declined","aggregatedOutput":null,"exitCode":null}`,
			"shell", `{"command":"rm"}`, "declined", true,
		},
		"a command that fails to run": {
			`{"type":"commandExecution","id":"c","command":"rm","status":"inProgress"}`,
			`{"type":"commandExecution","id":"c","command":"rm","status":"failed","aggregatedOutput":"boom"}`,
			"shell", `{"command":"rm"}`, "boom", true,
		},
		"a command that is told when it is over": {
			"",
			`{"type":"commandExecution","id":"c","command":"ls","status":"completed","aggregatedOutput":"","exitCode":0}`,
			"shell", `{"command":"ls"}`, "", false,
		},
		"a patch": {
			`{"type":"fileChange","id":"c",` + change + `,"status":"inProgress"}`,
			`{"type":"fileChange","id":"c",` + change + `,"status":"completed"}`,
			"apply_patch", `{` + change + `}`, `[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}]`, false,
		},
		"a patch that is declined": {
			`{"type":"fileChange","id":"c",` + change + `,"status":"inProgress"}`,
			`{"type":"fileChange","id":"c",` + change + `,"status":"declined"}`,
			"apply_patch", `{` + change + `}`, "declined", true,
		},
		"a tool of an MCP server": {
			`{"type":"mcpToolCall","id":"c","server":"tickets","tool":"close","arguments":{"n":1},"status":"inProgress","result":null,"error":null}`,
			`{"type":"mcpToolCall","id":"c","server":"tickets","tool":"close","arguments":{"n":1},"status":"completed",` +
				`"result":{"content":[{"type":"text","text":"done"},{"type":"image","data":"x"}]},"error":null}`,
			"tickets.close", `{"n":1}`, "done\n" + `{"type":"image","data":"x"}`, false,
		},
		"a tool of an MCP server that fails": {
			`{"type":"mcpToolCall","id":"c","server":"tickets","tool":"close","arguments":{},"status":"inProgress"}`,
			`{"type":"mcpToolCall","id":"c","server":"tickets","tool":"close","arguments":{},"status":"failed","result":null,"error":{"message":"no such ticket"}}`,
			"tickets.close", `{}`, "no such ticket", true,
		},
		"a dynamic tool": {
			`{"type":"dynamicToolCall","id":"c","namespace":"ns","tool":"t","arguments":[],"status":"inProgress"}`,
			`{"type":"dynamicToolCall","id":"c","namespace":"ns","tool":"t","arguments":[],"status":"completed","success":false,"contentItems":[{"type":"inputText","text":"nope"}]}`,
			"ns.t", `[]`, "nope", true,
		},
		"another agent": {
			`{"type":"collabAgentToolCall","id":"c","tool":"spawnAgent","prompt":"help","status":"inProgress"}`,
			`{"type":"collabAgentToolCall","id":"c","tool":"spawnAgent","prompt":"help","status":"completed"}`,
			"spawnAgent", `{"prompt":"help"}`, "", false,
		},
		"a search": {
			`{"type":"webSearch","id":"c","query":"","action":null}`,
			`{"type":"webSearch","id":"c","query":"go","action":{"type":"search","query":"go"}}`,
			"web_search", `{"action":{"type":"search","query":"go"},"query":"go"}`, "", false,
		},
		"an image": {
			`{"type":"imageView","id":"c","path":"/w/a.png"}`, `{"type":"imageView","id":"c","path":"/w/a.png"}`,
			"view_image", `{"path":"/w/a.png"}`, "", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, l := playing(t, func(p *peer) {
				p.begin()
				if tt.started != "" {
					p.item("started", tt.started)
				}
				p.item("completed", tt.completed)
				p.finish("completed", "")
			})
			_, events := l.Turn("go")
			uses, results := agenttest.All[agent.ToolUse](events), agenttest.All[agent.ToolResult](events)
			if len(uses) != 1 || uses[0].CallID != "c" || uses[0].Tool != tt.tool || string(uses[0].Input) != tt.input {
				t.Errorf("told of %s; want %s %s", uses, tt.tool, tt.input)
			}
			want := agent.ToolResult{CallID: "c", Output: tt.output, Error: tt.failed}
			if len(results) != 1 || results[0] != want {
				t.Errorf("results %+v; want %+v", results, want)
			}
		})
	}
}

func TestWhatHasNoBetterEventIsRaw(t *testing.T) {
	frames := []string{
		`{"method":"item/started","params":{` + inTurn + `"item":{"type":"reasoning","id":"r"}}}`,
		`{"method":"item/completed","params":{` + inTurn + `"item":{"type":"imageGeneration","id":"i","result":"xxxx"}}}`,
		`{"method":"item/completed","params":{` + inTurn + `"item":{"type":"newfangled","text":7}}}`,
		`{"method":"item/commandExecution/outputDelta","params":{` + inTurn + `"itemId":"c","delta":"x"}}`,
		`{"method":"item/completed","params":{"threadId":"other","turnId":"` + turnID + `","item":{"type":"agentMessage","id":"m","text":"not ours"}}}`,
		`{"method":"item/completed","params":{"threadId":"` + thread + `","turnId":"other","item":{"type":"agentMessage","id":"m","text":"not ours"}}}`,
		`{"method":"turn/completed","params":{"threadId":"other","turn":{"id":"` + turnID + `","status":"completed"}}}`,
		`{"method":"turn/completed","params":{"threadId":"` + thread + `","turn":{"id":7}}}`,
		`{"method":"remoteControl/status/changed","params":{}}`,
	}
	_, l := playing(t, func(p *peer) {
		p.begin()
		p.say(`not a frame`)
		p.say(`{"method":7}`)
		for _, f := range frames {
			p.say(f)
		}
		p.finish("completed", "")
	})
	turn, events := l.Turn("go")
	var got []string
	for _, e := range agenttest.All[agent.Raw](events) {
		got = append(got, string(e.Frame))
	}
	if !slices.Equal(got, frames) || turn.Status != agent.Completed || turn.Text != "" {
		t.Errorf("raw are\n%s", strings.Join(got, "\n"))
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		frame string
		want  string
		stall bool
	}{
		"a retry":          {`{"method":"error","params":{` + inTurn + `"error":{"message":"Reconnecting... 1/2","codexErrorInfo":{"responseStreamDisconnected":{}}},"willRetry":true}}`, "retry", true},
		"an error":         {`{"method":"error","params":{` + inTurn + `"error":{"message":"boom","codexErrorInfo":"other"},"willRetry":false}}`, "error", true},
		"a compaction":     {`{"method":"item/completed","params":{` + inTurn + `"item":{"type":"contextCompaction","id":"x"}}}`, "contextCompaction", false},
		"a plan":           {`{"method":"item/completed","params":{` + inTurn + `"item":{"type":"plan","id":"x","text":"1."}}}`, "plan", false},
		"a warning":        {`{"method":"warning","params":{"threadId":null,"message":"hm"}}`, "warning", false},
		"another model":    {`{"method":"model/rerouted","params":{"fromModel":"a","toModel":"b"}}`, "model rerouted", false},
		"what is obsolete": {`{"method":"deprecationNotice","params":{"summary":"hm"}}`, "deprecation", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, l := playing(t, func(p *peer) {
				p.begin()
				p.say(tt.frame)
				p.finish("completed", "")
			})
			turn, events := l.Turn("go")
			got := agenttest.All[agent.Notice](events)
			if len(got) != 1 || got[0].Name != tt.want || got[0].Stall != tt.stall || len(got[0].Data) == 0 {
				t.Errorf("notices %+v", got)
			}
			if turn.Status != agent.Completed || !s.Alive() {
				t.Errorf("the turn was %s, alive is %v", turn.Status, s.Alive())
			}
		})
	}
}
