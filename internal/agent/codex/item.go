package codex

import (
	"encoding/json"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// item is one element of a turn: a message, or a tool call
// (CLIENT.md, 3). It has the members of all types that we read.
type item struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	ClientID string `json:"clientId"` // of a user message
	Text     string `json:"text"`
	Status   string `json:"status"`

	Command  string  `json:"command"`
	Dir      string  `json:"cwd"`
	Output   *string `json:"aggregatedOutput"`
	ExitCode *int    `json:"exitCode"`

	Changes changes `json:"changes"`

	Server    string            `json:"server"`
	Tool      string            `json:"tool"`
	Namespace string            `json:"namespace"`
	Arguments json.RawMessage   `json:"arguments"`
	Result    json.RawMessage   `json:"result"`
	Problem   json.RawMessage   `json:"error"`
	Content   []json.RawMessage `json:"contentItems"`
	Success   *bool             `json:"success"`

	Query  string          `json:"query"`
	Action json.RawMessage `json:"action"`
	Path   string          `json:"path"`
	Prompt string          `json:"prompt"`
}

// change is what a patch does to one file.
type change struct {
	Path string `json:"path"`
	Kind struct {
		Type string `json:"type"`
		To   string `json:"move_path,omitempty"`
	} `json:"kind"`
	Diff string `json:"diff"`
}

type changes []change

// touchedPaths returns the paths of the files that are touched.
func (c changes) touchedPaths() []string {
	var paths []string
	for _, one := range c {
		paths = append(paths, one.Path)
		if one.Kind.To != "" {
			paths = append(paths, one.Kind.To)
		}
	}
	return paths
}

// The inputs of tool calls. A permission request for a call has the same input,
// and more members if more is known.
type (
	shellInput struct {
		Command     json.RawMessage `json:"command,omitempty"`
		Dir         string          `json:"cwd,omitempty"`
		Network     json.RawMessage `json:"network,omitempty"`
		Permissions json.RawMessage `json:"permissions,omitempty"`
	}
	patchInput struct {
		Changes any    `json:"changes"`
		Root    string `json:"grantRoot,omitempty"`
		Item    string `json:"itemId,omitempty"` // set if nothing else tells one patch from another
	}
)

// The names of the client's tools.
const (
	shell      = "shell"
	applyPatch = "apply_patch"
)

// toolCalls holds the types of items that are tool calls
// (CLIENT.md, 12). A late type names its input only when the item
// is complete.
var toolCalls = map[string]struct {
	use    func(i item) (tool string, input any)
	result func(i item) (output string, failed bool)
	late   bool
}{
	"commandExecution": {use: func(i item) (string, any) {
		return shell, shellInput{Command: jsonString(i.Command), Dir: i.Dir}
	}, result: shellResult},
	"fileChange": {use: func(i item) (string, any) {
		return applyPatch, patchInput{Changes: i.Changes}
	}, result: patchResult},
	"mcpToolCall": {use: func(i item) (string, any) {
		return i.Server + "." + i.Tool, i.Arguments
	}, result: mcpResult},
	"dynamicToolCall": {use: func(i item) (string, any) {
		return strings.TrimPrefix(i.Namespace+"."+i.Tool, "."), i.Arguments
	}, result: func(i item) (string, bool) {
		return contentText(i.Content), i.Status == "failed" || i.Success != nil && !*i.Success
	}},
	"collabAgentToolCall": {use: func(i item) (string, any) {
		return i.Tool, object{"prompt": i.Prompt}
	}, result: func(i item) (string, bool) { return "", i.Status == "failed" }},
	"webSearch": {late: true, use: func(i item) (string, any) {
		return "web_search", object{"query": i.Query, "action": i.Action}
	}, result: noResult},
	"imageView": {use: func(i item) (string, any) {
		return "view_image", object{"path": i.Path}
	}, result: noResult},
}

func noResult(item) (string, bool) { return "", false }

func shellResult(i item) (string, bool) {
	failed := wasRefused(i) || i.ExitCode != nil && *i.ExitCode != 0
	if i.Output != nil {
		return *i.Output, failed
	}
	if failed {
		return i.Status, true
	}
	return "", false
}

func patchResult(i item) (string, bool) {
	if wasRefused(i) {
		return i.Status, true
	}
	text, _ := encodeJSON(i.Changes) // all values of this type encode
	return string(text), false
}

func wasRefused(i item) bool { return i.Status == "failed" || i.Status == "declined" }

func mcpResult(i item) (string, bool) {
	var problem struct {
		Message string `json:"message"`
	}
	var result struct {
		Content []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(i.Problem, &problem) == nil && problem.Message != "" {
		return problem.Message, true
	}
	json.Unmarshal(i.Result, &result) // members of another type hold no text
	return contentText(result.Content), i.Status == "failed"
}

// contentText returns the text of content blocks. A block of another type is
// included as it is.
func contentText(blocks []json.RawMessage) string {
	var all []string
	for _, b := range blocks {
		var block struct {
			Text *string `json:"text"`
		}
		if json.Unmarshal(b, &block) == nil && block.Text != nil {
			all = append(all, *block.Text)
		} else {
			all = append(all, string(b))
		}
	}
	return strings.Join(all, "\n")
}

// jsonString returns s as a JSON string.
func jsonString(s string) json.RawMessage {
	raw, _ := encodeJSON(s) // a string always encodes
	return raw
}

// openCalls holds the items of the tool calls that were reported and have no
// result yet.
type openCalls map[string]item

// emitToolUse reports a call once.
func (s *session) emitToolUse(i item, tool string, input any) {
	if _, told := s.calls[i.ID]; told {
		return
	}
	s.calls[i.ID] = i
	raw, err := encodeJSON(input)
	if err != nil {
		return
	}
	s.emitEvent(agent.ToolUse{CallID: i.ID, Tool: tool, Input: raw})
}

// emitItemStarted and emitItemCompleted report an item of our turn. They return
// false if there was nothing to report.
func (s *session) emitItemStarted(i item) bool {
	call, ok := toolCalls[i.Type]
	if !ok {
		return i.Type == "agentMessage"
	}
	if !call.late {
		tool, input := call.use(i)
		s.emitToolUse(i, tool, input)
	}
	return true
}

func (s *session) emitItemCompleted(t *turn, i item, raw json.RawMessage) bool {
	switch i.Type {
	case "agentMessage":
		s.emitText(t.messages.completeMessage(i.ID, i.Text))
		return true
	case "contextCompaction", "plan":
		s.emitEvent(agent.Notice{Name: i.Type, Data: raw})
		return true
	}
	call, ok := toolCalls[i.Type]
	if !ok {
		return false
	}
	tool, input := call.use(i)
	s.emitToolUse(i, tool, input)
	delete(s.calls, i.ID)
	output, failed := call.result(i)
	s.emitEvent(agent.ToolResult{CallID: i.ID, Output: output, Error: failed})
	return true
}

func (s *session) emitText(piece string) {
	if piece != "" {
		s.emitEvent(agent.Text{Text: piece})
	}
}
