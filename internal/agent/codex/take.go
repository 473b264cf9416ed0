package codex

import (
	"encoding/json"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// note is a notification. What is more than a word is decoded by who reads it,
// so that nothing is lost for a member that it does not need.
type note struct {
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

// notifications are those that we act upon; each says whether it had anything
// to act upon.
var notifications = map[string]func(s *session, n note) bool{
	"turn/started":               (*session).turnStarted,
	"turn/completed":             (*session).turnCompleted,
	"item/started":               (*session).started,
	"item/completed":             (*session).completed,
	"item/agentMessage/delta":    (*session).delta,
	"thread/tokenUsage/updated":  (*session).usage,
	"account/rateLimits/updated": (*session).limited,
	"serverRequest/resolved":     (*session).resolved,
	"error":                      (*session).problem,
	"thread/started":             func(*session, note) bool { return true }, // the answer to our request tells
	"thread/status/changed":      (*session).statusChanged,
	"warning":                    notice("warning"),
	"guardianWarning":            notice("warning"),
	"configWarning":              notice("warning"),
	"deprecationNotice":          notice("deprecation"),
	"model/rerouted":             notice("model rerouted"),
	"turn/plan/updated":          notice("plan"),
}

func notice(name string) func(*session, note) bool {
	return func(s *session, n note) bool {
		s.tell(agent.Notice{Name: name, Data: n.params})
		return true
	}
}

// take handles a frame that is no answer. What nothing else is made of is told
// raw.
func (s *session) take(f frame, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.hasID() {
		s.ask(f)
		return
	}
	n := note{params: f.Params}
	act := notifications[f.Method]
	if act == nil || json.Unmarshal(f.Params, &n) != nil || !act(s, n) {
		s.tell(agent.Raw{Frame: line})
	}
}

// here says whether n is about our thread, and not about one of an agent that
// ours has started.
func (s *session) here(n note) bool { return n.ThreadID == s.thread }

// ours is the turn that n is about when that is ours beyond doubt.
func (s *session) ours(n note) *turn {
	if t := s.turn; t != nil && t.proven && s.here(n) && n.TurnID == t.id {
		return t
	}
	return nil
}

func (s *session) turnStarted(n note) bool {
	var w wireTurn
	if !s.here(n) || json.Unmarshal(n.Turn, &w) != nil {
		return false
	}
	if s.running.id != w.ID {
		s.running = running{id: w.ID}
	}
	s.look()
	return true
}

func (s *session) turnCompleted(n note) bool {
	var w wireTurn
	if !s.here(n) || json.Unmarshal(n.Turn, &w) != nil {
		return false
	}
	if s.running.id == w.ID {
		s.running = running{}
	}
	if t := s.turn; t != nil && t.id == w.ID {
		s.finishTurn(t, w)
		return true
	}
	s.strange = w
	return false
}

// statusChanged ends what runs and is not ours: the client may begin a turn
// under one id and end it under another (docs/contracts/codex.md, 5).
func (s *session) statusChanged(n note) bool {
	var status struct {
		Type string `json:"type"`
	}
	if !s.here(n) || json.Unmarshal(n.Status, &status) != nil {
		return false
	}
	if ours := s.turn != nil && s.turn.id == s.running.id; !ours && status.Type != "active" {
		s.running = running{}
	}
	return true
}

func (s *session) started(n note) bool {
	var i item
	if json.Unmarshal(n.Item, &i) != nil {
		return false
	}
	if i.Type == "userMessage" && s.here(n) {
		s.userMessage(n.TurnID, i.ClientID)
		return true
	}
	return s.ours(n) != nil && s.itemStarted(i)
}

// userMessage is the proof of whose turn it is.
func (s *session) userMessage(turn, message string) {
	if s.running.id != turn {
		s.running = running{id: turn}
	}
	if !s.running.opened {
		s.running.opened, s.running.opener = true, message
	}
	if t := s.turn; t != nil && message == t.message {
		t.id = turn
	}
	s.look()
}

func (s *session) completed(n note) bool {
	var i item
	if json.Unmarshal(n.Item, &i) != nil {
		return false
	}
	if i.Type == "userMessage" {
		return s.here(n)
	}
	t := s.ours(n)
	return t != nil && s.itemCompleted(t, i, n.Item)
}

func (s *session) delta(n note) bool {
	t := s.ours(n)
	if t == nil {
		return false
	}
	t.said.delta(n.ItemID, n.Delta)
	s.say(n.Delta)
	return true
}

func (s *session) usage(n note) bool {
	var u tokenUsage
	if !s.here(n) || json.Unmarshal(n.Usage, &u) != nil {
		return false
	}
	s.count(u, n.TurnID)
	return true
}

func (s *session) limited(n note) bool {
	var r rateLimits
	if json.Unmarshal(n.Limits, &r) != nil {
		return false
	}
	s.limits.note(r)
	return true
}

// problem notes why a turn fails, or what the client tries again: it goes on in
// either case (docs/contracts/codex.md, 10).
func (s *session) problem(n note) bool {
	name := "error"
	if n.WillRetry {
		name = "retry"
	}
	if t := s.ours(n); t != nil {
		t.problem = n.Error
	}
	s.tell(agent.Notice{Name: name, Data: n.params, Stall: true})
	return true
}
