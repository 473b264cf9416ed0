package claude_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// fakeLive makes this binary a client that asks the model.
const fakeLive = "FAKE_CLAUDE_LIVE"

func TestContract(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agenttest.Run(t, agenttest.Subject{
		New: func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
			return claude.New(claude.Config{
				Binary: self, Allow: []string{fakeLive, "GORACE"},
				Environ: []string{"HOME=" + t.TempDir(), "ANTHROPIC_BASE_URL=" + model.URL, fakeLive + "=1", "GORACE=atexit_sleep_ms=0"},
			}), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
		},
		Touch: touch,
	})
}

// liveClient is as much of the client as a conversation needs.
type liveClient struct {
	id, transcript string

	mu       sync.Mutex // also of standard output
	messages []json.RawMessage
	asked    map[string]chan livePermit
	stop     context.CancelFunc // of the turn under way
	turns    sync.WaitGroup
	cost     float64
}

type livePermit struct {
	Behavior  string
	Message   string
	Interrupt bool
}

func live() {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("2.1.0 (Claude Code)")
		return
	}
	c := &liveClient{asked: map[string]chan livePermit{}, stop: func() {}}
	resumes := false
	for i, arg := range os.Args {
		if resumes = resumes || arg == "--resume"; arg == "--session-id" || arg == "--resume" {
			c.id = os.Args[i+1]
		}
	}
	c.transcript = filepath.Join(os.Getenv("HOME"), ".claude", "projects", "-work", c.id+".jsonl")
	if resumes {
		c.load()
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		c.take(lines.Bytes())
	}
	c.turns.Wait()
}

func (c *liveClient) load() {
	text, err := os.ReadFile(c.transcript)
	if err != nil {
		missing := "No conversation found with session ID: " + c.id
		c.say(`{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"errors":[%q]}`, missing)
		fmt.Fprintln(os.Stderr, missing)
		syscall.Exit(1)
	}
	for line := range bytes.Lines(text) {
		c.messages = append(c.messages, bytes.TrimSpace(line))
	}
}

func (c *liveClient) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Printf(format+"\n", args...)
}

