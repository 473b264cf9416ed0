package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
)

// panel is an editor: it keeps what the agent sends, and answers permission requests as picks says.
type panel struct {
	*testing.T
	agent *sdk.ClientSideConnection
	close func()

	mu    sync.Mutex
	said  strings.Builder // messages of the agent
	users []string        // messages of the user's, replayed
	plan  []sdk.PlanEntry
	calls map[sdk.ToolCallId]sdk.ToolCallStatus
	asked []sdk.RequestPermissionRequest
	picks []func(sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome
}

// pick chooses the option whose name begins with that.
func pick(name string) func(sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome {
	return func(r sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome {
		for _, o := range r.Options {
			if strings.HasPrefix(o.Name, name) {
				return sdk.NewRequestPermissionOutcomeSelected(o.OptionId)
			}
		}
		return sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId("no option " + name))
	}
}

func (p *panel) RequestPermission(_ context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	if len(p.picks) == 0 {
		return sdk.RequestPermissionResponse{}, fmt.Errorf("nothing is to be asked: %s", *r.ToolCall.Title)
	}
	answer := p.picks[0]
	p.picks = p.picks[1:]
	return sdk.RequestPermissionResponse{Outcome: answer(r)}, nil
}

func (p *panel) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch u := n.Update; {
	case u.AgentMessageChunk != nil:
		p.said.WriteString(u.AgentMessageChunk.Content.Text.Text)
	case u.UserMessageChunk != nil:
		p.users = append(p.users, u.UserMessageChunk.Content.Text.Text)
	case u.Plan != nil:
		p.plan = u.Plan.Entries
	case u.ToolCall != nil:
		p.calls[u.ToolCall.ToolCallId] = u.ToolCall.Status
	case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
		p.calls[u.ToolCallUpdate.ToolCallId] = *u.ToolCallUpdate.Status
	}
	return nil
}

func (*panel) ReadTextFile(context.Context, sdk.ReadTextFileRequest) (r sdk.ReadTextFileResponse, err error) {
	return r, sdk.NewMethodNotFound("")
}
func (*panel) WriteTextFile(context.Context, sdk.WriteTextFileRequest) (r sdk.WriteTextFileResponse, err error) {
	return r, sdk.NewMethodNotFound("")
}
func (*panel) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (r sdk.CreateTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound("")
}
func (*panel) KillTerminal(context.Context, sdk.KillTerminalRequest) (r sdk.KillTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound("")
}
func (*panel) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (r sdk.TerminalOutputResponse, err error) {
	return r, sdk.NewMethodNotFound("")
}
func (*panel) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (r sdk.ReleaseTerminalResponse, err error) {
	return r, sdk.NewMethodNotFound("")
}
func (*panel) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (r sdk.WaitForTerminalExitResponse, err error) {
	return r, sdk.NewMethodNotFound("")
}

// editor starts `starter acp` as an editor does, and greets it.
func (b bench) editor(more ...string) *panel {
	b.Helper()
	toAgent, fromEditor := io.Pipe()
	toEditor, fromAgent := io.Pipe()
	c := newFactory(console.Console{
		Args: append([]string{"acp", "--runs-dir", b.runsDir, "--provider", "replay:" + b.answers, "--check", passes, "--sandbox", "off"}, more...),
		In:   toAgent, Out: fromAgent, Err: io.Discard, Environ: os.Environ(), Now: time.Now,
	})
	ended := make(chan int, 1)
	go func() { ended <- c.Run(context.Background()); fromAgent.Close() }()
	p := &panel{T: b.T, calls: map[sdk.ToolCallId]sdk.ToolCallStatus{}}
	p.agent = sdk.NewClientSideConnection(p, fromEditor, toEditor)
	p.agent.SetLogger(slog.New(slog.DiscardHandler))
	p.close = sync.OnceFunc(func() {
		fromEditor.Close()
		if code := <-ended; code != 0 {
			b.Errorf("acp ended with %d, want 0", code)
		}
	})
	b.Cleanup(p.close)
	r, err := p.agent.Initialize(b.Context(), sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber})
	clitest.Must(b.T, err)
	if r.ProtocolVersion != sdk.ProtocolVersionNumber || !r.AgentCapabilities.LoadSession || r.AgentCapabilities.SessionCapabilities.List == nil {
		b.Errorf("got %+v, want an agent that loads and lists sessions", r)
	}
	return p
}

