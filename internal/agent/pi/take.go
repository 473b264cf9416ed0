package pi

import (
	"encoding/json"
	"errors"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// takeFrame turns one line of pi into events. A frame without a better event
// becomes Raw: unknown frames never fail anything. A line that is not JSON is
// ignored.
func (s *session) takeFrame(line []byte) {
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
		known = s.takeResponse(decodeLenient[response](line))
	case "extension_ui_request":
		known = s.takeRequest(line)
	case "agent_start", "agent_settled", "message_update", "message_end", "tool_execution_start", "tool_execution_end":
		known = s.turn != nil && s.takeTurn(head.Type, line)
	default:
		known = s.takeNotice(head.Type, line)
	}
	if !known {
		s.Queue.Put(agent.Raw{Frame: line})
	}
}

// decodeLenient decodes a frame; members of another type stay empty.
func decodeLenient[F any](line []byte) F {
	var f F
	_ = json.Unmarshal(line, &f)
	return f
}

// notices are the frames that are reported by their names. A stall frame says that
// a request will be repeated: it looks like progress, and is none. A bare frame is
// reported without its data, which repeats other reports.
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
	s.Queue.Put(n)
	if t := s.turn; t != nil && name == "compaction_end" {
		t.addUsage(decodeLenient[compactionEnd](line).Result.Usage)
	}
	return true
}

// takeResponse handles the answer to a command of ours.
func (s *session) takeResponse(r response) bool {
	if waits := s.calls[r.ID]; waits != nil {
		delete(s.calls, r.ID)
		waits <- r
		return true
	}
	t := s.turn
	if t == nil {
		return r.ID == "abort" || r.ID == clearing
	}
	switch {
	case r.ID == t.prompt:
		s.takeAcceptance(t, r)
	case t.steering.asked[r.ID] != nil:
		s.takeSteered(t, r)
	case r.ID == clearing:
		s.takeQueue(t, r)
	case r.ID == t.state:
		// A prompt that an extension of the user took for itself begins no turn.
		if r.Success && !t.begun && !decodeLenient[state](r.Data).Running {
			s.endTurn(t)
		}
	case r.ID == t.stats && t.end != nil:
		s.concludeTurn(t, decodeLenient[stats](r.Data))
	default:
		return r.ID == "abort"
	}
	return true
}

// takeAcceptance handles the answer to a prompt, which says only that a turn exists.
func (s *session) takeAcceptance(t *turn, r response) {
	if !r.Success {
		t.stop, t.failure = "error", r.Error
		s.endTurn(t)
		return
	}
	t.accepted = true
	s.postFrame(command{ID: t.state, Type: "get_state"})
}

// takeTurn handles a frame of the current turn.
func (s *session) takeTurn(kind string, line []byte) bool {
	t := s.turn
	switch kind {
	case "agent_start":
		// Pi loses an interrupt that came before it had begun.
		if t.begun = true; t.interrupted {
			s.sendAbort()
		}
	case "agent_settled":
		if !t.begun && !t.accepted {
			return false // the frame belongs to a turn that an extension of the user began
		}
		s.endUnlessSteered(t)
	case "message_update":
		return s.takeUpdate(t, decodeLenient[update](line))
	case "message_end":
		s.takeMessage(t, decodeLenient[messageEnd](line))
	case "tool_execution_start":
		f := decodeLenient[toolFrame](line)
		s.emitToolUse(agent.ToolUse{CallID: f.CallID, Tool: f.Tool, Input: f.Args})
	case "tool_execution_end":
		s.takeResult(t, decodeLenient[toolFrame](line))
	}
	return true
}

// takeUpdate handles a piece. Thoughts and the pieces of calls are not reported,
// except that they exist.
func (s *session) takeUpdate(t *turn, u update) bool {
	if u.Event.Type != "text_delta" {
		return u.Event.Type == "text_start" || u.Event.Type == "text_end"
	}
	s.emitText(t.message.addPiece(u.Event.Delta))
	return true
}

func (s *session) emitText(text string) {
	if text != "" {
		s.Queue.Put(agent.Text{Text: text})
	}
}

// takeMessage handles a whole message. The result of a tool that has asked a model
// holds the usage of that.
func (s *session) takeMessage(t *turn, m messageEnd) {
	if m.Message.Role == "toolResult" {
		t.addUsage(m.Message.Usage)
	}
	if m.Message.Role == "user" {
		s.takeUserMessage(t, m.Message.Content.textOnly())
	}
	if m.Message.Role != "assistant" {
		return
	}
	t.stop, t.failure = m.Message.Stop, m.Message.Failure
	text := m.Message.Content.textOnly()
	s.emitText(t.message.completeMessage(text, t.stop == "error"))
	if text != "" {
		t.text = text
	}
	if u := m.Message.Usage; t.addUsage(u) {
		t.used = u.Total
		s.Queue.Put(agent.UsageUpdate{Tokens: t.tokens, Context: agent.Context{Used: t.used, Total: s.model.Window}})
	}
}

// emitToolUse reports a call of the current turn once. A call begins before the gate
// asks about it.
func (s *session) emitToolUse(u agent.ToolUse) {
	if s.turn != nil && !s.turn.told[u.CallID] {
		s.turn.told[u.CallID] = true
		s.Queue.Put(u)
	}
}

// takeResult handles the end of a call. A call that still waited was taken back by
// an interrupt.
func (s *session) takeResult(t *turn, f toolFrame) {
	if s.requests.takeBack(f.CallID) {
		s.Queue.Put(agent.Withdrawn{CallID: f.CallID})
	}
	if t.told[f.CallID] {
		s.Queue.Put(agent.ToolResult{CallID: f.CallID, Output: f.Result.Content.plainText(), Error: f.Error})
	}
}
