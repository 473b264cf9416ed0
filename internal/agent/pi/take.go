package pi

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// take turns one line of pi into events. What has no better event is Raw:
// unknown frames never fail anything. A line that is no JSON is nothing.
func (s *session) take(line []byte) {
	var head struct {
		Type string `json:"type"`
	}
	if _, broken := errors.AsType[*json.SyntaxError](json.Unmarshal(line, &head)); broken {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := false
	switch head.Type {
	case "response":
		known = s.takeResponse(read[response](line))
	case "extension_ui_request":
		known = s.takeRequest(line)
	case "agent_start", "agent_settled", "message_update", "message_end", "tool_execution_start", "tool_execution_end":
		known = s.turn != nil && s.takeTurn(head.Type, line)
	default:
		known = s.takeNotice(head.Type, line)
	}
	if head.Type == "agent_settled" {
		s.settles = true
	}
	if !known {
		s.queue.Put(agent.Raw{Frame: line})
	}
}

// read reads what it can: what is of another shape is left out.
func read[F any](line []byte) F {
	var f F
	_ = json.Unmarshal(line, &f)
	return f
}

// notices are the frames that are told by their names. Those that say that a
// request is to be repeated look like progress, and are none; those that are
// told without their data repeat what was told, or will be.
var notices = map[string]struct{ stall, bare bool }{
	"turn_start":                        {bare: true},
	"turn_end":                          {bare: true},
	"agent_end":                         {bare: true},
	"message_start":                     {bare: true},
	"tool_execution_update":             {bare: true},
	"auto_retry_start":                  {stall: true},
	"auto_retry_end":                    {},
	"summarization_retry_scheduled":     {stall: true},
	"summarization_retry_attempt_start": {stall: true},
	"summarization_retry_finished":      {},
	"compaction_start":                  {},
	"compaction_end":                    {},
	"entry_appended":                    {},
	"extension_error":                   {},
	"queue_update":                      {stall: true},
	"session_info_changed":              {stall: true},
	"thinking_level_changed":            {stall: true},
}

func (s *session) takeNotice(name string, line []byte) bool {
	how, ok := notices[name]
	if !ok {
		return false
	}
	n := agent.Notice{Name: name, Data: line, Stall: how.stall}
	if how.bare {
		n.Data = nil
	}
	s.queue.Put(n)
	if t := s.turn; t != nil {
		switch t.goesOn(name); name {
		case "compaction_end":
			t.spend(read[compactionEnd](line).Result.Usage)
		case "agent_end":
			s.rests(t)
		}
	}
	return true
}

// takeResponse takes the answer to a command of ours.
func (s *session) takeResponse(r response) bool {
	if waits := s.calls[r.ID]; waits != nil {
		delete(s.calls, r.ID)
		waits <- r
		return true
	}
	t := s.turn
	if strings.HasPrefix(r.ID, restID) {
		s.takeRest(t, r)
		return true
	}
	if t == nil {
		return r.ID == "abort" || r.ID == clearing
	}
	switch {
	case r.ID == t.prompt:
		s.accepted(t, r)
	case t.steering.asked[r.ID] != nil:
		s.takeSteered(t, r)
	case r.ID == clearing:
		s.takeQueue(t, r)
	case r.ID == t.state:
		// What an extension of the user's took for itself begins no turn.
		if r.Success && !t.begun && !read[state](r.Data).Running {
			s.settle(t)
		}
	case r.ID == t.stats && t.end != nil:
		s.conclude(t, read[stats](r.Data))
	default:
		return r.ID == "abort"
	}
	return true
}

// accepted takes the answer to a prompt, which says only that there is a turn.
func (s *session) accepted(t *turn, r response) {
	if !r.Success {
		t.stop, t.failure = "error", r.Error
		s.settle(t)
		return
	}
	t.accepted = true
	s.post(command{ID: t.state, Type: "get_state"})
}

// takeTurn takes a frame of the turn under way.
func (s *session) takeTurn(kind string, line []byte) bool {
	t := s.turn
	switch kind {
	case "agent_start":
		t.rest.end()
		// An interrupt that came before pi had begun is lost on it.
		if t.begun = true; t.interrupted {
			s.abort()
		}
	case "agent_settled":
		if !t.begun && !t.accepted {
			return false // of a turn that an extension of the user's began
		}
		s.settled(t)
	case "message_update":
		return s.takeUpdate(t, read[update](line))
	case "message_end":
		s.takeMessage(t, read[messageEnd](line))
	case "tool_execution_start":
		f := read[toolFrame](line)
		s.tellCall(agent.ToolUse{CallID: f.CallID, Tool: f.Tool, Input: f.Args})
	case "tool_execution_end":
		s.takeResult(t, read[toolFrame](line))
	}
	return true
}

// takeUpdate takes a piece. Thoughts and the pieces of calls are not told, but
// that there are some.
func (s *session) takeUpdate(t *turn, u update) bool {
	if u.Event.Type != "text_delta" {
		return u.Event.Type == "text_start" || u.Event.Type == "text_end"
	}
	s.say(t.said.delta(u.Event.Delta))
	return true
}

func (s *session) say(text string) {
	if text != "" {
		s.queue.Put(agent.Text{Text: text})
	}
}

// takeMessage takes a whole message. A tool that has asked a model tells in its
// result what that used.
func (s *session) takeMessage(t *turn, m messageEnd) {
	if m.Message.Role == "toolResult" {
		t.spend(m.Message.Usage)
	}
	if m.Message.Role != "assistant" {
		return
	}
	t.stop, t.failure = m.Message.Stop, m.Message.Failure
	text := m.Message.Content.said()
	s.say(t.said.whole(text, t.stop == "error"))
	if text != "" {
		t.text = text
	}
	if u := m.Message.Usage; t.spend(u) {
		t.used = u.Total
		s.queue.Put(agent.Usage{Tokens: t.tokens, Context: agent.Context{Used: t.used, Total: s.model.Window}})
	}
}

// tellCall tells a call of the turn under way once. It begins before the gate
// asks about it.
func (s *session) tellCall(u agent.ToolUse) {
	if s.turn != nil && !s.turn.told[u.CallID] {
		s.turn.told[u.CallID] = true
		s.queue.Put(u)
	}
}

// takeResult takes the end of a call. One that still waited was taken back, by
// an interrupt.
func (s *session) takeResult(t *turn, f toolFrame) {
	if s.asks.drop(f.CallID) {
		s.queue.Put(agent.Withdrawn{CallID: f.CallID})
	}
	if t.told[f.CallID] {
		s.queue.Put(agent.ToolResult{CallID: f.CallID, Output: f.Result.Content.shown(), Error: f.Error})
	}
}
