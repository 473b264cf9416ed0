package codex

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// notification is a notification of the client. Its structured members are
// decoded by their readers, so that a member that is not needed cannot spoil the
// rest.
type notification struct {
	ThreadID  string          `json:"threadId"`
	TurnID    string          `json:"turnId"`
	ItemID    string          `json:"itemId"`
	RequestID json.RawMessage `json:"requestId"`
	Delta     string          `json:"delta"`
	Turn      json.RawMessage `json:"turn"`
	Item      json.RawMessage `json:"item"`
	Usage     json.RawMessage `json:"tokenUsage"`
	Limits    json.RawMessage `json:"rateLimits"`
	Status    json.RawMessage `json:"status"`
	Error     json.RawMessage `json:"error"`
	WillRetry bool            `json:"willRetry"`

	params json.RawMessage
}

// notifications holds the handlers of the notifications that we act upon. Each
// returns false if it had nothing to act upon.
var notifications = map[string]func(s *session, n notification) bool{
	"turn/started":               (*session).onTurnStarted,
	"turn/completed":             (*session).onTurnCompleted,
	"item/started":               (*session).onItemStarted,
	"item/completed":             (*session).onItemCompleted,
	"item/agentMessage/delta":    (*session).onDelta,
	"thread/tokenUsage/updated":  (*session).onUsage,
	"account/rateLimits/updated": (*session).onRateLimits,
	"serverRequest/resolved":     (*session).onResolved,
	"error":                      (*session).onError,
	"thread/started":             func(*session, notification) bool { return true }, // the answer to our request has the same content
	"thread/status/changed":      (*session).onStatusChanged,
	"warning":                    noticeHandler("warning"),
	"guardianWarning":            noticeHandler("warning"),
	"configWarning":              noticeHandler("warning"),
	"deprecationNotice":          noticeHandler("deprecation"),
	"model/rerouted":             noticeHandler("model rerouted"),
	"turn/plan/updated":          noticeHandler("plan"),
}

func noticeHandler(name string) func(*session, notification) bool {
	return func(s *session, n notification) bool {
		s.emitEvent(agent.Notice{Name: name, Data: n.params})
		return true
	}
}

// takeFrame handles a frame that is no answer. It reports a frame that has no
// other event as Raw.
func (s *session) takeFrame(f frame, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.hasID() {
		s.takeRequest(f)
		return
	}
	n := notification{params: f.Params}
	act := notifications[f.Method]
	if act == nil || !decodeLenient(f.Params, &n) || !act(s, n) {
		s.emitEvent(agent.Raw{Frame: line})
	}
}

// decodeLenient decodes a value and leaves out members of an unexpected type, so that a turn whose figures cannot be read
// ends all the same. It reports whether there was a value.
func decodeLenient(raw json.RawMessage, to any) bool {
	err := json.Unmarshal(raw, to)
	_, odd := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || odd
}

// isOurThread reports whether n is about our thread, and not about the thread of
// an agent that ours has started.
func (s *session) isOurThread(n notification) bool { return n.ThreadID == s.thread }

// ourTurn returns the turn that n is about if it is ours beyond doubt.
func (s *session) ourTurn(n notification) *turn {
	if t := s.turn; t != nil && t.proven && s.isOurThread(n) && n.TurnID == t.id {
		return t
	}
	return nil
}

func (s *session) onTurnStarted(n notification) bool {
	var w wireTurn
	if !s.isOurThread(n) || !decodeLenient(n.Turn, &w) || w.ID == "" {
		return false
	}
	if s.running.id != w.ID {
		s.running = runningTurn{id: w.ID}
	}
	if s.view.openTurn(w) {
		s.emitEvent(agent.TurnOpened{ID: w.ID})
	}
	s.matchTurn()
	return true
}

func (s *session) onTurnCompleted(n notification) bool {
	var w wireTurn
	if !s.isOurThread(n) || !decodeLenient(n.Turn, &w) || w.ID == "" {
		return false
	}
	if s.running.id == w.ID {
		s.running = runningTurn{}
	}
	s.view.active = slices.DeleteFunc(s.view.active, func(t *turnView) bool { return t.ID == w.ID })
	s.emitEvent(agent.TurnClosed{ID: w.ID, Status: w.Status, At: time.Now().UTC()})
	if t := s.turn; t != nil && t.id == w.ID {
		s.finishTurn(t, w)
	} else {
		s.unmatched = w
	}
	return true
}

// onStatusChanged forgets a running turn that is not ours: the client may begin a
// turn under one id and end it under another (CLIENT.md, 5).
func (s *session) onStatusChanged(n notification) bool {
	var status threadStatus
	if !s.isOurThread(n) || json.Unmarshal(n.Status, &status) != nil {
		return false
	}
	if ours := s.turn != nil && s.turn.id == s.running.id; !ours && status.Type != "active" {
		s.running = runningTurn{}
	}
	s.view.setStatus(status)
	return true
}

func (s *session) onItemStarted(n notification) bool {
	var i item
	if json.Unmarshal(n.Item, &i) != nil {
		return false
	}
	if s.isOurThread(n) {
		s.view.trackedTurn(n.TurnID).addItem(i.Type)
	}
	if i.Type == "userMessage" && s.isOurThread(n) {
		s.emitEvent(agent.UserMessage{Turn: n.TurnID, Marker: i.ClientID, First: s.view.addMessage(n.TurnID)})
		s.noteUserMessage(n.TurnID, i.ClientID)
		return true
	}
	return s.ourTurn(n) != nil && s.emitItemStarted(i)
}

// noteUserMessage records the proof of whose turn it is.
func (s *session) noteUserMessage(turn, message string) {
	if s.running.id != turn {
		s.running = runningTurn{id: turn}
	}
	if !s.running.opened {
		s.running.opened, s.running.opener = true, message
	}
	if t := s.turn; t != nil && message == t.message {
		t.id = turn
	}
	s.matchTurn()
}

func (s *session) onItemCompleted(n notification) bool {
	var i item
	if json.Unmarshal(n.Item, &i) != nil {
		return false
	}
	if i.Type == "userMessage" {
		return s.isOurThread(n)
	}
	t := s.ourTurn(n)
	return t != nil && s.emitItemCompleted(t, i, n.Item)
}

func (s *session) onDelta(n notification) bool {
	t := s.ourTurn(n)
	if t == nil {
		return false
	}
	t.messages.addPiece(n.ItemID, n.Delta)
	s.emitText(n.Delta)
	return true
}

func (s *session) onUsage(n notification) bool {
	var u tokenUsage
	if !s.isOurThread(n) || json.Unmarshal(n.Usage, &u) != nil {
		return false
	}
	s.countUsage(u, n.TurnID)
	return true
}

func (s *session) onRateLimits(n notification) bool {
	var r rateLimits
	if json.Unmarshal(n.Limits, &r) != nil {
		return false
	}
	s.limits.noteLimits(r)
	return true
}

// onError records why a turn fails, or what the client tries again. The client
// continues in either case (CLIENT.md, 10).
func (s *session) onError(n notification) bool {
	name := "error"
	if n.WillRetry {
		name = "retry"
	}
	if t := s.ourTurn(n); t != nil {
		t.problem = n.Error
	}
	s.emitEvent(agent.Notice{Name: name, Data: n.params, Stall: true})
	return true
}
