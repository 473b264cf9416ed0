package pi_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

// asking is a turn in which the gate asks about each of these calls, and waits.
func asking(questions ...string) []string {
	frames := []string{}
	for _, q := range questions {
		frames = append(frames, q, "await")
	}
	// The first line to be read is the question after the turn.
	return slices.Concat([]string{acceptLine, "await", beginLine}, frames, []string{ended("done", "stop", ""), settledLine})
}

func command(text string) string { return `{"command":` + quoted(text) + `}` }
func path(name string) string    { return `{"path":` + quoted(name) + `}` }

// TestWhoDecides has a working directory with a link out of it and one that
// leads nowhere, and a further directory.
func TestWhoDecides(t *testing.T) {
	const (
		allowed = "allowed"
		denied  = "denied"
		asked   = "asked"
	)
	type row struct {
		tool, input string
		write, read string // in a workspace, and where only reading is allowed
	}
	tests := map[string]row{
		"a file":                            {tool: "read", input: path("a"), write: allowed, read: allowed},
		"a file that is not there":          {tool: "read", input: path("none/b"), write: allowed, read: allowed},
		"a file by its whole path":          {tool: "read", input: path("WORK/a"), write: allowed, read: allowed},
		"a file in a further directory":     {tool: "read", input: path("MORE/a"), write: allowed, read: allowed},
		"a file elsewhere":                  {tool: "read", input: path("/etc/passwd"), write: asked, read: denied},
		"a file above":                      {tool: "read", input: path("../a"), write: asked, read: denied},
		"a file beside, by its begin":       {tool: "read", input: path("WORK-2/a"), write: asked, read: denied},
		"a file through a link":             {tool: "read", input: path("out/passwd"), write: asked, read: denied},
		"a file that a link leads to":       {tool: "read", input: path("lost"), write: asked, read: denied},
		"a file behind a link that is lost": {tool: "read", input: path("lost/a"), write: asked, read: denied},
		"a file of a home":                  {tool: "read", input: path("~/.ssh/id"), write: asked, read: denied},
		"a file behind an @":                {tool: "read", input: path("@/etc/passwd"), write: asked, read: denied},
		"a URL":                             {tool: "read", input: path("file:///etc/passwd"), write: asked, read: denied},
		"a space that is another":           {tool: "read", input: path("x\u00a0y"), write: asked, read: denied},
		"a path in other letters":           {tool: "read", input: `{"path":"/etc/passwd","Path":"a"}`, write: asked, read: denied},
		"a path that is none":               {tool: "read", input: `{"path":["/etc/passwd"]}`, write: asked, read: denied},
		"an input that is none":             {tool: "read", input: `7`, write: asked, read: denied},
		"the directory":                     {tool: "ls", input: `{}`, write: allowed, read: allowed},
		"the directory above":               {tool: "ls", input: path(".."), write: asked, read: denied},
		"a search":                          {tool: "grep", input: `{"pattern":"x","path":"."}`, write: allowed, read: allowed},
		"a search elsewhere":                {tool: "find", input: `{"pattern":"x","path":"/"}`, write: asked, read: denied},
		"a change":                          {tool: "write", input: path("a"), write: asked, read: denied},
		"a change elsewhere":                {tool: "edit", input: path("/etc/passwd"), write: asked, read: denied},
		"a command":                         {tool: "bash", input: command("ls"), write: asked, read: denied},
		"a tool that nobody knows":          {tool: "fetch", input: `{"url":"x"}`, write: asked, read: denied},
		"a tool that needs no permission":   {tool: "deploy", input: `{}`, write: allowed, read: denied},
		"a tool of a longer name":           {tool: "deployment", input: `{}`, write: asked, read: denied},
	}
	for sandbox, wanted := range map[agent.Sandbox]func(row) string{
		agent.WorkspaceWrite: func(r row) string { return r.write }, agent.ReadOnly: func(r row) string { return r.read },
	} {
		f, more := newFake(t, script{}), t.TempDir()
		link(t, "/etc", filepath.Join(f.Work, "out"))
		link(t, "/none/such", filepath.Join(f.Work, "lost"))
		var all script
		names := slices.Sorted(maps.Keys(tests))
		for i, name := range names {
			input := strings.NewReplacer("WORK", f.Work, "MORE", more).Replace(tests[name].input)
			all.Turns = append(all.Turns, asking(question(tests[name].tool, fmt.Sprintf("c%d", i), input)))
		}
		f.Play(t, all)
		s := f.start(t, agent.Options{Sandbox: sandbox, Dirs: []string{more}, Tools: []string{"deploy"}})
		for i, name := range names {
			send(t, s, "go")
			if got := decider(t, f, s, fmt.Sprintf(`"id":"ask-c%d",`, i)); got != wanted(tests[name]) {
				t.Errorf("%s, %s: %s", sandbox, name, got)
			}
		}
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// decider says who decided about the call of a turn. A person denies it.
func decider(t *testing.T, f fake, s agent.Session, id string) string {
	t.Helper()
	for e := range s.Events() {
		switch e := e.(type) {
		case agent.Permission:
			if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: e.CallID, Verdict: agent.Deny}); err != nil {
				t.Fatal(err)
			}
		case agent.Turn:
			for text, who := range map[string]string{"allow": "allowed", "deny: this session may": "denied", "deny: denied": "asked"} {
				if f.has(t, id+`"value":"`+text) {
					return who
				}
			}
			t.Fatalf("given %q, then %+v", f.Given(t), e)
		}
	}
	t.Fatal("no decision")
	return ""
}

