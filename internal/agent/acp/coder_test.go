package acp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"
)

const modelVariable = "CODER_MODEL" // the URL of its model

// coder is a small coding agent with one tool, which writes a file and asks
// before it does. It keeps its sessions in its home, and says that it is the
// bridge to Claude Code.
type coder struct {
	sdk.Agent // what it does not have
	conn      *sdk.AgentSideConnection
	talks     map[sdk.SessionId]*talk
}

// talk is one session.
type talk struct {
	Messages []message `json:"messages"`
	Cost     float64   `json:"cost"`
	trusted  bool      // its tool is not asked about any more
}

type message struct {
	Role    string    `json:"role"`
	Content string    `json:"content"`
	Calls   []toolUse `json:"tool_calls,omitempty"`
	CallID  string    `json:"tool_call_id,omitempty"`
}

type toolUse struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func code() {
	c := &coder{talks: map[sdk.SessionId]*talk{}}
	in, out := io.Pipe()
	c.conn = sdk.NewAgentSideConnection(c, os.Stdout, in)
	c.conn.SetLogger(slog.New(slog.DiscardHandler))
	go func() { // not before c.conn is there
		io.Copy(out, os.Stdin)
		out.Close()
	}()
	<-c.conn.Done()
}

func (c *coder) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		AgentInfo:       &sdk.Implementation{Name: "@agentclientprotocol/claude-agent-acp", Title: sdk.Ptr("Coder"), Version: "1.0"},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession: true, SessionCapabilities: sdk.SessionCapabilities{Resume: &sdk.SessionResumeCapabilities{}},
		},
	}, nil
}

func file(id sdk.SessionId) string { return filepath.Join(os.Getenv("HOME"), string(id)+".json") }

func (c *coder) keep(id sdk.SessionId) error {
	b, err := json.Marshal(c.talks[id])
	if err != nil {
		return err
	}
	whole := file(id) + ".new"
	return errors.Join(os.WriteFile(whole, b, 0o600), os.Rename(whole, file(id)))
}

func (c *coder) NewSession(context.Context, sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	id := sdk.SessionId(uuid.NewString())
	c.talks[id] = &talk{}
	return sdk.NewSessionResponse{SessionId: id}, c.keep(id)
}

// LoadSession tells the history again before it answers, as the protocol has it.
func (c *coder) LoadSession(ctx context.Context, r sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	b, err := os.ReadFile(file(r.SessionId))
	if err != nil {
		return sdk.LoadSessionResponse{}, &sdk.RequestError{Code: -32002, Message: "Resource not found"}
	}
	var t talk
	if err := json.Unmarshal(b, &t); err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	c.talks[r.SessionId] = &t
	for _, m := range t.Messages {
		c.tell(ctx, r.SessionId, sdk.UpdateAgentMessageText(m.Content))
	}
	return sdk.LoadSessionResponse{}, nil
}

func (c *coder) Cancel(context.Context, sdk.CancelNotification) error { return nil } // it ends the context of Prompt

func (c *coder) tell(ctx context.Context, id sdk.SessionId, u sdk.SessionUpdate) {
	c.conn.SessionUpdate(context.WithoutCancel(ctx), sdk.SessionNotification{SessionId: id, Update: u})
}

func (c *coder) Prompt(ctx context.Context, r sdk.PromptRequest) (sdk.PromptResponse, error) {
	t := c.talks[r.SessionId]
	for _, block := range r.Prompt {
		t.Messages = append(t.Messages, message{Role: "user", Content: block.Text.Text})
	}
	if err := c.keep(r.SessionId); err != nil {
		return sdk.PromptResponse{}, err
	}
	var used sdk.Usage
	reason := sdk.StopReasonEndTurn
	for more := true; more; {
		said, err := c.ask(ctx, r.SessionId, &used)
		if t.Messages = append(t.Messages, said); ctx.Err() != nil {
			reason = sdk.StopReasonCancelled
			break
		}
		if err != nil {
			return sdk.PromptResponse{}, err
		}
		for _, call := range said.Calls {
			t.Messages = append(t.Messages, message{Role: "tool", CallID: call.ID, Content: c.run(ctx, r.SessionId, call)})
		}
		more = len(said.Calls) > 0
	}
	t.Cost += float64(used.InputTokens)*3e-6 + float64(used.OutputTokens)*15e-6
	used.TotalTokens = used.InputTokens + used.OutputTokens
	c.tell(ctx, r.SessionId, sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{Used: used.InputTokens, Size: 200000, Cost: &sdk.Cost{Amount: t.Cost, Currency: "USD"}}})
	return sdk.PromptResponse{StopReason: reason, Usage: &used}, c.keep(r.SessionId)
}

