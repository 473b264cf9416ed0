package codex

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// runningTurn is the turn that runs on the thread, ours or not.
type runningTurn struct {
	id     string
	opened bool   // a user message was seen
	opener string // the id that the first user message carries
}

// turn is the turn that one Send began. It is ours if its first user message is
// ours: a turn/start that meets a running turn succeeds, and the message joins
// that turn (CLIENT.md, 1, point 1).
type turn struct {
	message string // the id that our message carries
	id      string // empty until it is known
	proven  bool   // its first user message is ours
	joined  bool   // our message joined the turn of another client
	// delivery says that the message may not disturb another's turn that it has joined.
	delivery bool
	ended    chan struct{}

	unwanted    bool // to be interrupted
	interrupted bool // the client was asked to interrupt it

	messages partialMessages
	share    turnShare
	problem  json.RawMessage // the last error that the client reported
}

func newTurn(message string) *turn {
	return &turn{message: message, messages: partialMessages{text: map[string]*strings.Builder{}}, ended: make(chan struct{})}
}

// wireTurn is a turn in the client's form.
type wireTurn struct {
	ID     string            `json:"id"`
	Status string            `json:"status"`
	Error  json.RawMessage   `json:"error"`
	Items  []json.RawMessage `json:"items"`
	// View says how much of the items it has; empty: all.
	View string `json:"itemsView"`
	// Root is the id of the turn that it belongs to: normally its own. It is not in every report.
	Root      json.RawMessage `json:"rootTurnId"`
	Completed *float64        `json:"completedAt"`
}

// turnBegun handles the answer to the turn/start of t.
func (s *session) turnBegun(t *turn, raw json.RawMessage, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != t || errors.Is(err, agent.ErrGone) { // the Exit event reports the end
		return
	}
	var answer struct {
		Turn wireTurn `json:"turn"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err == nil && answer.Turn.ID == "" {
		err = badRequest("codex started a turn without naming it")
	}
	if err != nil {
		s.endTurn(t, agent.Failed, turnStartError(err))
		return
	}
	s.nameTurn(t, answer.Turn.ID)
}

// nameTurn takes the id that the client gave the turn of t.
func (s *session) nameTurn(t *turn, id string) {
	t.id = id
	if s.unmatched.ID == t.id { // it ended before it was known as ours
		s.finishTurn(t, s.unmatched)
		return
	}
	s.matchTurn()
}

// matchTurn decides whether the running turn is ours. It sends an interrupt that
// waited for our turn to run: before turn/started the client refuses to interrupt
// a turn, whatever it answered to turn/start.
func (s *session) matchTurn() {
	t := s.turn
	if t == nil || s.running.id == "" || t.id != s.running.id {
		return
	}
	if s.running.opened {
		t.proven = s.running.opener == t.message
		t.joined = !t.proven
	}
	if (t.unwanted || t.joined && !t.delivery) && !t.interrupted {
		t.interrupted = true
		s.sendInterrupt(t, interruptPause)
	}
}

// An interrupt that comes too early is sent again after a pause, which doubles
// each time.
const (
	interruptPause    = 20 * time.Millisecond
	maxInterruptPause = time.Second
)

func (s *session) interruptTurn(t *turn) {
	t.unwanted = true
	s.matchTurn()
}

func (s *session) sendInterrupt(t *turn, pause time.Duration) {
	params := object{"threadId": s.thread, "turnId": t.id}
	// The answer of a client that has ended is not needed: its end ends the turn.
	s.conn.beginCall(&pendingCall{method: "turn/interrupt", params: params, done: func(_ json.RawMessage, err error) {
		var e *rpcError
		if !errors.As(err, &e) || !e.says("no active turn") {
			return
		}
		time.AfterFunc(pause, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.turn == t {
				s.sendInterrupt(t, min(2*pause, maxInterruptPause))
			}
		})
	}})
}

// finishTurn ends t with the client's report of it.
func (s *session) finishTurn(t *turn, w wireTurn) {
	for _, raw := range w.Items {
		var i item
		if json.Unmarshal(raw, &i) == nil && i.Type == "agentMessage" {
			t.messages.lastMessage = i.Text
		}
	}
	status, err := s.turnOutcome(t, w)
	s.endTurn(t, status, err)
}

// turnOutcome fails closed: a turn that is not ours, or that has a status that we
// do not know, is no success (CLIENT.md, 1, points 1 and 4).
func (s *session) turnOutcome(t *turn, w wireTurn) (agent.TurnStatus, error) {
	switch {
	case t.joined:
		return agent.Failed, unknownOutcome("the message joined a turn that someone else had started")
	case w.Status == "interrupted":
		return agent.Interrupted, nil
	case w.Status == "failed":
		problem := parseTurnError(w.Error)
		if problem == nil {
			problem = parseTurnError(t.problem)
		}
		return agent.Failed, problem.providerError(s.limits, time.Now())
	case w.Status != "completed":
		return agent.Failed, unknownOutcome("codex ended the turn with the unknown status %q", w.Status)
	case !t.proven:
		return agent.Failed, unknownOutcome("codex completed a turn that never showed our message")
	}
	return agent.Completed, nil
}

// endTurn reports the end of a turn and withdraws its waiting requests.
func (s *session) endTurn(t *turn, status agent.TurnStatus, err error) {
	for id, p := range s.approvals.pending {
		if t.id != "" && p.turn == t.id {
			s.withdrawApproval(id)
		}
	}
	s.emitEvent(agent.Turn{
		Status: status, Text: t.messages.lastMessage, Tokens: t.share.tokens, Context: t.share.context,
		Err: err,
	})
	s.turn, s.calls = nil, openCalls{}
	close(t.ended)
}