// TestWhatASessionAllows has a first call that is allowed for the session, and
// a second one.
func TestWhatASessionAllows(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tool, first   string
		other, second string
		asks          bool
	}{
		"the same change":                   {"write", path("a"), "write", path("a"), false},
		"a change of another file":          {"write", path("a"), "write", path("sub/b"), false},
		"a change by another tool":          {"write", path("a"), "edit", path("a"), true},
		"a change elsewhere":                {"write", path("a"), "write", path("/tmp/b"), true},
		"a change of a hook":                {"write", path("a"), "write", path(".git/hooks/pre-commit"), true},
		"a change further down of a hook":   {"write", path("a"), "write", path("sub/.husky/x"), true},
		"the same change of a hook":         {"write", path(".x"), "write", path(".x"), false},
		"other changes, after one of those": {"write", path(".x"), "write", path("a"), true},
		"the same change elsewhere":         {"write", path("/tmp/b"), "write", path("/tmp/b"), false},
		"another one elsewhere":             {"write", path("/tmp/b"), "write", path("/tmp/c"), true},
		"the same command":                  {"bash", command("make"), "bash", command("make"), false},
		"... with more time":                {"bash", command("make"), "bash", `{"command":"make","timeout":60}`, false},
		"a longer command":                  {"bash", command("make"), "bash", command("make install"), true},
		"the command in another tool":       {"bash", command("make"), "powershell", command("make"), true},
		"a command that says nothing":       {"bash", command(""), "bash", command("make"), true},
		"the same call of any tool":         {"fetch", `{"url":"x"}`, "fetch", `{"url":"x"}`, false},
		"another call of that tool":         {"fetch", `{"url":"x"}`, "fetch", `{"url":"y"}`, true},
		"a command for a tool's name":       {"bash", command("x {}"), "bash x", `{}`, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, script{Turns: [][]string{asking(question(tt.tool, "c1", tt.first), question(tt.other, "c2", tt.second))}})
			s := f.start(t, agent.Options{})
			send(t, s, "go")
			p, _ := agenttest.Until[agent.Permission](t, s)
			if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: agent.AllowSession}); err != nil {
				t.Fatal(err)
			}
			for e := range s.Events() {
				p, asked := e.(agent.Permission)
				if _, over := e.(agent.Turn); !asked && !over {
					continue
				}
				if asked != tt.asks || asked && p.CallID != "c2" {
					t.Errorf("got %+v", e)
				}
				return
			}
		})
	}
}