// keep adds a message to the conversation, and to what survives the client.
func (c *liveClient) keep(role string, content any) {
	line := text(map[string]any{"type": role, "role": role, "content": content})
	c.messages = append(c.messages, json.RawMessage(line))
	os.MkdirAll(filepath.Dir(c.transcript), 0o700)
	f, err := os.OpenFile(c.transcript, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	f.WriteString(line + "\n")
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (c *liveClient) take(line []byte) {
	var f struct {
		Type      string
		RequestID string `json:"request_id"`
		Request   struct{ Subtype string }
		Message   struct{ Content string }
		Response  struct {
			RequestID string `json:"request_id"`
			Response  livePermit
		}
	}
	if json.Unmarshal(line, &f) != nil {
		syscall.Exit(1)
	}
	switch {
	case f.Request.Subtype == "initialize":
		c.say("%s", strings.ReplaceAll(greetingFrame, "@REQUEST@", f.RequestID))
	case f.Request.Subtype == "interrupt":
		c.stop()
		c.say(`{"type":"control_response","response":{"subtype":"success","request_id":%q}}`, f.RequestID)
	case f.Type == "control_response":
		c.mu.Lock()
		waits := c.asked[f.Response.RequestID]
		delete(c.asked, f.Response.RequestID)
		c.mu.Unlock()
		if waits != nil {
			waits <- f.Response.Response
		}
	case f.Type == "user":
		ctx, cancel := context.WithCancel(context.Background())
		c.stop = cancel
		c.turns.Go(func() { c.turn(ctx, f.Message.Content) })
	}
}

func (c *liveClient) turn(ctx context.Context, prompt string) {
	c.say(`{"type":"system","subtype":"init","session_id":%q,"model":"claude-fake"}`, c.id)
	c.keep("user", prompt)
	for {
		m, err := c.ask(ctx)
		switch {
		case ctx.Err() != nil:
			c.result(m, "error_during_execution", true, "aborted_streaming")
			return
		case err != nil:
			c.say(`{"type":"assistant","message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":%q}]},"error":"invalid_request"}`, err.Error())
			c.say(`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":400,"result":%q}`, err.Error())
			return
		}
		c.keep("assistant", m.Content)
		for _, b := range m.Content {
			c.say(`{"type":"assistant","message":{"id":%q,"model":"claude-fake","content":[%s],"usage":%s},"parent_tool_use_id":null}`, m.ID, text(b), m.Usage)
		}
		if last := m.Content[len(m.Content)-1]; last.Type != "tool_use" {
			c.result(m, "success", false, "completed")
			return
		}
		if !c.callTools(ctx, m) {
			c.result(m, "error_during_execution", true, "aborted_tools")
			return
		}
	}
}

func (c *liveClient) result(m liveMessage, subtype string, isError bool, reason string) {
	if m.Usage == nil {
		m.Usage = json.RawMessage("{}")
	}
	c.cost += 0.0033
	c.say(`{"type":"result","subtype":%q,"is_error":%v,"terminal_reason":%q,"duration_ms":20,"session_id":%q,"total_cost_usd":%v,"usage":%s,"modelUsage":{"claude-fake":{"contextWindow":200000}}}`,
		subtype, isError, reason, c.id, c.cost, m.Usage)
}

// callTools asks for each call, and says whether the turn goes on.
func (c *liveClient) callTools(ctx context.Context, m liveMessage) bool {
	for _, b := range m.Content {
		if b.Type != "tool_use" {
			continue
		}
		permit, on := c.askFor(ctx, *b)
		result := map[string]any{"type": "tool_result", "tool_use_id": b.ID, "content": "written"}
		switch {
		case !on || permit.Interrupt:
			result["content"], result["is_error"] = "[Tool call interrupted]", true
		case permit.Behavior != "allow":
			result["content"], result["is_error"] = permit.Message, true
		default:
			var in struct {
				Path    string `json:"file_path"`
				Content string
			}
			json.Unmarshal(b.Input, &in)
			os.WriteFile(in.Path, []byte(in.Content), 0o600)
		}
		c.keep("user", []any{result})
		c.say(`{"type":"user","message":{"role":"user","content":[%s]},"parent_tool_use_id":null}`, text(result))
		if !on || permit.Interrupt {
			return false
		}
	}
	return true
}

func (c *liveClient) askFor(ctx context.Context, b liveBlock) (livePermit, bool) {
	id, answer := uuid.NewString(), make(chan livePermit, 1)
	c.mu.Lock()
	c.asked[id] = answer
	c.mu.Unlock()
	c.say(`{"type":"control_request","request_id":%q,"request":{"subtype":"can_use_tool","tool_name":%q,"input":%s,"tool_use_id":%q,"permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]}}`,
		id, b.Name, b.Input, b.ID)
	select {
	case permit := <-answer:
		return permit, true
	case <-ctx.Done():
		c.say(`{"type":"control_cancel_request","request_id":%q}`, id)
		return livePermit{}, false
	}
}

type liveMessage struct {
	ID      string
	Usage   json.RawMessage
	Content []*liveBlock
}

type liveBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

// ask has the model go on with the conversation, and reads its stream.
func (c *liveClient) ask(ctx context.Context) (m liveMessage, err error) {
	body := text(map[string]any{"model": "claude-fake", "stream": true, "tools": []any{map[string]string{"name": "Write"}}, "messages": c.messages})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", strings.NewReader(body))
	if err != nil {
		return m, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return m, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if resp.StatusCode != http.StatusOK {
			return m, fmt.Errorf("API Error: %s", lines.Text())
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			m.add([]byte(data))
		}
	}
	return m, lines.Err()
}

func (m *liveMessage) add(data []byte) {
	var e struct {
		Type    string
		Message liveMessage
		Block   liveBlock `json:"content_block"`
		Delta   struct {
			Text string
			JSON string `json:"partial_json"`
		}
		Usage json.RawMessage
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "message_start":
		*m = e.Message
	case "content_block_start":
		e.Block.Input = nil
		m.Content = append(m.Content, &e.Block)
	case "content_block_delta":
		last := m.Content[len(m.Content)-1]
		last.Text += e.Delta.Text
		last.Input = append(last.Input, e.Delta.JSON...)
	case "message_delta":
		m.Usage = e.Usage
	}
}
