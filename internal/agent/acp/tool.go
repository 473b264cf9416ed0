package acp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// toolCall is a tool call as an update or a permission request has it, whole or
// in part.
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

// blank says whether v, an object or a list, holds nothing.
func blank(v json.RawMessage) bool {
	switch string(bytes.TrimSpace(v)) {
	case "", "null", "{}", "[]":
		return true
	}
	return false
}

// input is what the tool gets. Where the agent does not say, it is all that the
// agent shows of the call: what is decided on must tell one call from another.
func (c toolCall) input() json.RawMessage {
	if !blank(c.Input) {
		return c.Input
	}
	shown := struct {
		Title     string          `json:"title,omitempty"`
		Kind      string          `json:"kind,omitempty"`
		Content   json.RawMessage `json:"content,omitempty"`
		Locations []location      `json:"locations,omitempty"`
	}{Title: c.Title, Kind: c.Kind, Locations: c.Locations}
	if !blank(c.Content) {
		shown.Content = c.Content
	}
	b, err := json.Marshal(shown)
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

// paths are the files that the call is about, sorted.
func (c toolCall) paths() []string {
	var diffs []location
	read(c.Content, &diffs)
	var paths []string
	for _, l := range slices.Concat(c.Locations, diffs) {
		if l.Path != "" {
			paths = append(paths, l.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// output is what the tool gave: its text where there is one, else the JSON of
// what there is.
func (c toolCall) output() string {
	var text string
	if json.Unmarshal(c.Output, &text) == nil && text != "" {
		return text
	}
	var list []struct {
		Content struct{ Type, Text string } `json:"content"`
	}
	read(c.Content, &list)
	var texts []string
	for _, item := range list {
		if item.Content.Type == "text" {
			texts = append(texts, item.Content.Text)
		}
	}
	switch {
	case len(texts) > 0:
		return strings.Join(texts, "\n")
	case !blank(c.Output):
		return string(c.Output)
	case !blank(c.Content):
		return string(c.Content)
	}
	return ""
}

// tool is one tool call of a turn: what is known of it, and what was told.
type tool struct {
	toolCall
	told, ended bool
	denial      string // why we denied it
}

// learn adds what is newer.
func (t *tool) learn(c toolCall) {
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
		if !blank(*value.from) {
			*value.to = *value.from
		}
	}
	if len(c.Locations) > 0 {
		t.Locations = c.Locations
	}
}

// name is the tool's name, or what stands for it (docs/contracts/acp.md, 2.3).
func (t *tool) name(h habits) string {
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

// tool is the call of that id; the caller holds the lock.
func (s *session) tool(c toolCall) *tool {
	t := s.turn.calls[c.ID]
	if t == nil {
		t = &tool{}
		s.turn.calls[c.ID] = t
		s.turn.message.divided = true
	}
	t.learn(c)
	return t
}

// work takes an update of a tool call. The input of a call that is pending may
// still be on its way: that is what pending means in the protocol. The caller
// holds the lock.
func (s *session) work(raw json.RawMessage) bool {
	var c toolCall
	if !read(raw, &c) || c.ID == "" {
		return false
	}
	t := s.tool(c)
	switch ended := t.Status == "completed" || t.Status == "failed"; {
	case t.ended:
	case ended:
		s.tell(t, t.input())
		t.ended = true
		s.events.Put(agent.ToolResult{CallID: t.ID, Output: c.output(), Error: t.Status == "failed"})
	case t.Status == "in_progress" && !blank(t.Input) && !t.told:
		s.tell(t, t.input())
	default:
		s.events.Put(agent.Notice{Name: "tool_call_update", Data: raw})
	}
	return true
}

// tell tells of a call, once; the caller holds the lock.
func (s *session) tell(t *tool, input json.RawMessage) {
	if t.told {
		return
	}
	t.told = true
	s.events.Put(agent.ToolUse{CallID: t.ID, Tool: t.name(s.habits), Input: input})
}

// settleDenied gives the denied calls the results that the agent did not; the
// caller holds the lock.
func (s *session) settleDenied() {
	for _, t := range s.turn.denied {
		if !t.ended {
			t.ended = true
			s.events.Put(agent.ToolResult{CallID: t.ID, Output: t.denial, Error: true})
		}
	}
}
