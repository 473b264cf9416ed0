package pi_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// fakeLive is where the model is that this binary asks as pi.
const fakeLive = "FAKE_PI_LIVE"

func TestContract(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agenttest.Run(t, agenttest.Subject{
		New: func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
			return pi.New(pi.Config{
				Argv: []string{self}, Allow: []string{fakeLive, "GORACE"},
				Environ: []string{"HOME=" + t.TempDir(), fakeLive + "=" + model.URL, "GORACE=atexit_sleep_ms=0"},
			}), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
		},
		Touch: touch,
	})
}

func touch(path string) string {
	return fakemodel.Tool("write", map[string]string{"path": path, "content": "x"})
}

// livePi is as much of pi as a conversation needs.
type livePi struct {
	id, file string
	messages []json.RawMessage // as the model gets them

	mu    sync.Mutex // also of standard output
	asked map[string]chan string
	stop  context.CancelFunc // of the turn under way
	turns sync.WaitGroup

	works atomic.Bool
}

func live() {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("0.87.1")
		return
	}
	p := &livePi{asked: map[string]chan string{}, stop: func() {}, id: uuid.NewString()}
	if i := slices.Index(os.Args, "--session-id"); i > 0 {
		p.id = os.Args[i+1]
	}
	p.file = filepath.Join(os.Getenv("PI_CODING_AGENT_SESSION_DIR"), "x_"+p.id+".jsonl")
	p.load()
	p.say(object{"type": "extension_ui_request", "id": "u", "method": "setStatus", "statusKey": "ratchet-gate"})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.take(lines.Bytes())
	}
	p.stop()
	p.turns.Wait()
}

type object = map[string]any

func (p *livePi) load() {
	text, _ := os.ReadFile(p.file) // there is none of a fresh session
	for line := range bytes.Lines(text) {
		p.messages = append(p.messages, bytes.TrimSpace(line))
	}
}

// keep adds a message to the conversation, and to what survives pi.
func (p *livePi) keep(message object) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	p.messages = append(p.messages, line)
	os.MkdirAll(filepath.Dir(p.file), 0o700)
	f, err := os.OpenFile(p.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	f.Write(append(line, '\n'))
}

func (p *livePi) say(frame object) {
	line, err := json.Marshal(frame)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Printf("%s\n", line)
}

func (p *livePi) respond(id string, data any) {
	p.say(object{"id": id, "type": "response", "success": true, "data": data})
}

func (p *livePi) take(line []byte) {
	var f struct{ ID, Type, Message, Value string }
	if json.Unmarshal(line, &f) != nil {
		p.say(object{"type": "response", "command": "parse", "success": false})
		return
	}
	model := object{"id": "m", "provider": "p", "contextWindow": 200000}
	switch f.Type {
	case "get_state":
		p.respond(f.ID, object{"sessionId": p.id, "sessionFile": p.file, "messageCount": len(p.messages), "isStreaming": p.works.Load(), "model": model})
	case "get_available_models":
		p.respond(f.ID, object{"models": []any{model}})
	case "get_session_stats":
		p.respond(f.ID, object{"contextUsage": object{"tokens": 1020, "contextWindow": 200000}})
	case "abort":
		p.stop()
		p.turns.Wait()
		p.respond(f.ID, nil)
	case "extension_ui_response":
		p.mu.Lock()
		waits := p.asked[f.ID]
		delete(p.asked, f.ID)
		p.mu.Unlock()
		if waits != nil {
			waits <- f.Value
		}
	case "prompt":
		ctx, cancel := context.WithCancel(context.Background())
		p.stop = cancel
		p.works.Store(true)
		p.respond(f.ID, nil)
		p.turns.Go(func() { p.turn(ctx, f.Message) })
	}
}

func (p *livePi) turn(ctx context.Context, prompt string) {
	p.say(object{"type": "agent_start"})
	defer p.settle()
	p.keep(object{"role": "user", "content": prompt})
	for {
		m, err := p.ask(ctx)
		switch {
		case ctx.Err() != nil:
			p.end(m, "aborted", "Request was aborted")
			return
		case err != nil:
			p.end(m, "error", err.Error())
			return
		case len(m.calls) == 0:
			p.end(m, "stop", "")
			p.keep(object{"role": "assistant", "content": m.text})
			return
		}
		p.end(m, "toolUse", "")
		p.keep(object{"role": "assistant", "content": m.text, "tool_calls": m.calls})
		for _, c := range m.calls {
			if !p.call(ctx, c) {
				p.end(liveMessage{}, "error", "This operation was aborted")
				return
			}
		}
	}
}

