package pi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/display"
)

// gateRequest is a call that waits at the gate (CLIENT.md, 3).
type gateRequest struct {
	request string // the id of the request that asks for it

	Gate   int             `json:"gate"`
	Tool   string          `json:"toolName"`
	CallID string          `json:"toolCallId"`
	Input  json.RawMessage `json:"input"`
}

// gateRequests holds the calls that wait for a decision, by their ids.
type gateRequests map[string]gateRequest

func (w gateRequests) takeBack(callID string) bool {
	_, ok := w[callID]
	delete(w, callID)
	return ok
}

func (w gateRequests) clearWaiting() []string {
	ids := slices.Sorted(maps.Keys(w))
	clear(w)
	return ids
}

// gateKey is the key of the status by which the gate reports that it is shut.
const gateKey = "ratchet-gate"

// takeRequest handles a request of an extension. It cancels the questions of all
// extensions except the gate: they have no person to answer them, and pi must not
// wait for that.
func (s *session) takeRequest(line []byte) bool {
	r := decodeLenient[uiRequest](line)
	switch {
	case r.Method == "setStatus" && r.Key == gateKey:
		s.gateShut = true
		return true
	case r.Method == "select" && s.takeGateRequest(r):
		return true
	case slices.Contains([]string{"select", "confirm", "input", "editor"}, r.Method):
		s.postFrame(uiResponse{Type: uiAnswer, ID: r.ID, Cancelled: true})
	}
	s.Queue.Put(agent.Notice{Name: "extension_ui_request", Data: line, Stall: true})
	return true
}

// takeGateRequest handles a question of the gate, which asks about every call. It
// answers the questions that need no person.
func (s *session) takeGateRequest(r uiRequest) bool {
	a := decodeLenient[gateRequest]([]byte(r.Title))
	if a.Gate != 1 || a.Tool == "" {
		return false
	}
	a.request = r.ID
	if _, taken := s.requests[a.CallID]; taken || a.CallID == "" {
		a.CallID = r.ID
	}
	s.emitToolUse(agent.ToolUse{CallID: a.CallID, Tool: a.Tool, Input: a.Input})
	verdict, reason := s.rules.judgeCall(a)
	if verdict != "" {
		s.answerRequest(a, agent.PermissionDecision{Verdict: verdict, Reason: reason})
		return true
	}
	s.requests[a.CallID] = a
	p := a.toPermission(s.o.Dir)
	p.Reason = reason
	s.Queue.Put(p)
	return true
}

func (s *session) Decide(ctx context.Context, d agent.PermissionDecision) error {
	if err := d.Check(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.requests[d.CallID]
	if !ok {
		return agent.ErrNotPending
	}
	if !s.Child.Alive() {
		return agent.ErrGone
	}
	delete(s.requests, d.CallID)
	switch {
	case d.Verdict == agent.AllowSession:
		s.rules.allowForSession(a)
	case d.Verdict == agent.Abort && s.turn != nil:
		s.turn.interrupted = true
	}
	s.answerRequest(a, d)
	return nil
}

const uiAnswer = "extension_ui_response"

// answerRequest allows or denies the call. The gate takes one word, followed by a
// colon and the text for the model.
func (s *session) answerRequest(a gateRequest, d agent.PermissionDecision) {
	word := "deny"
	switch d.Verdict {
	case agent.Allow, agent.AllowSession:
		s.postFrame(uiResponse{Type: uiAnswer, ID: a.request, Value: "allow"})
		return
	case agent.Abort:
		word = "abort"
	}
	s.postFrame(uiResponse{Type: uiAnswer, ID: a.request, Value: word + ": " + cmp.Or(d.Reason, "denied")})
}

// maxTitle bounds the title of a call, in bytes.
const maxTitle = 200

// editTools do nothing but change files.
var editTools = []string{"edit", "write"}

func (a gateRequest) toPermission(dir string) agent.Permission {
	p := agent.Permission{CallID: a.CallID, Tool: a.Tool, Input: a.Input, Dir: dir, Edit: slices.Contains(editTools, a.Tool)}
	if path, ok := a.inputString("path"); ok && path != "" {
		p.Paths = []string{path}
	}
	command, _ := a.inputString("command")
	path, _ := a.inputString("path")
	what := cmp.Or(command, path)
	if what == "" && !bytes.Equal(a.Input, []byte("{}")) {
		what = string(a.Input)
	}
	what, _, more := strings.Cut(what, "\n")
	if more {
		what += " ..."
	}
	p.Title = display.Clip(strings.TrimSpace(a.Tool+" "+what), maxTitle)
	return p
}

// inputString returns a text of the input under exactly that name, as pi reads it.
// It returns false if the value under the name is not a text.
func (a gateRequest) inputString(name string) (text string, ok bool) {
	var in map[string]json.RawMessage
	if json.Unmarshal(a.Input, &in) != nil {
		return "", false
	}
	value, there := in[name]
	return text, !there || json.Unmarshal(value, &text) == nil
}
