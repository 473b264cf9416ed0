package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/display"
)

// permissionRequest is a tool call that waits for a permission
// (CLIENT.md, 6).
type permissionRequest struct {
	request string // the id of the request that asks for it

	Subtype     string          `json:"subtype"`
	Tool        string          `json:"tool_name"`
	CallID      string          `json:"tool_use_id"`
	Input       json.RawMessage `json:"input"`
	Description string          `json:"description"`
	Reason      string          `json:"decision_reason"`
	ReasonType  string          `json:"decision_reason_type"`
	Blocked     string          `json:"blocked_path"`
	Suggestions []suggestion    `json:"permission_suggestions"`
}

// suggestion is a change of the client's rules that would spare the next request.
type suggestion struct {
	Type     string `json:"type"`
	Behavior string `json:"behavior"`
	Rules    []struct {
		Tool    string `json:"toolName"`
		Content string `json:"ruleContent"`
	} `json:"rules"`
}

// permissions holds the calls that wait, by their ids, and the rules that the
// session allows.
type permissions struct {
	waiting map[string]permissionRequest
	allowed map[string]bool
}

// takeBack removes the call of a request that no longer waits.
func (w permissions) takeBack(request string) (callID string, ok bool) {
	for callID, a := range w.waiting {
		if a.request == request {
			delete(w.waiting, callID)
			return callID, true
		}
	}
	return "", false
}

func (w permissions) clearWaiting() []string {
	ids := slices.Sorted(maps.Keys(w.waiting))
	clear(w.waiting)
	return ids
}

func (w permissions) allowsCall(a permissionRequest) bool {
	rules := a.sessionRules()
	return len(rules) > 0 && !slices.ContainsFunc(rules, func(r string) bool { return !w.allowed[r] })
}

// sessionRules returns the rules that AllowSession covers for this call. They
// are the rules that the client itself would keep for it; a later call of the
// tool has to match all of them. If there are none, the rule is the tool's name,
// unless the client asks for a reason of its own, such as a file outside the
// working directory. Then there is no rule, and the next such call needs a
// permission again.
//
// The rules of a command say nothing of the files that it is redirected to, and
// of these the client names the first alone: "git add . >in 2>/out" asks as
// "git add . >in" does. So a call that names a file or a directory has its whole
// input as a further rule, and no other such call matches it.
//
// That is narrower than the client's own session scope. Its suggestions either
// go to a file of settings, or switch to a mode that allows every edit and many
// commands (CLIENT.md, 6).
func (a permissionRequest) sessionRules() []string {
	var rules []string
	named := a.Blocked != ""
	for _, s := range a.Suggestions {
		named = named || s.Type == "addDirectories"
		if s.Type != "addRules" || s.Behavior != "allow" {
			continue
		}
		for _, r := range s.Rules {
			rules = append(rules, a.Tool+" "+r.Tool+"("+r.Content+")")
		}
	}
	if len(rules) == 0 && len(a.Suggestions) > 0 && a.ReasonType == "" && a.Blocked == "" {
		return []string{a.Tool}
	}
	if len(rules) > 0 && named {
		rules = append(rules, a.Tool+" "+string(a.Input))
	}
	return rules
}

// takeRequest handles a request of the client. It refuses a request that is not
// about a permission, because the client must not wait for it.
func (s *session) takeRequest(c controlFrame) bool {
	a := permissionRequest{request: c.RequestID}
	_ = json.Unmarshal(c.Request, &a) // members of another type stay empty
	if a.Subtype != "can_use_tool" || a.Tool == "" {
		go s.writeFrame(controlFrame{Type: "control_response", Response: &controlResponse{
			Subtype: "error", RequestID: c.RequestID, Error: fmt.Sprintf("request %q is not supported", a.Subtype),
		}})
		return false
	}
	if _, taken := s.permissions.waiting[a.CallID]; taken || a.CallID == "" {
		a.CallID = c.RequestID
	}
	if s.turn != nil {
		s.emitToolUse(agent.ToolUse{CallID: a.CallID, Tool: a.Tool, Input: a.Input})
	}
	switch {
	case s.o.Sandbox == agent.ReadOnly:
		go s.answerRequest(a, agent.PermissionDecision{Verdict: agent.Deny, Reason: "this session may only read"})
	case s.permissions.allowsCall(a):
		go s.answerRequest(a, agent.PermissionDecision{Verdict: agent.Allow})
	default:
		s.permissions.waiting[a.CallID] = a
		s.Queue.Put(a.toPermission(s.o.Dir))
	}
	return true
}

