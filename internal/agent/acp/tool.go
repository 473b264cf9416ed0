package acp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// toolCall is a tool call in an update or a permission request, whole or in part.
type toolCall struct {
	ID        string          `json:"toolCallId"`
	Name      string          `json:"name"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Status    string          `json:"status"`
	Input     json.RawMessage `json:"rawInput"`
	Output    json.RawMessage `json:"rawOutput"`
	Content   json.RawMessage `json:"content"`
	Locations []location      `json:"locations"`
	Meta      struct {
		Claude struct {
			ToolName string `json:"toolName"`
		} `json:"claudeCode"`
	} `json:"_meta"`
}

type location struct {
	Path string `json:"path"`
}

// isBlank reports whether v, an object or a list, holds nothing.
func isBlank(v json.RawMessage) bool {
	switch string(bytes.TrimSpace(v)) {
	case "", "null", "{}", "[]":
		return true
	}
	return false
}

// inputOrSummary returns the input of the tool or, if the agent does not report it, its summary.
func (c toolCall) inputOrSummary() json.RawMessage {
	if !isBlank(c.Input) {
		return c.Input
	}
	return c.summary()
}

// summary returns everything that the agent shows of the call, because a decision must tell one call from another.
func (c toolCall) summary() json.RawMessage {
	shown := struct {
		Title     string          `json:"title,omitempty"`
		Kind      string          `json:"kind,omitempty"`
		Content   json.RawMessage `json:"content,omitempty"`
		Locations []location      `json:"locations,omitempty"`
		Input     json.RawMessage `json:"rawInput,omitempty"`
	}{Title: c.Title, Kind: c.Kind, Locations: c.Locations}
	if !isBlank(c.Content) {
		shown.Content = c.Content
	}
	if !isBlank(c.Input) {
		shown.Input = c.Input
	}
	b, err := json.Marshal(shown)
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

// inputAsked returns the input of the call that a request is about. A request may omit what the agent reported of the call
// before, and an input that was reported before may be incomplete.
func (t *tool) inputAsked(request toolCall) json.RawMessage {
	if !isBlank(request.Input) {
		return request.Input
	}
	return t.summary()
}

// touchedPaths returns the sorted paths of the files that the call is about.
func (c toolCall) touchedPaths() []string {
	var diffs []location
	decodeLenient(c.Content, &diffs)
	var paths []string
	for _, l := range slices.Concat(c.Locations, diffs) {
		if l.Path != "" {
			paths = append(paths, l.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// outputText returns the result of the tool: its text if there is one, otherwise
// its JSON.
func (c toolCall) outputText() string {
	var text string
	if json.Unmarshal(c.Output, &text) == nil && text != "" {
		return text
	}
	var list []struct {
		Content struct{ Type, Text string } `json:"content"`
	}
	decodeLenient(c.Content, &list)
	var texts []string
	for _, item := range list {
		if item.Content.Type == "text" {
			texts = append(texts, item.Content.Text)
		}
	}
	switch {
	case len(texts) > 0:
		return strings.Join(texts, "\n")
	case !isBlank(c.Output):
		return string(c.Output)
	case !isBlank(c.Content):
		return string(c.Content)
	}
	return ""
}

// tool is one tool call of a turn: the members known so far, and the reported ones.
type tool struct {
	toolCall
	told, ended bool
	denial      string // why we denied it
}

// mergeCall adds the newer members of c.
func (t *tool) mergeCall(c toolCall) {
	for _, text := range []struct {
		to   *string
		from string
	}{
		{&t.ID, c.ID}, {&t.Name, c.Name}, {&t.Title, c.Title}, {&t.Kind, c.Kind}, {&t.Status, c.Status},
		{&t.Meta.Claude.ToolName, c.Meta.Claude.ToolName},
	} {
		if text.from != "" {
			*text.to = text.from
		}
	}
	for _, value := range []struct{ to, from *json.RawMessage }{{&t.Input, &c.Input}, {&t.Content, &c.Content}} {
		if !isBlank(*value.from) {
			*value.to = *value.from
		}
	}
	if len(c.Locations) > 0 {
		t.Locations = c.Locations
	}
}

// toolName returns the tool's name, or a substitute (CLIENT.md, 2.3).
func (t *tool) toolName(h habits) string {
	prefix, _, ok := strings.Cut(t.ID, "__")
	switch {
	case t.Name != "":
		return t.Name
	case t.Meta.Claude.ToolName != "":
		return t.Meta.Claude.ToolName
	case h.prefixes && ok:
		return prefix
	case t.Kind != "":
		return t.Kind
	}
	return "other" // the protocol's default for the kind
}

// toolOf returns the call with that id; the caller holds the lock.
func (s *session) toolOf(c toolCall) *tool {
	t := s.turn.calls[c.ID]
	if t == nil {
		t = &tool{}
		s.turn.calls[c.ID] = t
		s.turn.message.divided = true
	}
	t.mergeCall(c)
	return t
}

// takeToolCall handles an update of a tool call. The input of a pending call may
// still be incomplete: that is the meaning of pending in the protocol. The caller
// holds the lock.
func (s *session) takeToolCall(raw json.RawMessage) bool {
	var c toolCall
	if !decodeLenient(raw, &c) || c.ID == "" {
		return false
	}
	t := s.toolOf(c)
	switch ended := t.Status == "completed" || t.Status == "failed"; {
	case t.ended:
	case ended:
		s.emitToolUse(t, t.inputOrSummary())
		t.ended = true
		s.events.Put(agent.ToolResult{CallID: t.ID, Output: c.outputText(), Error: t.Status == "failed"})
	case t.Status == "in_progress" && !isBlank(t.Input) && !t.told:
		s.emitToolUse(t, t.inputOrSummary())
	default:
		s.events.Put(agent.Notice{Name: "tool_call_update", Data: raw})
	}
	return true
}

// emitToolUse reports a call once; the caller holds the lock.
func (s *session) emitToolUse(t *tool, input json.RawMessage) {
	if t.told {
		return
	}
	t.told = true
	s.events.Put(agent.ToolUse{CallID: t.ID, Tool: t.toolName(s.habits), Input: input})
}

// endDenied reports a result for each denied call that has none from the agent;
// the caller holds the lock.
func (s *session) endDenied() {
	for _, t := range s.turn.denied {
		if !t.ended {
			t.ended = true
			s.events.Put(agent.ToolResult{CallID: t.ID, Output: t.denial, Error: true})
		}
	}
}
