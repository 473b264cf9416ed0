package codex_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

// inTurn are the members that the requests of a turn begin with.
const inTurn = `"threadId":"` + thread + `","turnId":"` + turnID + `","startedAtMs":1,`

// patchItem is what the client tells of a patch before it asks about it.
const patchItem = `{"type":"fileChange","id":"call_27","status":"inProgress","changes":[` +
	`{"path":"/w/new.txt","kind":{"type":"add"},"diff":"hello\n"},` +
	`{"path":"/w/old.txt","kind":{"type":"update","move_path":"/w/moved.txt"},"diff":"@@"}]}`

var verdicts = []agent.PermissionVerdict{agent.Allow, agent.AllowSession, agent.Deny, agent.Abort}

// approvals are the families of CLIENT.md, 7 and 13.
var approvals = map[string]struct {
	method, params string
	item           string // that was told before
	want           agent.Permission
	input          string
	results        [4]string // to allow, to allow for the session, to deny, to abort
	interrupts     bool      // an abort needs more to end the turn
}{
	"a command": {
		method: "item/commandExecution/requestApproval",
		params: `{` + inTurn + `"kind":"command","itemId":"call_1","environmentId":"local","command":"/bin/bash -lc 'touch <made>'","cwd":"/w",` +
			`"reason":"it is needed","commandActions":[{"type":"unknown","command":"touch\n<made>"}],` +
			`"proposedExecpolicyAmendment":["touch"],"availableDecisions":["accept","cancel"]}`,
		want: agent.Permission{
			CallID: "call_1", Tool: "shell", Title: "touch <made>", Reason: "it is needed", Dir: "/w",
		},
		input:   `{"command":"/bin/bash -lc 'touch <made>'","cwd":"/w"}`,
		results: [4]string{`{"decision":"accept"}`, `{"decision":"acceptForSession"}`, `{"decision":"decline"}`, `{"decision":"cancel"}`},
	},
	"a command that reaches a host": {
		method: "item/commandExecution/requestApproval",
		params: `{` + inTurn + `"itemId":"call_2","approvalId":"a-1","command":null,"cwd":null,"commandActions":null,` +
			`"networkApprovalContext":{"host":"example.com","protocol":"https"}}`,
		want:    agent.Permission{CallID: "call_2", Tool: "shell", Title: "reach example.com"},
		input:   `{"network":{"host":"example.com","protocol":"https"}}`,
		results: [4]string{`{"decision":"accept"}`, `{"decision":"acceptForSession"}`, `{"decision":"decline"}`, `{"decision":"cancel"}`},
	},
	"a patch": {
		method: "item/fileChange/requestApproval",
		params: `{` + inTurn + `"itemId":"call_27","reason":null,"grantRoot":null}`,
		item:   patchItem,
		want: agent.Permission{
			CallID: "call_27", Tool: "apply_patch", Edit: true, Paths: []string{"/w/new.txt", "/w/old.txt", "/w/moved.txt"},
		},
		input: `{"changes":[{"path":"/w/new.txt","kind":{"type":"add"},"diff":"hello\n"},` +
			`{"path":"/w/old.txt","kind":{"type":"update","move_path":"/w/moved.txt"},"diff":"@@"}]}`,
		results: [4]string{`{"decision":"accept"}`, `{"decision":"acceptForSession"}`, `{"decision":"decline"}`, `{"decision":"cancel"}`},
	},
	"a patch that nothing was told of": {
		method:  "item/fileChange/requestApproval",
		params:  `{` + inTurn + `"itemId":"call_28","reason":"more room","grantRoot":"/etc"}`,
		want:    agent.Permission{CallID: "call_28", Tool: "apply_patch", Reason: "more room"},
		input:   `{"changes":null,"grantRoot":"/etc","itemId":"call_28"}`,
		results: [4]string{`{"decision":"accept"}`, `{"decision":"acceptForSession"}`, `{"decision":"decline"}`, `{"decision":"cancel"}`},
	},
	"an elicitation": {
		method: "mcpServer/elicitation/request",
		params: `{` + inTurn + `"serverName":"tickets","mode":"form","_meta":null,"message":"Your name?","requestedSchema":{"type":"object"}}`,
		want:   agent.Permission{CallID: "request 7", Tool: "tickets", Title: "Your name?"},
		input:  `{"serverName":"tickets","mode":"form","message":"Your name?","requestedSchema":{"type":"object"},"_meta":null}`,
		results: [4]string{
			`{"action":"accept"}`, `{"action":"accept"}`, `{"action":"decline"}`, `{"action":"cancel"}`,
		},
		interrupts: true,
	},
	"an elicitation about a tool, out of any turn": {
		method: "mcpServer/elicitation/request",
		params: `{"threadId":"` + thread + `","turnId":null,"serverName":"tickets","mode":"form","message":"Allow it?",` +
			`"_meta":{"codex_approval_kind":"mcp_tool_call","persist":["session","always"],"tool_name":"close"},"requestedSchema":{}}`,
		want: agent.Permission{CallID: "request 7", Tool: "tickets", Title: "Allow it?"},
		input: `{"serverName":"tickets","mode":"form","message":"Allow it?","requestedSchema":{},` +
			`"_meta":{"codex_approval_kind":"mcp_tool_call","persist":["session","always"],"tool_name":"close"}}`,
		results: [4]string{
			`{"action":"accept"}`, `{"_meta":{"persist":"session"},"action":"accept"}`, `{"action":"decline"}`, `{"action":"cancel"}`,
		},
		interrupts: true,
	},
	"more permissions": {
		method: "item/permissions/requestApproval",
		params: `{` + inTurn + `"itemId":"call_5","environmentId":"local","cwd":"/w","reason":"to build",` +
			`"permissions":{"network":{"enabled":true},"fileSystem":{"read":null,"write":["/out"]}}}`,
		want: agent.Permission{
			CallID: "call_5", Tool: "request_permissions", Reason: "to build", Dir: "/w", Paths: []string{"/out"},
		},
		input: `{"cwd":"/w","permissions":{"network":{"enabled":true},"fileSystem":{"read":null,"write":["/out"]}}}`,
		results: [4]string{
			`{"permissions":{"network":{"enabled":true},"fileSystem":{"read":null,"write":["/out"]}},"scope":"turn"}`,
			`{"permissions":{"network":{"enabled":true},"fileSystem":{"read":null,"write":["/out"]}},"scope":"session"}`,
			`{"permissions":{},"scope":"turn"}`, `{"permissions":{},"scope":"turn"}`,
		},
		interrupts: true,
	},
	"a question": {
		method: "item/tool/requestUserInput",
		params: `{` + inTurn + `"itemId":"call_6","isBlocking":true,"autoResolutionMs":null,"questions":[` +
			`{"id":"q1","header":"H","question":"Which?","isOther":true,"isSecret":false,"options":[{"label":"A"}]}]}`,
		want:  agent.Permission{CallID: "call_6", Tool: "request_user_input", Title: "Which?"},
		input: `{"questions":[{"id":"q1","header":"H","question":"Which?","options":[{"label":"A"}]}]}`,
		results: [4]string{
			`{"answers":{"q1":{"answers":["because"]}}}`, `{"answers":{"q1":{"answers":["because"]}}}`, `{"answers":{}}`, `{"answers":{}}`,
		},
		interrupts: true,
	},
}

