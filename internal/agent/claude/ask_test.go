package claude_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

// ask is the frame that asks for a call under a request and an id of its own.
func ask(n int, request string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":"R%d","request":{"subtype":"can_use_tool","tool_use_id":"toolu_%d",%s}}`, n, n, request)
}

const (
	writeAsk = `"tool_name":"Write","display_name":"Write","input":{"file_path":"/w/a.txt","content":"A <&> é"},"description":"a.txt",` +
		`"permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`
	touchAsk = `"tool_name":"Bash","input":{"command":"touch /w/d.txt\nls","description":"x"},"description":"x","permission_suggestions":[` +
		`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch /w/d.txt"}],"behavior":"allow","destination":"localSettings"},` +
		`{"type":"addDirectories","directories":["/w"],"destination":"session"},{"type":"setMode","mode":"acceptEdits","destination":"session"}],` +
		`"blocked_path":"/w/d.txt","decision_reason":"This command requires approval","decision_reason_type":"other"`
)

// answers are the lines of the client's log that answer its requests.
func answers(t *testing.T, f fake) []string {
	t.Helper()
	return slices.DeleteFunc(f.Given(t), func(line string) bool { return !strings.Contains(line, `"control_response"`) })
}

// TestAnswers is the table of CLIENT.md, 6.
func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := map[agent.PermissionVerdict]struct{ reason, want string }{
		agent.Allow:        {want: `{"behavior":"allow","updatedInput":{"file_path":"/w/a.txt","content":"A <&> é"}}`},
		agent.AllowSession: {want: `{"behavior":"allow","updatedInput":{"file_path":"/w/a.txt","content":"A <&> é"}}`},
		agent.Deny:         {reason: "policy says no", want: `{"behavior":"deny","message":"policy says no"}`},
		agent.Abort:        {want: `{"behavior":"deny","message":"denied","interrupt":true}`},
	}
	for verdict, tt := range tests {
		t.Run(string(verdict), func(t *testing.T) {
			t.Parallel()
			f := newFake(t, script{Turns: [][]string{{initLine, ask(1, writeAsk), "await", resultLine}}})
			s := f.start(t, agent.Options{})
			if err := s.Send(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			p, before := agenttest.Until[agent.Permission](t, s)
			if calls := agenttest.All[agent.ToolUse](before); len(calls) != 1 || calls[0].CallID != p.CallID || calls[0].Tool != "Write" {
				t.Errorf("calls %+v before %+v", calls, p)
			}
			d := agent.PermissionDecision{CallID: p.CallID, Verdict: verdict, Reason: tt.reason}
			if err := s.Decide(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			agenttest.Until[agent.Turn](t, s)
			if err := s.Decide(t.Context(), d); !errors.Is(err, agent.ErrNotPending) {
				t.Errorf("a second decision: %v", err)
			}
			var got struct {
				Response struct{ Subtype, Request_ID, Response any }
			}
			given := answers(t, f)
			if err := json.Unmarshal([]byte(given[0]), &got); err != nil || len(given) != 1 {
				t.Fatalf("%d answers, %v", len(given), err)
			}
			var want any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if r := got.Response; r.Subtype != "success" || r.Request_ID != "R1" || !reflect.DeepEqual(r.Response, want) {
				t.Errorf("got %s", given[0])
			}
		})
	}
}

func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ask  string
		want agent.Permission
	}{
		"an edit":                   {writeAsk, agent.Permission{Tool: "Write", Title: "Write /w/a.txt", Paths: []string{"/w/a.txt"}, Edit: true}},
		"a command":                 {touchAsk, agent.Permission{Tool: "Bash", Title: "Bash touch /w/d.txt ...", Reason: "This command requires approval", Paths: []string{"/w/d.txt"}}},
		"a page":                    {`"tool_name":"WebFetch","input":{"url":"http://x/"}`, agent.Permission{Tool: "WebFetch", Title: "WebFetch http://x/"}},
		"plan mode":                 {`"tool_name":"Write","input":{"file_path":"p"},"decision_reason_type":"mode"`, agent.Permission{Tool: "Write", Title: "Write p", Reason: "mode", Paths: []string{"p"}, Edit: true}},
		"a tool of a server":        {`"tool_name":"mcp__db__drop","input":{"url":["odd"]},"description":"drops"`, agent.Permission{Tool: "mcp__db__drop", Title: "mcp__db__drop drops"}},
		"a call that says nothing":  {`"tool_name":"Odd"`, agent.Permission{Tool: "Odd", Title: "Odd"}},
		"a notebook":                {`"tool_name":"NotebookEdit","input":{"notebook_path":"n"}`, agent.Permission{Tool: "NotebookEdit", Title: "NotebookEdit n", Paths: []string{"n"}, Edit: true}},
		"a path in two spellings":   {`"tool_name":"Write","input":{"file_path":"/etc/x","FILE_PATH":"in"}`, agent.Permission{Tool: "Write", Title: "Write /etc/x", Paths: []string{"/etc/x"}, Edit: true}},
		"a command in two":          {`"tool_name":"mcp__sh__run","input":{"command":"rm -r /","Command":"ls"}`, agent.Permission{Tool: "mcp__sh__run", Title: "mcp__sh__run rm -r /"}},
		"a notebook beside a file":  {`"tool_name":"NotebookEdit","input":{"notebook_path":"/etc/n","file_path":"in"}`, agent.Permission{Tool: "NotebookEdit", Title: "NotebookEdit in", Paths: []string{"in", "/etc/n"}, Edit: true}},
		"a reason of another shape": {`"tool_name":"Bash","input":{"command":"ls"},"decision_reason":{"x":1}`, agent.Permission{Tool: "Bash", Title: "Bash ls"}},
		"a long command":            {`"tool_name":"Bash","input":{"command":"` + strings.Repeat("x", 500) + `"}`, agent.Permission{Tool: "Bash", Title: "Bash " + strings.Repeat("x", 192) + "…"}},
		"a file outside the folder": {`"tool_name":"Read","input":{"file_path":"/etc/x"},"decision_reason_type":"workingDir"`, agent.Permission{Tool: "Read", Title: "Read /etc/x", Reason: "workingDir", Paths: []string{"/etc/x"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, script{Turns: [][]string{{initLine, ask(1, tt.ask), "await", resultLine}}})
			s := f.start(t, agent.Options{})
			if err := s.Send(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			got, _ := agenttest.Until[agent.Permission](t, s)
			tt.want.CallID, tt.want.Dir, tt.want.Input = "toolu_1", f.Work, got.Input
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
			if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: got.CallID, Verdict: agent.Allow}); err != nil {
				t.Fatal(err)
			}
			agenttest.Until[agent.Turn](t, s)
			if given := answers(t, f)[0]; !strings.Contains(given, `"updatedInput":{`) {
				t.Errorf("an answer without the input: %s", given)
			}
		})
	}
}

