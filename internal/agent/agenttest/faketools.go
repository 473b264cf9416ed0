package agenttest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/agenttest/fakemodel"
)

// calls makes the calls of a round, one after the other. What an interrupt
// keeps from being made has a result, too.
func (t *fakeTurn) calls(ctx context.Context, calls []fakemodel.Call) error {
	results := make([]fakemodel.Result, len(calls))
	for i, c := range calls {
		results[i] = fakemodel.Result{CallID: c.ID, Text: cutOff, Error: true}
	}
	defer func() { t.keep(fakemodel.Message{Role: fakemodel.User, Results: results}) }()
	for i, c := range calls {
		t.put(agent.ToolUse{CallID: c.ID, Tool: c.Tool, Input: c.Input})
		output, err := t.call(ctx, c)
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			output = err.Error()
		}
		results[i] = fakemodel.Result{CallID: c.ID, Text: output, Error: err != nil}
		t.put(agent.ToolResult{CallID: c.ID, Output: output, Error: err != nil})
	}
	return nil
}

// fakeInput is the input of any of the tools.
type fakeInput struct{ Path, Content, Command string }

// call makes one call; its error is for the model.
func (t *fakeTurn) call(ctx context.Context, c fakemodel.Call) (output string, err error) {
	var in fakeInput
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return "", err
	}
	if in.Path != "" && !filepath.IsAbs(in.Path) {
		in.Path = filepath.Join(t.o.Dir, in.Path)
	}
	if !slices.Contains(t.request().Tools, c.Tool) {
		return "", refusal("no such tool")
	}
	if c.Tool == "read" {
		content, err := os.ReadFile(in.Path)
		return string(content), err
	}
	if err := t.permitted(ctx, c, in); err != nil {
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

// refusal is why a call was not made.
type refusal string

func (r refusal) Error() string { return string(r) }

func (t *fakeTurn) permitted(ctx context.Context, c fakemodel.Call, in fakeInput) error {
	t.mu.Lock()
	granted := t.granted[c.Tool] || t.o.Sandbox == agent.FullAccess
	t.mu.Unlock()
	switch {
	case t.o.Sandbox == agent.ReadOnly:
		return refusal("the sandbox is read-only")
	case granted:
		return nil
	}
	d, ok := t.ask(ctx, c, in)
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

// ask waits for the decision about a call; ok is false when the turn ends first.
func (t *fakeTurn) ask(ctx context.Context, c fakemodel.Call, in fakeInput) (d agent.PermissionDecision, ok bool) {
	p := agent.Permission{CallID: c.ID, Tool: c.Tool, Input: c.Input, Title: c.Tool + " " + in.Path + in.Command, Dir: t.o.Dir}
	if c.Tool == "write" {
		p.Paths, p.Edit = []string{in.Path}, true
	}
	decided := make(chan agent.PermissionDecision, 1)
	t.mu.Lock()
	t.pending, t.decided = c.ID, decided
	t.mu.Unlock()
	t.put(p)
	select {
	case d := <-decided:
		return d, true
	case <-ctx.Done():
	}
	t.mu.Lock()
	t.pending = ""
	t.mu.Unlock()
	t.put(agent.Withdrawn{CallID: c.ID})
	return agent.PermissionDecision{}, false
}
