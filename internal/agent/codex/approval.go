package codex

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// approval is a request that waits for a decision, and the form of its answer.
type approval struct {
	id    json.RawMessage // in the form that it has on the wire
	turn  string
	reply func(agent.PermissionDecision) any
	ends  bool // the client itself ends the turn when the request is aborted
}

func (a *approval) answerFrame(d agent.PermissionDecision) object {
	return object{"id": a.id, "result": a.reply(d)}
}

// approvalRequest is a request of any family. It has the members of all families.
type approvalRequest struct {
	TurnID string `json:"turnId"`
	ItemID string `json:"itemId"`
	Reason string `json:"reason"`
	Dir    string `json:"cwd"`

	Command json.RawMessage `json:"command"`
	Actions []struct {
		Command string `json:"command"`
	} `json:"commandActions"`
	Network *struct {
		Host     string `json:"host"`
		Protocol string `json:"protocol"`
	} `json:"networkApprovalContext"`
	Additional json.RawMessage `json:"additionalPermissions"`

	Root string `json:"grantRoot"`

	Permissions json.RawMessage `json:"permissions"`
	Questions   []question      `json:"questions"`
	elicitation
}

// elicitation is the request of a tool's server, without its ids.
type elicitation struct {
	Server      string          `json:"serverName,omitempty"`
	Mode        string          `json:"mode,omitempty"`
	Message     string          `json:"message,omitempty"`
	Schema      json.RawMessage `json:"requestedSchema,omitempty"`
	Meta        json.RawMessage `json:"_meta,omitempty"`
	URL         string          `json:"url,omitempty"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
}

type question struct {
	ID       string `json:"id"`
	Header   string `json:"header,omitempty"`
	Question string `json:"question"`
	Options  any    `json:"options,omitempty"`
}

// staysInside reports whether the request is for a command that wants no more than a sandbox gives. A
// command that wants more has a reason, which the model gave.
func (r approvalRequest) staysInside(method string) bool {
	return method == commandRequest && r.Reason == "" && r.Network == nil && dropNull(r.Additional) == nil
}

const commandRequest = "item/commandExecution/requestApproval"

// requestFamily is a kind of request for a decision (CLIENT.md, 13).
type requestFamily struct {
	// toPermission makes the permission event; ok is false if the request lacks a
	// member that this needs.
	toPermission func(r approvalRequest, of openCalls) (p agent.Permission, input any, ok bool)
	toResult     func(r approvalRequest, d agent.PermissionDecision) any
	ends         bool
}

var families = map[string]requestFamily{
	commandRequest:                     {askCommand, sayDecision, true},
	"item/fileChange/requestApproval":  {askPatch, sayDecision, true},
	"mcpServer/elicitation/request":    {askElicitation, sayElicitation, false},
	"item/permissions/requestApproval": {askPermissions, sayPermissions, false},
	"item/tool/requestUserInput":       {askQuestions, sayQuestions, false},
}

// refusals holds the answers to those requests that are no approvals and have a
// refusal of their own form. All others get an error.
var refusals = map[string]any{
	"item/tool/call": object{"contentItems": []object{}, "success": false},
}

// decisions holds the client's words for a decision on a command or a patch.
var decisions = map[agent.PermissionVerdict]string{
	agent.Allow: "accept", agent.AllowSession: "acceptForSession", agent.Deny: "decline", agent.Abort: "cancel",
}

func sayDecision(_ approvalRequest, d agent.PermissionDecision) any {
	return object{"decision": decisions[d.Verdict]}
}

func askCommand(r approvalRequest, _ openCalls) (agent.Permission, any, bool) {
	p := agent.Permission{Tool: shell}
	if len(r.Actions) == 1 {
		p.Title = oneLine(r.Actions[0].Command)
	}
	input := shellInput{Command: dropNull(r.Command), Dir: r.Dir, Permissions: dropNull(r.Additional)}
	if r.Network != nil {
		p.Title = "reach " + r.Network.Host
		input.Network, _ = encodeJSON(r.Network) // strings always encode
	}
	return p, input, r.ItemID != ""
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// dropNull returns raw, or nil if raw is null.
func dropNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// askPatch takes the files from the item, because the request does not name
// them. If the item is not known, the input names this call alone, so that no
// decision on it fits another call.
func askPatch(r approvalRequest, of openCalls) (agent.Permission, any, bool) {
	input := patchInput{Root: r.Root}
	i, known := of[r.ItemID]
	known = known && i.Type == "fileChange"
	if known {
		input.Changes = i.Changes
	} else {
		input.Item = r.ItemID
	}
	return agent.Permission{Tool: applyPatch, Paths: i.Changes.touchedPaths(), Edit: known && r.Root == ""}, input, r.ItemID != ""
}

func askElicitation(r approvalRequest, _ openCalls) (agent.Permission, any, bool) {
	return agent.Permission{Tool: r.Server, Title: oneLine(cmp.Or(r.Message, r.Title))}, r.elicitation, r.Server != ""
}

// sayElicitation allows for the session if the request offers that; otherwise
// AllowSession allows once.
func sayElicitation(r approvalRequest, d agent.PermissionDecision) any {
	switch d.Verdict {
	case agent.Deny:
		return object{"action": "decline"}
	case agent.Abort:
		return object{"action": "cancel"}
	}
	var meta struct {
		Persist []string `json:"persist"`
	}
	json.Unmarshal(r.Meta, &meta) // members of another type offer nothing
	if d.Verdict == agent.AllowSession && slices.Contains(meta.Persist, "session") {
		return object{"action": "accept", "_meta": object{"persist": "session"}}
	}
	return object{"action": "accept"}
}

func askPermissions(r approvalRequest, _ openCalls) (agent.Permission, any, bool) {
	var wanted struct {
		Files struct {
			Write []string `json:"write"`
		} `json:"fileSystem"`
	}
	ok := json.Unmarshal(r.Permissions, &wanted) == nil && r.ItemID != ""
	input := object{"permissions": r.Permissions, "cwd": r.Dir}
	return agent.Permission{Tool: "request_permissions", Paths: wanted.Files.Write}, input, ok
}

// sayPermissions grants everything that was requested, or nothing.
func sayPermissions(r approvalRequest, d agent.PermissionDecision) any {
	switch d.Verdict {
	case agent.Allow:
		return object{"permissions": r.Permissions, "scope": "turn"}
	case agent.AllowSession:
		return object{"permissions": r.Permissions, "scope": "session"}
	}
	return object{"permissions": object{}, "scope": "turn"}
}

func askQuestions(r approvalRequest, _ openCalls) (agent.Permission, any, bool) {
	if len(r.Questions) == 0 {
		return agent.Permission{}, nil, false
	}
	return agent.Permission{Tool: "request_user_input", Title: oneLine(r.Questions[0].Question)},
		object{"questions": r.Questions}, r.ItemID != ""
}

// sayQuestions answers each question with the reason of a decision that allows;
// otherwise it answers none.
func sayQuestions(r approvalRequest, d agent.PermissionDecision) any {
	answers := object{}
	if allowed := d.Verdict == agent.Allow || d.Verdict == agent.AllowSession; allowed && d.Reason != "" {
		for _, q := range r.Questions {
			answers[q.ID] = object{"answers": []string{d.Reason}}
		}
	}
	return object{"answers": answers}
}