// TestWhatASessionAllows asks twice: the first call is allowed for the session.
func TestWhatASessionAllows(t *testing.T) {
	t.Parallel()
	rules := func(rules string) string {
		return `"tool_name":"Bash","input":{},"permission_suggestions":[{"type":"addRules","behavior":"allow","rules":[` + rules + `]}],"decision_reason_type":"subcommandResults"`
	}
	const goTest, commit = `{"toolName":"Bash","ruleContent":"go test *"}`, `{"toolName":"Bash","ruleContent":"git commit *"}`
	const add = `{"toolName":"Bash","ruleContent":"git add *"}`
	redirected := func(command, file string) string {
		return `"tool_name":"Bash","input":{"command":"` + command + `"},"permission_suggestions":[` +
			`{"type":"addRules","behavior":"allow","rules":[` + add + `]},` + // as the client asks, whatever else is written
			`{"type":"addDirectories","directories":["` + path.Dir(file) + `"],"destination":"session"}],"blocked_path":"` + file + `"`
	}
	piped := strings.Replace(redirected("git add . | tee /w/f", "/w/f"), `"blocked_path":"/w/f"`, `"decision_reason_type":"subcommandResults"`, 1)
	outside := strings.Replace(writeAsk, `"description"`, `"decision_reason_type":"workingDir","description"`, 1)
	tests := map[string]struct {
		first, second string
		asks          bool
	}{
		"the same command":                    {touchAsk, touchAsk, false},
		"another command":                     {touchAsk, rules(goTest), true},
		"a command under the same rule":       {rules(goTest), rules(goTest), false},
		"a rule of another tool":              {rules(goTest), strings.Replace(rules(goTest), `"tool_name":"Bash"`, `"tool_name":"Monitor"`, 1), true},
		"a rule that would deny":              {strings.Replace(rules(goTest), "allow", "deny", 1), strings.Replace(rules(goTest), "allow", "deny", 1), true},
		"a part of a compound command":        {rules(goTest + "," + commit), rules(commit), false},
		"a compound command, allowed in part": {rules(goTest), rules(goTest + "," + commit), true},
		"a command, then one that writes":     {rules(add), redirected("git add . >/out/f", "/out/f"), true},
		"a command, then one with tee":        {rules(add), piped, true},
		"the same command that writes":        {redirected("git add . >/w/f", "/w/f"), redirected("git add . >/w/f", "/w/f"), false},
		"a command that writes elsewhere too": {redirected("git add . >/w/f", "/w/f"), redirected("git add . >/w/f 2>/out/f", "/w/f"), true},
		"one that writes, then without":       {redirected("git add . >/w/f", "/w/f"), rules(add), false},
		"one with tee, then another":          {piped, strings.Replace(piped, "tee ", "tee /out/f ", 1), true},
		"an edit after an edit":               {writeAsk, strings.Replace(writeAsk, "a.txt", "b.txt", 1), false},
		"another tool after an edit":          {writeAsk, strings.Replace(writeAsk, "Write", "Edit", 1), true},
		"an edit outside after one inside":    {writeAsk, outside, true},
		"the same edit outside":               {outside, outside, true},
		"a command that has no rule":          {rules(""), rules(""), true},
		"a call without suggestions":          {`"tool_name":"Odd","input":{}`, `"tool_name":"Odd","input":{}`, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, script{Turns: [][]string{{initLine, ask(1, tt.first), "await", resultLine}, {initLine, ask(2, tt.second), "await", resultLine}}})
			s := f.start(t, agent.Options{})
			if err := s.Send(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			agenttest.Until[agent.Permission](t, s)
			if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: "toolu_1", Verdict: agent.AllowSession}); err != nil {
				t.Fatal(err)
			}
			agenttest.Until[agent.Turn](t, s)
			if err := s.Send(t.Context(), "again"); err != nil {
				t.Fatal(err)
			}
			if tt.asks {
				agenttest.Until[agent.Permission](t, s)
				return
			}
			_, events := agenttest.Until[agent.Turn](t, s)
			if asked := agenttest.All[agent.Permission](events); len(asked) > 0 {
				t.Errorf("asked again: %+v", asked)
			}
			if given := answers(t, f); len(given) != 2 || !strings.Contains(given[1], `"R2"`) || !strings.Contains(given[1], `"behavior":"allow"`) {
				t.Errorf("answered %s", given)
			}
		})
	}
}

