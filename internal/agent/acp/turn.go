package acp

import (
	"encoding/json"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// turn is one prompt and its results so far.
type turn struct {
	sent        chan struct{} // closed once the prompt is written
	ended       chan struct{} // closed when the turn ends
	interrupted bool          // by us
	limit       *time.Timer   // ends an interrupted turn that does not end by itself
	message     message
	calls       map[string]*tool
	denied      []*tool // calls that we denied
	broken      bool    // reported by the bridge to Codex beside an answer that does not say so
	aside       string  // the last text outside of a message: a warning, or an error
}

func newTurn() *turn {
	return &turn{sent: make(chan struct{}), ended: make(chan struct{}), calls: map[string]*tool{}}
}

// markSent marks a turn as sent; a second call does nothing.
func (t *turn) markSent() {
	select {
	case <-t.sent:
	default:
		close(t.sent)
	}
}

// markEnded marks a turn as ended.
func (t *turn) markEnded() {
	if t.limit != nil {
		t.limit.Stop()
	}
	close(t.ended)
}

// message is the last message of the assistant. Agents that name their messages
// put warnings without a name beside them; with other agents a tool call divides
// two messages.
type message struct {
	id      string
	divided bool
	text    strings.Builder
}

func (m *message) addText(id, text string) {
	switch {
	case id != m.id && id != "", id == "" && m.id == "" && m.divided:
		m.text.Reset()
	case id == "" && m.id != "":
		return
	}
	m.id, m.divided = id, false
	m.text.WriteString(text)
}

// update is one update; its content depends on its kind.
type update struct {
	Kind      string          `json:"sessionUpdate"`
	MessageID string          `json:"messageId"`
	Content   json.RawMessage `json:"content"`
	Meta      struct {
		Codex struct {
			Status struct {
				Type string `json:"type"`
			} `json:"threadStatus"`
		} `json:"codex"`
	} `json:"_meta"`
}

// handleUpdate handles an update and reports whether it was for us; the caller
// holds the lock.
func (s *session) handleUpdate(u update, ours bool, raw json.RawMessage) bool {
	if s.turn != nil && ours && u.Meta.Codex.Status.Type != "" {
		s.turn.broken = u.Meta.Codex.Status.Type == "systemError"
	}
	switch u.Kind {
	case "available_commands_update", "session_info_update", "config_option_update", "current_mode_update":
		s.events.Put(agent.Notice{Name: u.Kind, Data: raw, Stall: true})
		return true
	}
	if s.turn == nil || !ours {
		return false
	}
	switch u.Kind {
	case "agent_message_chunk":
		return s.takeText(u)
	case "tool_call", "tool_call_update":
		return s.takeToolCall(raw)
	case "agent_thought_chunk", "plan":
		s.events.Put(agent.Notice{Name: u.Kind, Data: raw})
		return true
	}
	return false
}

func (s *session) takeText(u update) bool {
	var block struct{ Type, Text string }
	if !decodeLenient(u.Content, &block) || block.Type != "text" {
		return false
	}
	s.endDenied()
	if s.habits.names && u.MessageID == "" {
		s.turn.aside = block.Text
		s.events.Put(agent.Notice{Name: "warning", Data: u.Content})
		return true
	}
	s.turn.message.addText(u.MessageID, block.Text)
	s.events.Put(agent.Text{Text: block.Text})
	return true
}

// answer is the answer to a prompt.
type answer struct {
	StopReason string  `json:"stopReason"`
	Usage      *tokens `json:"usage"`
	Meta       struct {
		Quota struct {
			Count quota `json:"token_count"`
		} `json:"quota"`
	} `json:"_meta"`
}

// finishTurn ends a turn, unless it has ended already.
func (s *session) finishTurn(t *turn, a answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != t {
		return
	}
	cancelAll(s.withdrawRequests("the turn ended"))
	s.endDenied()
	t.markEnded()
	s.turn = nil
	status, err := t.turnResult(a, err)
	s.events.Put(agent.Turn{
		Status: status, Err: err,
		Text: t.message.text.String(), Tokens: a.turnTokens(), Cost: s.bill.billTurn(),
		Context: s.context,
	})
}

// turnResult returns how the turn ended. An interrupt of ours counts more than the
// answer, because agents answer an interrupted prompt in any way. An agent that
// reports cancelled without an interrupt of ours took a denial for one, as
// codex-acp does (CLIENT.md, 2.3).
func (t *turn) turnResult(a answer, err error) (agent.TurnStatus, error) {
	failed := func(code failure.Code, retriable bool, text string) (agent.TurnStatus, error) {
		return agent.Failed, newError(code, retriable, text)
	}
	switch reason := sdk.StopReason(a.StopReason); {
	case t.interrupted:
		return agent.Interrupted, nil
	case err != nil:
		return agent.Failed, classifyError(err)
	case reason == sdk.StopReasonEndTurn && t.broken:
		if e := classifyText(t.aside); e != nil {
			return agent.Failed, e
		}
		return failed(failure.BadRequest, false, t.aside)
	case reason == sdk.StopReasonEndTurn, reason == sdk.StopReasonCancelled && len(t.denied) > 0:
		return agent.Completed, nil
	case reason == sdk.StopReasonCancelled:
		return failed(failure.Unknown, true, "the agent cancelled the turn by itself")
	case reason == sdk.StopReasonRefusal:
		return failed(failure.BadRequest, false, "the agent refused to continue")
	case reason == sdk.StopReasonMaxTokens:
		return failed(failure.Unknown, true, "the answer reached its token limit")
	case reason == sdk.StopReasonMaxTurnRequests:
		return failed(failure.Unknown, true, "the turn reached its request limit")
	default:
		return failed(failure.Unknown, true, "the turn ended for an unknown reason: "+a.StopReason)
	}
}