func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for name, tt := range map[string]struct {
		tool, input string
		want        agent.Permission
	}{
		"a change":           {"write", `{"path":"a/b","content":"x"}`, agent.Permission{Title: "write a/b", Paths: []string{"a/b"}, Edit: true}},
		"a change elsewhere": {"edit", path("/etc/passwd"), agent.Permission{Title: "edit /etc/passwd", Paths: []string{"/etc/passwd"}, Edit: true, Reason: "it is outside of the working directory"}},
		"a look elsewhere":   {"read", path("/etc/passwd"), agent.Permission{Title: "read /etc/passwd", Paths: []string{"/etc/passwd"}, Reason: "it is outside of the working directory"}},
		"a command":          {"bash", command("make\nmake install"), agent.Permission{Title: "bash make ..."}},
		"a long command":     {"bash", command(long), agent.Permission{Title: "bash " + long[:192] + "…"}},
		"any tool":           {"fetch", `{"url":"x"}`, agent.Permission{Title: `fetch {"url":"x"}`}},
		"a tool of no input": {"now", `{}`, agent.Permission{Title: "now"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, script{Turns: [][]string{asking(question(tt.tool, "c1", tt.input))}})
			s := f.start(t, agent.Options{})
			send(t, s, "go")
			got, events := agenttest.Until[agent.Permission](t, s)
			if got.CallID != "c1" || got.Tool != tt.tool || string(got.Input) != tt.input || got.Dir != f.Work {
				t.Errorf("asked %+v with %s", got, got.Input)
			}
			if got.Title != tt.want.Title || got.Reason != tt.want.Reason || got.Edit != tt.want.Edit || !slices.Equal(got.Paths, tt.want.Paths) {
				t.Errorf("asked %+v", got)
			}
			if uses := agenttest.All[agent.ToolUse](events); len(uses) != 1 || uses[0].CallID != "c1" {
				t.Errorf("told %+v", uses)
			}
		})
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		d      agent.PermissionDecision
		want   string
		status agent.TurnStatus
	}{
		"allow":                {agent.PermissionDecision{Verdict: agent.Allow}, `"value":"allow"`, agent.Completed},
		"allow, with a reason": {agent.PermissionDecision{Verdict: agent.Allow, Reason: "well"}, `"value":"allow"`, agent.Completed},
		"deny":                 {agent.PermissionDecision{Verdict: agent.Deny}, `"value":"deny: denied"`, agent.Completed},
		"deny for a reason":    {agent.PermissionDecision{Verdict: agent.Deny, Reason: "not: here"}, `"value":"deny: not: here"`, agent.Completed},
		"abort":                {agent.PermissionDecision{Verdict: agent.Abort}, `"value":"abort: denied"`, agent.Interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, script{Turns: [][]string{asking(question("bash", "c1", command("make")))}})
			s := f.start(t, agent.Options{})
			send(t, s, "go")
			agenttest.Until[agent.Permission](t, s)
			tt.d.CallID = "c1"
			if err := s.Decide(t.Context(), tt.d); err != nil {
				t.Fatal(err)
			}
			if got, _ := agenttest.Until[agent.Turn](t, s); got.Status != tt.status || got.Err != nil {
				t.Errorf("got %+v", got)
			}
			if !f.has(t, `{"type":"extension_ui_response","id":"ask-c1",`+tt.want+`}`) {
				t.Errorf("given %q", f.Given(t))
			}
			if err := s.Decide(t.Context(), tt.d); !errors.Is(err, agent.ErrNotPending) {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

func TestAnUnknownVerdict(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{asking(question("bash", "c1", command("make")))}})
	s := f.start(t, agent.Options{})
	send(t, s, "go")
	agenttest.Until[agent.Permission](t, s)
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: "c1", Verdict: "maybe"}); err == nil || errors.Is(err, agent.ErrNotPending) {
		t.Errorf("got %v", err)
	}
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: "c1", Verdict: agent.Deny}); err != nil {
		t.Errorf("then %v", err)
	}
}