func TestAReadOnlySessionDeniesByItself(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{{initLine, ask(1, writeAsk), "await", resultLine}}})
	s := f.start(t, agent.Options{Sandbox: agent.ReadOnly})
	_, events := agenttest.Turn(t, s, "go")
	if asked := agenttest.All[agent.Permission](events); len(asked) > 0 {
		t.Errorf("asked %+v", asked)
	}
	if given := answers(t, f); len(given) != 1 || !strings.Contains(given[0], `"deny"`) {
		t.Errorf("answered %s", given)
	}
}

func TestAsksThatAreWithdrawn(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{{
		initLine, ask(1, writeAsk), ask(2, writeAsk), `{"type":"control_cancel_request","request_id":"R1"}`,
		`{"type":"control_cancel_request","request_id":"R9"}`, resultLine,
	}}})
	s := f.start(t, agent.Options{})
	_, events := agenttest.Turn(t, s, "go")
	want := []agent.Withdrawn{{CallID: "toolu_1"}, {CallID: "toolu_2"}}
	if got := agenttest.All[agent.Withdrawn](events); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: "toolu_2", Verdict: agent.Allow}); !errors.Is(err, agent.ErrNotPending) {
		t.Errorf("a late decision: %v", err)
	}
}

func TestTwoAsksForOneCall(t *testing.T) {
	second := strings.Replace(ask(2, writeAsk), "toolu_2", "toolu_1", 1)
	f := newFake(t, script{Turns: [][]string{{initLine, ask(1, writeAsk), second, "await", "await", resultLine}}})
	s := f.start(t, agent.Options{})
	if err := s.Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p, _ := agenttest.Until[agent.Permission](t, s)
		defer s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow})
		if p.CallID != "toolu_1" && p.CallID != "R2" {
			t.Errorf("asked under %q", p.CallID)
		}
	}
}

func TestRequestsThatHaveNoAnswer(t *testing.T) {
	for name, request := range map[string]string{
		"another subtype":     `{"subtype":"hook_callback","callback_id":"x"}`,
		"an ask nobody reads": `{"subtype":"can_use_tool","tool_name":7}`,
		"none at all":         `null`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, script{Turns: [][]string{{initLine, `{"type":"control_request","request_id":"R1","request":` + request + `}`, "await", resultLine}}})
			s := f.start(t, agent.Options{})
			agenttest.Turn(t, s, "go")
			if given := answers(t, f); len(given) != 1 || !strings.Contains(given[0], `"subtype":"error"`) || !strings.Contains(given[0], `"R1"`) {
				t.Errorf("answered %s", given)
			}
		})
	}
}

func TestAnUnknownVerdictDecidesNothing(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{{initLine, ask(1, writeAsk), "await", resultLine}}})
	s := f.start(t, agent.Options{})
	if err := s.Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	p, _ := agenttest.Until[agent.Permission](t, s)
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: "maybe"}); err == nil {
		t.Error("taken")
	}
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Deny}); err != nil {
		t.Error(err)
	}
	agenttest.Until[agent.Turn](t, s)
}