func TestEveryApprovalIsAnsweredInItsOwnShape(t *testing.T) {
	for name, tt := range approvals {
		for i, verdict := range verdicts {
			t.Run(name+", "+string(verdict), func(t *testing.T) {
				t.Parallel()
				s, l := playing(t, func(p *peer) {
					p.begin()
					if tt.item != "" {
						p.item("started", tt.item)
					}
					p.say(`{"id":7,"method":"` + tt.method + `","params":` + tt.params + `}`)
					p.wantAnswer("7", tt.results[i])
					if tt.interrupts && verdict == agent.Abort {
						p.answer(p.expect("turn/interrupt"), `{}`)
					}
					p.say(`{"method":"serverRequest/resolved","params":{"threadId":"` + thread + `","requestId":7}}`)
					p.finish("interrupted", "")
				})
				l.Send("go")
				got := agenttest.Next[agent.Permission](l)
				if input := string(got.Input); input != tt.input {
					t.Errorf("input %s\nwant  %s", input, tt.input)
				}
				if got.Input = nil; !reflect.DeepEqual(got, tt.want) {
					t.Errorf("asked %+v\nwant  %+v", got, tt.want)
				}
				d := agent.PermissionDecision{CallID: got.CallID, Verdict: verdict, Reason: "because"}
				if err := s.Decide(t.Context(), d); err != nil {
					t.Fatal(err)
				}
				agenttest.Next[agent.Turn](l)
				if w := agenttest.All[agent.Withdrawn](l.Events()); len(w) > 0 {
					t.Errorf("withdrawn: %v", w)
				}
			})
		}
	}
}