func (p *livePi) settle() {
	p.say(object{"type": "agent_end", "messages": []any{}})
	p.works.Store(false)
	p.say(object{"type": "agent_settled"})
}

func (p *livePi) end(m liveMessage, stop, failure string) {
	p.say(object{"type": "message_end", "message": object{
		"role": "assistant", "content": []any{object{"type": "text", "text": m.text}}, "stopReason": stop, "errorMessage": failure,
		"usage": object{"input": m.usage.Input, "output": m.usage.Output, "totalTokens": m.usage.Input + m.usage.Output, "cost": object{"total": 0.0033}},
	}})
}

// call makes a call that the gate lets through, and says whether the turn goes
// on.
func (p *livePi) call(ctx context.Context, c liveCall) bool {
	var in struct{ Path, Content string }
	json.Unmarshal([]byte(c.Function.Arguments), &in)
	p.say(object{"type": "tool_execution_start", "toolCallId": c.ID, "toolName": c.Function.Name, "args": json.RawMessage(c.Function.Arguments)})
	answer := p.gate(ctx, c)
	goes, result := answer != "" && !strings.HasPrefix(answer, "abort"), "Operation aborted"
	if answer == "allow" {
		result = "written"
		os.WriteFile(in.Path, []byte(in.Content), 0o600)
	} else if goes {
		result = strings.TrimPrefix(answer, "deny: ")
	}
	p.keep(object{"role": "tool", "tool_call_id": c.ID, "content": result})
	p.say(object{
		"type": "tool_execution_end", "toolCallId": c.ID, "toolName": c.Function.Name, "isError": answer != "allow",
		"result": object{"content": []any{object{"type": "text", "text": result}}},
	})
	return goes
}

// gate asks; no answer is that the turn was interrupted.
func (p *livePi) gate(ctx context.Context, c liveCall) string {
	id, answer := uuid.NewString(), make(chan string, 1)
	p.mu.Lock()
	p.asked[id] = answer
	p.mu.Unlock()
	title, _ := json.Marshal(object{"gate": 1, "toolName": c.Function.Name, "toolCallId": c.ID, "input": json.RawMessage(c.Function.Arguments)})
	p.say(object{"type": "extension_ui_request", "id": id, "method": "select", "title": string(title), "options": []string{"allow", "deny", "abort"}})
	select {
	case word := <-answer:
		return word
	case <-ctx.Done():
		return ""
	}
}

type liveCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type liveMessage struct {
	text  string
	calls []liveCall
	usage struct{ Input, Output int }
}

// ask has the model go on with the conversation, and passes on what it says.
func (p *livePi) ask(ctx context.Context) (m liveMessage, err error) {
	body, err := json.Marshal(object{"model": "m", "stream": true, "tools": []any{object{"function": object{"name": "write"}}}, "messages": p.messages})
	if err != nil {
		return m, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv(fakeLive)+"/v1/chat/completions", bytes.NewReader(body))
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
			return m, fmt.Errorf("%d: %s", resp.StatusCode, lines.Text())
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: {"); ok {
			p.pass(&m, []byte("{"+data))
		}
	}
	return m, lines.Err()
}

func (p *livePi) pass(m *liveMessage, data []byte) {
	var chunk struct {
		Choices []struct {
			Delta struct {
				Content string
				Calls   []liveCall `json:"tool_calls"`
			}
		}
		Usage struct {
			Input  int `json:"prompt_tokens"`
			Output int `json:"completion_tokens"`
		}
	}
	if json.Unmarshal(data, &chunk) != nil {
		return
	}
	m.usage.Input, m.usage.Output = cmp.Or(chunk.Usage.Input, m.usage.Input), cmp.Or(chunk.Usage.Output, m.usage.Output)
	for _, c := range chunk.Choices {
		m.calls = append(m.calls, c.Delta.Calls...)
		if piece := c.Delta.Content; piece != "" {
			m.text += piece
			p.say(object{"type": "message_update", "assistantMessageEvent": object{"type": "text_delta", "delta": piece}})
		}
	}
}
