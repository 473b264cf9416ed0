package agenttest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// makeCalls makes the calls of a round, one after the other. A call that an
// interrupt prevented has a result, too.
func (t *fakeTurn) makeCalls(ctx context.Context, makeCalls []fakemodel.ToolCall) error {
	results := make([]fakemodel.Result, len(makeCalls))
	for i, c := range makeCalls {
		results[i] = fakemodel.Result{CallID: c.ID, Text: cutOff, Error: true}
	}
	defer func() { t.keepMessage(fakemodel.Message{Role: fakemodel.User, Results: results}) }()
	for i, c := range makeCalls {
		t.putEvent(agent.ToolUse{CallID: c.ID, Tool: c.Tool, Input: c.Input})
		output, err := t.makeCall(ctx, c)
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			output = err.Error()
		}
		results[i] = fakemodel.Result{CallID: c.ID, Text: output, Error: err != nil}
		t.putEvent(agent.ToolResult{CallID: c.ID, Output: output, Error: err != nil})
	}
	return nil
}

// fakeInput is the input of any of the tools.
type fakeInput struct{ Path, Content, Command string }

// makeCall makes one call; its error is for the model.
func (t *fakeTurn) makeCall(ctx context.Context, c fakemodel.ToolCall) (output string, err error) {
	var in fakeInput
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return "", err
	}
	if in.Path != "" && !filepath.IsAbs(in.Path) {
		in.Path = filepath.Join(t.o.Dir, in.Path)
	}
	if !slices.Contains(t.newRequest().Tools, c.Tool) {
		return "", refusal("no such tool")
	}
	if c.Tool == "read" {
		content, err := os.ReadFile(in.Path)
		return string(content), err
	}
	if err := t.checkPermitted(ctx, c, in); err != nil {
		return "", err
	}
	if c.Tool == "run" {
		t.fake.mu.Lock()
		defer t.fake.mu.Unlock()
		t.fake.ran = append(t.fake.ran, in.Command)
		return "ran", nil
	}
	return "written", os.WriteFile(in.Path, []byte(in.Content), 0o600)
}

// refusal is the reason why a call was not made.
type refusal string

func (r refusal) Error() string { return string(r) }

func (t *fakeTurn) checkPermitted(ctx context.Context, c fakemodel.ToolCall, in fakeInput) error {
	t.mu.Lock()
	granted := t.granted[c.Tool] || t.o.Sandbox == agent.FullAccess
	t.mu.Unlock()
	switch {
	case t.o.Sandbox == agent.ReadOnly:
		return refusal("the sandbox is read-only")
	case granted:
		return nil
	}
	d, ok := t.askPermission(ctx, c, in)
	switch {
	case !ok:
		return errInterrupted
	case d.Verdict == agent.AllowSession:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.granted[c.Tool] = true
		return nil
	case d.Verdict == agent.Allow:
		return nil
	case d.Verdict == agent.Abort:
		t.interrupt()
		return errInterrupted
	default:
		return refusal("denied: " + d.Reason)
	}
}

// askPermission waits for the decision on a call; ok is false if the turn ends first.
func (t *fakeTurn) askPermission(ctx context.Context, c fakemodel.ToolCall, in fakeInput) (d agent.PermissionDecision, ok bool) {
	p := agent.Permission{CallID: c.ID, Tool: c.Tool, Input: c.Input, Title: c.Tool + " " + in.Path + in.Command, Dir: t.o.Dir}
	if c.Tool == "write" {
		p.Paths, p.Edit = []string{in.Path}, true
	}
	decided := make(chan agent.PermissionDecision, 1)
	t.mu.Lock()
	t.pending, t.decided = c.ID, decided
	t.mu.Unlock()
	t.putEvent(p)
	select {
	case d := <-decided:
		return d, true
	case <-ctx.Done():
	}
	t.mu.Lock()
	t.pending = ""
	t.mu.Unlock()
	t.putEvent(agent.Withdrawn{CallID: c.ID})
	return agent.PermissionDecision{}, false
}