// run makes a call, and says what came of it.
func (c *coder) run(ctx context.Context, id sdk.SessionId, call toolUse) string {
	var input struct{ Path string }
	if err := json.Unmarshal([]byte(call.Function.Arguments), &input); err != nil {
		return err.Error()
	}
	callID := sdk.ToolCallId(call.ID)
	c.tell(ctx, id, sdk.StartEditToolCall(callID, "write", input.Path, nil, sdk.WithStartStatus(sdk.ToolCallStatusPending)))
	end := func(status sdk.ToolCallStatus, text string) string {
		c.tell(ctx, id, sdk.UpdateToolCall(callID, sdk.WithUpdateStatus(status), sdk.WithUpdateRawOutput(text)))
		return text
	}
	if !c.talks[id].trusted {
		switch selected, err := c.mayWrite(ctx, id, callID, input.Path); {
		case err != nil || selected == "":
			return "interrupted"
		case selected == "no":
			return end(sdk.ToolCallStatusFailed, "the user said no")
		case selected == "always":
			c.talks[id].trusted = true
		}
	}
	if err := os.WriteFile(input.Path, nil, 0o600); err != nil {
		return end(sdk.ToolCallStatusFailed, err.Error())
	}
	return end(sdk.ToolCallStatusCompleted, "written")
}

func (c *coder) mayWrite(ctx context.Context, id sdk.SessionId, call sdk.ToolCallId, path string) (string, error) {
	r, err := c.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{
		SessionId: id,
		ToolCall:  sdk.ToolCallUpdate{ToolCallId: call, Title: sdk.Ptr("write " + path), Kind: sdk.Ptr(sdk.ToolKindEdit), RawInput: map[string]any{"path": path}},
		Options: []sdk.PermissionOption{
			{OptionId: "always", Name: "Allow for this session", Kind: sdk.PermissionOptionKindAllowAlways},
			{OptionId: "yes", Name: "Yes", Kind: sdk.PermissionOptionKindAllowOnce},
			{OptionId: "no", Name: "No", Kind: sdk.PermissionOptionKindRejectOnce},
		},
	})
	if err != nil || r.Outcome.Selected == nil {
		return "", err
	}
	return string(r.Outcome.Selected.OptionId), nil
}

// ask asks the model, and tells its text as it comes.
func (c *coder) ask(ctx context.Context, id sdk.SessionId, used *sdk.Usage) (message, error) {
	body, err := json.Marshal(map[string]any{
		"model": "fake-model", "stream": true, "messages": c.talks[id].Messages,
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "write"}}},
	})
	if err != nil {
		return message{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv(modelVariable)+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return message{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return message{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		problem, _ := io.ReadAll(response.Body)
		return message{}, &sdk.RequestError{Code: -32603, Message: fmt.Sprintf("Internal error: API Error: %d %s", response.StatusCode, problem)}
	}
	return c.listen(ctx, id, response.Body, used)
}

func (c *coder) listen(ctx context.Context, id sdk.SessionId, body io.Reader, used *sdk.Usage) (message, error) {
	said, name := message{Role: "assistant"}, uuid.NewString()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: {")
		if !ok {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string
					Calls   []toolUse `json:"tool_calls"`
				}
			}
			Usage *struct {
				In  int `json:"prompt_tokens"`
				Out int `json:"completion_tokens"`
			}
		}
		if err := json.Unmarshal([]byte("{"+data), &chunk); err != nil {
			return said, err
		}
		for _, choice := range chunk.Choices {
			said.Calls = append(said.Calls, choice.Delta.Calls...)
			if text := choice.Delta.Content; text != "" {
				said.Content += text
				c.tell(ctx, id, sdk.SessionUpdate{AgentMessageChunk: &sdk.SessionUpdateAgentMessageChunk{Content: sdk.TextBlock(text), MessageId: &name}})
			}
		}
		if u := chunk.Usage; u != nil {
			used.InputTokens += u.In
			used.OutputTokens += u.Out
		}
	}
	return said, lines.Err()
}