func (p *panel) open(cwd string) sdk.SessionId {
	p.Helper()
	r, err := p.agent.NewSession(p.Context(), sdk.NewSessionRequest{Cwd: cwd, McpServers: []sdk.McpServer{}})
	clitest.Must(p.T, err)
	return r.SessionId
}

// says sends a prompt. The turn ends as want, with that text in a message of the agent.
func (p *panel) says(id sdk.SessionId, text string, want sdk.StopReason, told string, picks ...func(sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome) {
	p.Helper()
	p.mu.Lock()
	p.said.Reset()
	p.picks = picks
	p.mu.Unlock()
	r, err := p.agent.Prompt(p.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || r.StopReason != want || !strings.Contains(p.said.String(), told) {
		p.Fatalf("prompt %q: got %q, %v, want %q with %q in:\n%s", text, r.StopReason, err, want, told, p.said.String())
	}
	if len(p.picks) > 0 {
		p.Errorf("prompt %q: %d permission requests are missing", text, len(p.picks))
	}
}

// testEditor takes runs through `starter acp`, as an editor does.
func testEditor(b bench) {
	b.answers = b.TempDir()
	clitest.Write(b.T, filepath.Join(b.answers, "plan-1.md"), "# Make it good\n\n1. Look at state.txt\n2. Make it good\n   - not only better\n")
	clitest.Write(b.T, filepath.Join(b.answers, "execute-1.md"), change("bad", "better"))
	clitest.Write(b.T, filepath.Join(b.answers, "fix-2.md"), change("bad", "good"))
	p := b.editor()
	id := p.open(b.repo)

	// A patch is sent back with a reason, then the turn is canceled at the next patch, and the editor is closed.
	p.says(id, "Make it good", sdk.StopReasonEndTurn, "Your next message goes to the agent as the reason", pick("Send back"))
	if d := p.asked[0].ToolCall.Content[0].Diff; d == nil || d.Path != filepath.Join(b.repo, "state.txt") || *d.OldText != "bad\n" || d.NewText != "better\n" {
		b.Errorf("got %+v, want the diff of state.txt", d)
	}
	if len(p.plan) != 2 || p.plan[1].Content != "Make it good" || p.plan[1].Status != sdk.PlanEntryStatusInProgress {
		b.Errorf("got the plan %+v, want its two steps, in progress", p.plan)
	}
	first := b.status(string(id)).Pending.Approval.ApprovalID
	p.says(id, "not better, good", sdk.StopReasonCancelled, "The run continues without this turn", func(sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome {
		_ = p.agent.Cancel(b.Context(), sdk.CancelNotification{SessionId: id})
		return sdk.NewRequestPermissionOutcomeCancelled()
	})
	if events := b.expect(0, "events", string(id), "--json").out; !strings.Contains(events, `"reason":"not better, good"`) || !strings.Contains(events, `"approvalId":"`+first+`","by":"`) {
		b.Errorf("the rejection of %s with its reason and its person is not in:\n%s", first, events)
	}
	p.close()
	b.await(string(id), run.AwaitingApproval)

	// Another editor takes the session up, and approves the same patch.
	pending := b.status(string(id)).Pending.Approval
	p = b.editor()
	list, err := p.agent.ListSessions(b.Context(), sdk.ListSessionsRequest{Cwd: &b.repo})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != id || *list.Sessions[0].Title != "Make it good" {
		b.Errorf("got the sessions %+v, %v, want the run", list.Sessions, err)
	}
	_, err = p.agent.LoadSession(b.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: b.repo, McpServers: []sdk.McpServer{}})
	clitest.Must(b.T, err)
	if len(p.users) != 1 || p.users[0] != "Make it good" || !strings.Contains(p.said.String(), "`/watch` follows it") || len(p.calls) != 2 {
		b.Errorf("replayed: goal %q, calls %v\n%s", p.users, p.calls, p.said.String())
	}
	p.says(id, "mind the tests", sdk.StopReasonEndTurn, "`/merge` merges it", pick("Apply"))
	if d := p.asked[0].ToolCall.Content[0].Diff; d == nil || d.NewText != "good\n" {
		b.Errorf("got %+v, want the second diff", d)
	}
	events := b.expect(0, "events", string(id), "--json").out
	if !strings.Contains(events, `"APPROVAL_GRANTED"`) || !strings.Contains(events, `"payload":{"approvalId":"`+pending.ApprovalID+`","by":"`) {
		b.Errorf("the approval of %s by its person is not in:\n%s", pending.ApprovalID, events)
	}
	for call, status := range p.calls {
		if want := sdk.ToolCallStatusCompleted; p.asked[0].ToolCall.ToolCallId == call && status != want {
			b.Errorf("the patch %s is %s, want %s", call, status, want)
		}
	}
	clitest.Git(b.T, b.repo, "switch", "-q", "main")
	p.says(id, "/merge", sdk.StopReasonEndTurn, "main")
	if got, err := os.ReadFile(filepath.Join(b.repo, "state.txt")); err != nil || string(got) != "good\n" {
		b.Errorf("after the merge: got %q, %v, want good", got, err)
	}

	// What is written then is a run of its own, which is part of the session. Its recorded patch does not fit.
	p.says(id, "and better", sdk.StopReasonEndTurn, "Your next message is the answer", pick("Answer in your next message"))
	p.says(id, "/cancel", sdk.StopReasonEndTurn, "Canceled")
	_, err = p.agent.LoadSession(b.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: b.repo, McpServers: []sdk.McpServer{}})
	if err != nil || len(p.users) != 3 || p.users[2] != "and better" {
		b.Errorf("replayed the messages %q, %v, want those of both runs", p.users, err)
	}
}

// testEditorQuestion answers a question by the next prompt, and rejects a patch for good.
func testEditorQuestion(b bench) {
	b.answers = b.TempDir()
	clitest.Write(b.T, filepath.Join(b.answers, "plan-1.md"), "# Ask first\n")
	clitest.Write(b.T, filepath.Join(b.answers, "execute-1.md"), "<<<AIO_RESULT_START>>>\ntype: ASK\nquestion: Good or better?\nreason: unclear\n<<<AIO_RESULT_END>>>\n")
	clitest.Write(b.T, filepath.Join(b.answers, "execute-1.2.md"), change("bad", "good"))
	p := b.editor()
	id := p.open(b.repo)
	p.says(id, "Make it good", sdk.StopReasonEndTurn, "Good or better?")
	p.says(id, "good", sdk.StopReasonEndTurn, "Canceled", pick("Reject and end the run"))
	if st := b.status(string(id)); st.Status != run.Canceled {
		b.Errorf("the run is %s, want canceled", st.Status)
	}
}

// An editor learns what to do about each request that cannot be served.
func TestAnEditorIsToldWhatToDo(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	dir, repo := t.TempDir(), clitest.Repository(t)
	prompt := func(blocks string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"%s","prompt":[` + blocks + `]}}`
	}
	for name, tc := range map[string]struct{ sends, want string }{
		"malformed JSON":            {`{"jsonrpc":`, `"id":null,"error":{"code":-32700,"message":"a line is not JSON: send one JSON-RPC 2.0 message a line`},
		"a batch":                   {`[{"jsonrpc":"2.0","id":1,"method":"initialize"}]`, `"id":null,"error":{"code":-32600,"message":"a line is not a message: want a JSON object`},
		"neither method nor id":     {`{"jsonrpc":"2.0"}`, `"code":-32600`},
		"an unknown method":         {`{"jsonrpc":"2.0","id":1,"method":"session/fork","params":{}}`, `"code":-32601,"message":"unknown method session/fork: this agent has initialize,`},
		"no parameters":             {`{"jsonrpc":"2.0","id":1,"method":"session/new"}`, `"code":-32602,"message":"the parameters are not those of the method: cwd is required`},
		"a directory without git":   {`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"` + dir + `","mcpServers":[]}}`, "is not in a git repository: open the folder of one, or run `git init`"},
		"a relative directory":      {`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"x","mcpServers":[]}}`, "is not an absolute path"},
		"a directory that is gone":  {`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"` + dir + `/gone","mcpServers":[]}}`, `"code":-32602`},
		"a session that is unknown": {fmt.Sprintf(prompt(`{"type":"text","text":"x"}`), "s"), `session \"s\" is not open: send session/load for a run, or session/new`},
		"an empty prompt":           {prompt(`{"type":"text","text":" "}`), "the prompt is empty"},
		"an image":                  {prompt(`{"type":"image","data":"","mimeType":"image/png"}`), "leave it out, and describe it"},
		"a goal without an engine":  {prompt(`{"type":"text","text":"x"}`), "TEMPORAL_ADDRESS"},
		"a run without an engine":   {`{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"x","cwd":"` + repo + `","mcpServers":[]}}`, "TEMPORAL_ADDRESS"},
		"an id that is a path":      {`{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"../x","cwd":"` + repo + `","mcpServers":[]}}`, `"code":-32602`},
	} {
		t.Run(name, func(t *testing.T) {
			in, toAgent := io.Pipe()
			fromAgent, out := io.Pipe()
			c := newFactory(console.Console{Args: []string{"acp", "--runs-dir", t.TempDir()}, In: in, Out: out, Err: io.Discard, Environ: os.Environ(), Now: time.Now})
			ended := make(chan int, 1)
			go func() { ended <- c.Run(t.Context()) }()
			lines := newLines(fromAgent)
			if strings.Contains(tc.sends, "%s") {
				_, err := fmt.Fprintf(toAgent, `{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`+"\n", repo)
				clitest.Must(t, err)
				_, id, _ := strings.Cut(<-lines, `"sessionId":"`)
				id, _, _ = strings.Cut(id, `"`)
				tc.sends = fmt.Sprintf(tc.sends, id)
			}
			_, err := io.WriteString(toAgent, tc.sends+"\n")
			clitest.Must(t, err)
			for got := range lines {
				if strings.Contains(got, `"method":"session/update"`) {
					continue
				}
				if !strings.Contains(got, `"error":{`) || !strings.Contains(got, tc.want) {
					t.Errorf("got %s, want an error with %q", got, tc.want)
				}
				break
			}
			toAgent.Close()
			if code := <-ended; code != 0 {
				t.Errorf("it ended with %d, want 0", code)
			}
		})
	}
}

// newLines returns the lines of a reader as they come.
func newLines(r io.Reader) <-chan string {
	lines := make(chan string, 16)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

// A client of the protocol's own library, in JavaScript as that of several editors, takes a run to its end.
func TestARealEditorClient(t *testing.T) {
	need.Suite(t, need.CI)
	library, node := need.Env(t, "ACP_SDK_JS"), need.Env(t, "NODE_BIN")
	b := bench{t, filepath.Join(t.TempDir(), ".runs"), clitest.Repository(t), answers(t)}
	bringUp(t, b.runsDir)
	cmd := exec.CommandContext(t.Context(), node, "testdata/editor.mjs", library, b.repo, os.Args[0],
		"acp", "--runs-dir", b.runsDir, "--provider", "replay:"+b.answers, "--check", passes, "--sandbox", "off")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"session ", "plan: Make it good", "pick Apply: bad -> better", "pick Apply: better -> good", "stop: end_turn"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("got %v, want %q in:\n%s", err, want, out)
		}
	}
	_, id, _ := strings.Cut(string(out), "session ")
	id, _, _ = strings.Cut(id, "\n")
	b.await(id, run.Completed)
}