func (s *session) Decide(ctx context.Context, d agent.PermissionDecision) error {
	if err := d.Check(ctx); err != nil {
		return err
	}
	a, err := s.resolveRequest(d)
	if err != nil {
		return err
	}
	return s.answerRequest(a, d)
}

func (s *session) resolveRequest(d agent.PermissionDecision) (permissionRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.permissions.waiting[d.CallID]
	if !ok {
		return permissionRequest{}, agent.ErrNotPending
	}
	delete(s.permissions.waiting, d.CallID)
	if d.Verdict == agent.AllowSession {
		for _, rule := range a.sessionRules() {
			s.permissions.allowed[rule] = true
		}
	}
	return a, nil
}

// permissionResult is a decision in the client's form
// (CLIENT.md, 6).
type permissionResult struct {
	Behavior  string          `json:"behavior"`
	Input     json.RawMessage `json:"updatedInput,omitempty"`
	Message   string          `json:"message,omitempty"`
	Interrupt bool            `json:"interrupt,omitempty"`
}

// answerRequest sends the decision to the client. An allowed call always gets
// its input back: some versions run nothing without it.
func (s *session) answerRequest(a permissionRequest, d agent.PermissionDecision) error {
	v := permissionResult{Behavior: "allow", Input: a.Input}
	if d.Verdict == agent.Deny || d.Verdict == agent.Abort {
		v = permissionResult{Behavior: "deny", Message: cmp.Or(d.Reason, "denied"), Interrupt: d.Verdict == agent.Abort}
	} else if len(a.Input) == 0 {
		v.Input = json.RawMessage("{}")
	}
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.writeFrame(controlFrame{Type: "control_response", Response: &controlResponse{Subtype: "success", RequestID: a.request, Response: body}})
}

// maxTitle bounds the title of a call, in bytes.
const maxTitle = 200

// editTools do nothing but change files.
var editTools = []string{"Write", "Edit", "MultiEdit", "NotebookEdit"}

func (a permissionRequest) toPermission(dir string) agent.Permission {
	in := a.textMembers()
	p := agent.Permission{
		CallID: a.CallID, Tool: a.Tool, Input: a.Input, Dir: dir,
		Reason: cmp.Or(a.Reason, a.ReasonType), Edit: slices.Contains(editTools, a.Tool),
	}
	for _, path := range []string{in["file_path"], in["notebook_path"]} {
		if path != "" {
			p.Paths = append(p.Paths, path)
		}
	}
	if len(p.Paths) == 0 && a.Blocked != "" {
		p.Paths = []string{a.Blocked}
	}
	// The model wrote the description of a command, so the command itself goes first.
	what, _, more := strings.Cut(cmp.Or(in["command"], in["file_path"], in["notebook_path"], in["url"], a.Description), "\n")
	if more {
		what += " ..."
	}
	p.Title = display.Clip(strings.TrimSpace(a.Tool+" "+what), maxTitle)
	return p
}

// textMembers returns the members of the input that are texts, by exactly their names, as the client reads them:
// decoding into a struct would also take FILE_PATH for file_path.
func (a permissionRequest) textMembers() map[string]string {
	var in map[string]json.RawMessage
	_ = json.Unmarshal(a.Input, &in) // other input has no members
	texts := map[string]string{}
	for name, value := range in {
		var text string
		if json.Unmarshal(value, &text) == nil {
			texts[name] = text
		}
	}
	return texts
}
