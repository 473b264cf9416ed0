package pi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// ask is a call that stands at the gate (docs/contracts/pi.md, 3).
type ask struct {
	request string // the id to answer under

	Gate   int             `json:"gate"`
	Tool   string          `json:"toolName"`
	CallID string          `json:"toolCallId"`
	Input  json.RawMessage `json:"input"`
}

// asks are the calls that wait for a decision, by their ids.
type asks map[string]ask

func (w asks) drop(callID string) bool {
	_, ok := w[callID]
	delete(w, callID)
	return ok
}

func (w asks) clear() []string {
	ids := slices.Sorted(maps.Keys(w))
	clear(w)
	return ids
}

// gateKey is under what the gate says that it is shut.
const gateKey = "ratchet-gate"

// takeRequest takes what an extension has to say. To a question of another one
// than the gate nobody is there to answer, and pi must not wait for that.
func (s *session) takeRequest(line []byte) bool {
	r := read[uiRequest](line)
	switch {
	case r.Method == "setStatus" && r.Key == gateKey:
		s.shut = true
		return true
	case r.Method == "select" && s.asked(r):
		return true
	case slices.Contains([]string{"select", "confirm", "input", "editor"}, r.Method):
		s.post(uiResponse{Type: uiAnswer, ID: r.ID, Cancelled: true})
	}
	s.queue.Put(agent.Notice{Name: "extension_ui_request", Data: line, Stall: true})
	return true
}

// asked takes a question of the gate: every call comes by it. Those that need
// no person are answered here.
func (s *session) asked(r uiRequest) bool {
	a := read[ask]([]byte(r.Title))
	if a.Gate != 1 || a.Tool == "" {
		return false
	}
	a.request = r.ID
	if _, taken := s.asks[a.CallID]; taken || a.CallID == "" {
		a.CallID = r.ID
	}
	s.tellCall(agent.ToolUse{CallID: a.CallID, Tool: a.Tool, Input: a.Input})
	verdict, reason := s.rules.judge(a)
	if verdict != "" {
		s.answer(a, agent.PermissionDecision{Verdict: verdict, Reason: reason})
		return true
	}
	s.asks[a.CallID] = a
	p := a.permission(s.o.Dir)
	p.Reason = reason
	s.queue.Put(p)
	return true
}

var verdicts = []agent.PermissionVerdict{agent.Allow, agent.AllowSession, agent.Deny, agent.Abort}

func (s *session) Decide(ctx context.Context, d agent.PermissionDecision) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !slices.Contains(verdicts, d.Verdict) {
		return fmt.Errorf("no verdict %q", d.Verdict)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.asks[d.CallID]
	if !ok {
		return agent.ErrNotPending
	}
	if !s.child.Alive() {
		return agent.ErrGone
	}
	delete(s.asks, d.CallID)
	switch {
	case d.Verdict == agent.AllowSession:
		s.rules.keep(a)
	case d.Verdict == agent.Abort && s.turn != nil:
		s.turn.interrupted = true
	}
	s.answer(a, d)
	return nil
}

const uiAnswer = "extension_ui_response"

// answer lets the call go on or not: the gate takes one word, and after a colon
// what the model is to hear.
func (s *session) answer(a ask, d agent.PermissionDecision) {
	word := "deny"
	switch d.Verdict {
	case agent.Allow, agent.AllowSession:
		s.post(uiResponse{Type: uiAnswer, ID: a.request, Value: "allow"})
		return
	case agent.Abort:
		word = "abort"
	}
	s.post(uiResponse{Type: uiAnswer, ID: a.request, Value: word + ": " + cmp.Or(d.Reason, "denied")})
}

// maxTitle bounds the one line that stands for a call, in bytes.
const maxTitle = 200

// editTools do nothing but change files.
var editTools = []string{"edit", "write"}

func (a ask) permission(dir string) agent.Permission {
	p := agent.Permission{CallID: a.CallID, Tool: a.Tool, Input: a.Input, Dir: dir, Edit: slices.Contains(editTools, a.Tool)}
	if path, ok := a.member("path"); ok && path != "" {
		p.Paths = []string{path}
	}
	command, _ := a.member("command")
	path, _ := a.member("path")
	what := cmp.Or(command, path)
	if what == "" && !bytes.Equal(a.Input, []byte("{}")) {
		what = string(a.Input)
	}
	what, _, more := strings.Cut(what, "\n")
	if more {
		what += " ..."
	}
	p.Title = provider.Clip(strings.TrimSpace(a.Tool+" "+what), maxTitle)
	return p
}

// member is a text of the input, under exactly that name, as pi reads it; ok is
// false where there is something else under it.
func (a ask) member(name string) (text string, ok bool) {
	var in map[string]json.RawMessage
	if json.Unmarshal(a.Input, &in) != nil {
		return "", false
	}
	value, there := in[name]
	return text, !there || json.Unmarshal(value, &text) == nil
}