// wantAnswer is the next frame.
func (p *peer) wantAnswer(id, result string) {
	f, ok := p.next()
	for ok && (f.Method == "thread/read" || f.Method == "thread/turns/list") { // a read of the test may overtake the answer
		p.early = append(p.early, f)
		f, ok = p.receive()
	}
	var plain bytes.Buffer
	if ok && f.Result != nil {
		json.Compact(&plain, f.Result)
	}
	if string(f.ID) != id || plain.String() != result || f.Error != nil {
		p.Errorf("answered %s with %s %s %s\nwant %s with %s", f.ID, f.Method, f.Result, f.Error, id, result)
		p.conn.Close() // so that the adapter waits for nothing
	}
}

func TestARequestKeepsTheTypeOfItsID(t *testing.T) {
	for name, id := range map[string]string{"zero": `0`, "a number": `41`, "a string": `"41"`, "an empty string": `""`} {
		t.Run(name, func(t *testing.T) {
			s, l := playing(t, func(p *peer) {
				p.begin()
				p.say(`{"id":` + id + `,"method":"item/commandExecution/requestApproval","params":{"itemId":"call_1","command":"ls","cwd":"/w"}}`)
				p.wantAnswer(id, `{"decision":"accept"}`)
				p.finish("completed", "")
			})
			l.Send("go")
			asked := agenttest.Next[agent.Permission](l)
			if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: asked.CallID, Verdict: agent.Allow}); err != nil {
				t.Fatal(err)
			}
			agenttest.Next[agent.Turn](l)
		})
	}
}

func TestWhatNobodyCanDecideIsRefusedInItsOwnShape(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ method, params, result, refusal string }{
		"a command without a call": {method: "item/commandExecution/requestApproval", params: `{"command":"ls"}`, result: `{"decision":"decline"}`},
		"a patch without a call":   {method: "item/fileChange/requestApproval", params: `{}`, result: `{"decision":"decline"}`},
		"an elicitation of nobody": {method: "mcpServer/elicitation/request", params: `{"mode":"form"}`, result: `{"action":"decline"}`},
		"permissions for no call":  {method: "item/permissions/requestApproval", params: `{"permissions":{}}`, result: `{"permissions":{},"scope":"turn"}`},
		"no questions":             {method: "item/tool/requestUserInput", params: `{"itemId":"c","questions":[]}`, result: `{"answers":{}}`},
		"what cannot be read":      {method: "item/commandExecution/requestApproval", params: `{"itemId":7}`, result: `{"decision":"decline"}`},
		"a tool of ours":           {method: "item/tool/call", params: `{"callId":"c","tool":"t"}`, result: `{"contentItems":[],"success":false}`},
		"our login":                {method: "account/chatgptAuthTokens/refresh", params: `{}`, refusal: "not supported"},
		"our attestation":          {method: "attestation/generate", params: `{}`, refusal: "not supported"},
		"the time":                 {method: "currentTime/read", params: `{}`, refusal: "not supported"},
		"what is unknown":          {method: "item/newfangled/requestApproval", params: `{"itemId":"c"}`, refusal: "not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, l := playing(t, func(p *peer) {
				p.begin()
				p.say(`{"id":"r","method":"` + tt.method + `","params":` + tt.params + `}`)
				if tt.refusal == "" {
					p.wantAnswer(`"r"`, tt.result)
				} else if f, _ := p.next(); string(f.ID) != `"r"` || f.Result != nil || !strings.Contains(string(f.Error), tt.refusal) {
					p.Errorf("answered %s with %s %s", f.ID, f.Result, f.Error)
				}
				p.finish("completed", "")
			})
			l.Send("go")
			agenttest.Next[agent.Turn](l)
			if asked := agenttest.All[agent.Permission](l.Events()); len(asked) > 0 {
				t.Errorf("asked %+v", asked)
			}
		})
	}
}
