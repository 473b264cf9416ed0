package claude

import (
	"encoding/json"
	"errors"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// takeFrame turns one line of the client into events. A frame without a better
// event becomes Raw: unknown frames never fail anything
// (CLIENT.md, 5). A line that is not JSON is ignored.
func (s *session) takeFrame(line []byte) {
	var h frameHead
	if _, broken := errors.AsType[*json.SyntaxError](json.Unmarshal(line, &h)); broken {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := false
	switch h.Type {
	case "control_response", "control_request", "control_cancel_request":
		known = s.takeControl(h.Type, line)
	case "system":
		known = s.takeSystem(h.Subtype, line)
	case "assistant":
		known = s.takeAssistant(line)
	case "user":
		known = s.takeReplay(line) || s.takeResults(line)
	case "result":
		known = s.takeResult(line)
	case "rate_limit_event":
		known = s.takeRateLimit(line)
	}
	if !known {
		s.Queue.Put(agent.Raw{Frame: line})
	}
}

func (s *session) takeControl(kind string, line []byte) bool {
	var c controlFrame
	if json.Unmarshal(line, &c) != nil {
		return false
	}
	switch kind {
	case "control_response":
		s.takeResponse(c.Response)
	case "control_request":
		return s.takeRequest(c)
	default:
		if callID, ok := s.permissions.takeBack(c.RequestID); ok {
			s.Queue.Put(agent.Withdrawn{CallID: callID})
		}
	}
	return true
}

func (s *session) takeSystem(name string, line []byte) bool {
	if name == "init" {
		return s.takeInit(line)
	}
	if name == "" {
		return false
	}
	// A call that keeps failing shows as silence and retries (CLIENT.md, 9).
	s.Queue.Put(agent.Notice{Name: name, Data: line, Stall: name == "api_retry"})
	return true
}

// takeInit begins a turn. The client loses an interrupt that came while the
// message was still queued, so it is repeated.
func (s *session) takeInit(line []byte) bool {
	var f initFrame
	if json.Unmarshal(line, &f) != nil {
		return false
	}
	s.meter.model = f.Model
	s.emitStarted(s.id.confirmID(f.SessionID))
	if s.turn != nil && s.turn.interrupted {
		s.repeatInterrupt()
	}
	return true
}

func (s *session) emitStarted(e *agent.Started) {
	if e != nil {
		s.Queue.Put(*e)
	}
}

// takeAssistant reports the texts and calls of the assistant. One message comes
// in several frames, each with blocks of its own. Of a sub-agent's calls only
// those that ask for a permission are reported, by their requests.
func (s *session) takeAssistant(line []byte) bool {
	f := parseMessage(line)
	if s.turn == nil || f.Parent != "" {
		return false
	}
	if f.Message.Model == synthetic {
		s.turn.failure = f.Error
		return false
	}
	known := false
	for _, b := range f.Message.Content {
		switch {
		case b.Type == "text" && b.Text != "":
			s.turn.addText(f.Message.ID, b.Text)
			s.Queue.Put(agent.Text{Text: b.Text})
			known = true
		case b.Type == "tool_use":
			s.emitToolUse(agent.ToolUse{CallID: b.ID, Tool: b.Name, Input: b.Input})
			known = true
		}
	}
	if s.turn.addUsage(f.Message.ID, f.Message.Usage) {
		s.meter.last, s.meter.fresh, s.meter.warned = f.Message.Usage, true, false
		s.Queue.Put(agent.UsageUpdate{Tokens: s.turn.tokensSoFar(), Context: s.meter.windowFill()})
	}
	return known
}

// emitToolUse reports a call of the current turn once.
func (s *session) emitToolUse(u agent.ToolUse) {
	if s.turn.told[u.CallID] {
		return
	}
	s.turn.told[u.CallID] = true
	s.Queue.Put(u)
}

// takeResults reports the results of the calls that were reported.
func (s *session) takeResults(line []byte) bool {
	f := parseMessage(line)
	if s.turn == nil || f.Replay || f.Synthetic {
		return false
	}
	known := false
	for _, b := range f.Message.Content {
		if b.Type == "tool_result" && s.turn.told[b.ToolUseID] {
			s.Queue.Put(agent.ToolResult{CallID: b.ToolUseID, Output: b.Content.plainText(), Error: b.IsError})
			known = true
		}
	}
	return known
}