// TestTwoCallsUnderOneID are two questions all the same, as is one without an
// id.
func TestTwoCallsUnderOneID(t *testing.T) {
	t.Parallel()
	again := strings.Replace(question("bash", "c1", command("b")), `"ask-c1"`, `"ask-2"`, 1)
	none := strings.Replace(question("bash", "", command("c")), `"ask-"`, `"ask-3"`, 1)
	f := newFake(t, script{Turns: [][]string{{acceptLine, beginLine, question("bash", "c1", command("a")), again, none, "until never"}}})
	s := f.start(t, agent.Options{})
	send(t, s, "go")
	for _, id := range []string{"c1", "ask-2", "ask-3"} {
		if p, _ := agenttest.Until[agent.Permission](t, s); p.CallID != id {
			t.Errorf("asked %+v", p)
		}
	}
}

// TestAQuestionThatIsTakenBack has a call that ended without our word, as an
// interrupt ends it.
func TestAQuestionThatIsTakenBack(t *testing.T) {
	end := `{"type":"tool_execution_end","toolCallId":"c1","toolName":"bash","result":{"content":[{"type":"text","text":"Operation aborted"}]},"isError":true}`
	f := newFake(t, script{Turns: [][]string{{acceptLine, beginLine, question("bash", "c1", command("a")), "await", "await", end, ended("", "error", `,"errorMessage":"This operation was aborted"`), settledLine}}})
	s := f.start(t, agent.Options{})
	send(t, s, "go")
	agenttest.Until[agent.Permission](t, s)
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, events := agenttest.Until[agent.Turn](t, s)
	if w := agenttest.All[agent.Withdrawn](events); got.Status != agent.Interrupted || got.Err != nil || !slices.Equal(w, []agent.Withdrawn{{CallID: "c1"}}) {
		t.Errorf("got %+v after %+v", got, events)
	}
	if r := agenttest.All[agent.ToolResult](events); !slices.Equal(r, []agent.ToolResult{{CallID: "c1", Output: "Operation aborted", Error: true}}) {
		t.Errorf("results %+v", r)
	}
}

// TestWhatOtherExtensionsAsk is answered, so that pi does not wait for ever;
// what they only say is passed on.
func TestWhatOtherExtensionsAsk(t *testing.T) {
	ui := func(id, method, more string) string {
		return `{"type":"extension_ui_request","id":"` + id + `","method":"` + method + `"` + more + `}`
	}
	f := newFake(t, script{Turns: [][]string{slices.Concat(
		[]string{acceptLine, "await", beginLine, ui("x1", "select", `,"title":"Which?","options":["a"]`), "await", ui("x2", "confirm", ""), "await", ui("x3", "input", ""), "await", ui("x4", "editor", ""), "await"},
		[]string{ui("x5", "select", `,"title":"{\"gate\":2,\"toolName\":\"bash\"}"`), "await", ui("x6", "notify", `,"message":"hi"`), ended("done", "stop", ""), settledLine},
	)}})
	s := f.start(t, agent.Options{Sandbox: agent.FullAccess})
	_, events := agenttest.Turn(t, s, "go")
	for _, id := range []string{"x1", "x2", "x3", "x4", "x5"} {
		if !f.has(t, `{"type":"extension_ui_response","id":"`+id+`","cancelled":true}`) {
			t.Errorf("%s: given %q", id, f.Given(t))
		}
	}
	if n := agenttest.All[agent.Notice](events); len(n) != 6 || len(agenttest.All[agent.Permission](events)) > 0 || f.has(t, `"x6"`) {
		t.Errorf("told %+v", n)
	}
}
