package pi

import (
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// turn is the state of the current turn.
type turn struct {
	prompt, state, stats string // the ids of its commands

	id       string // of the turn, for its watchers
	marker   string // of a delivery; else empty
	messages int    // of users, that pi has taken up
	taken    chan struct{}
	isTaken  bool

	accepted    bool // pi has taken the prompt
	begun       bool // pi works on it
	interrupted bool // by us
	ended       chan struct{}
	steering    steering

	message       partialMessage
	text          string          // of the last message that has a text
	told          map[string]bool // the tool calls that were reported
	stop, failure string          // how the last message ended

	tokens agent.Tokens
	cost   float64 // in dollars
	priced bool
	used   int // of the window, by the last message

	end   *agent.Turn // set once the turn has settled
	limit *time.Timer // bounds the wait of the end for the state of the window
}

func newTurn(n int) *turn {
	return &turn{
		prompt: fmt.Sprintf("prompt-%d", n), state: fmt.Sprintf("state-%d", n), stats: fmt.Sprintf("stats-%d", n),
		ended: make(chan struct{}), told: map[string]bool{}, steering: steering{asked: map[string]chan response{}},
	}
}

// addUsage adds the usage of one request to a model, and reports whether there was
// any.
func (t *turn) addUsage(u wireUsage) bool {
	now := u.agentTokens()
	if now == (agent.Tokens{}) {
		return false
	}
	t.tokens.Input += now.Input
	t.tokens.Output += now.Output
	t.tokens.Cached += now.Cached
	t.cost += u.Cost.Total
	t.priced = true
	return true
}

// turnStatus returns how the turn ended, and why. An interrupt of ours counts more
// than the last message, because pi reports an aborted call as an error of the
// next message (CLIENT.md, 3).
func (t *turn) turnStatus() (agent.TurnStatus, error) {
	switch {
	case t.interrupted, t.stop == "aborted":
		return agent.Interrupted, nil
	case t.stop == "error":
		return agent.Failed, classifyError(t.failure)
	case t.stop == "", t.stop == "stop", t.stop == "toolUse":
		return agent.Completed, nil
	case t.stop == "length":
		return agent.Failed, newError(failure.Unknown, true, "the answer reached its token limit")
	}
	return agent.Failed, newError(failure.Unknown, true, "the turn ended for an unknown reason: %s", t.stop)
}

// endTurn ends a turn, unless it has ended. Pi itself computes the fill of its
// window: the end of the turn waits for that, for a limited time.
func (s *session) endTurn(t *turn) {
	if t.end != nil {
		return
	}
	status, err := t.turnStatus()
	t.end = &agent.Turn{
		Status: status, Err: err, Text: t.text, Tokens: t.tokens,
		Context: agent.Context{Used: t.used, Total: s.model.Window},
	}
	if t.priced {
		price := agent.Price(t.cost)
		t.end.Cost = &price
	}
	s.withdrawRequests()
	if !t.begun {
		s.concludeTurn(t, stats{})
		return
	}
	s.postFrame(command{ID: t.stats, Type: "get_session_stats"})
	t.limit = time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turn == t {
			s.concludeTurn(t, stats{})
		}
	})
}

// concludeTurn reports the end of a turn that has settled.
func (s *session) concludeTurn(t *turn, now stats) {
	if now.Context.Window > 0 {
		s.model.Window = now.Context.Window
		t.end.Context = agent.Context{Used: now.Context.Tokens, Total: s.model.Window}
	}
	s.releaseTurn(t)
	s.closeOwned(t)
	s.Queue.Put(*t.end)
}

// releaseTurn makes room for the next turn.
func (s *session) releaseTurn(t *turn) {
	if t.limit != nil {
		t.limit.Stop()
	}
	s.turn = nil
	close(t.ended)
}

// withdrawRequests reports that the waiting requests no longer wait.
func (s *session) withdrawRequests() {
	for _, callID := range s.requests.clearWaiting() {
		s.Queue.Put(agent.Withdrawn{CallID: callID})
	}
}

// finishSession reports the end of pi. A turn that had settled before is reported
// as ended before it.
func (s *session) finishSession(e agent.Exit, unexpected bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.withdrawRequests()
	switch t := s.turn; {
	case t != nil && t.end != nil:
		s.concludeTurn(t, stats{})
	case t != nil:
		s.releaseTurn(t)
	}
	if unexpected {
		s.Queue.Close(e)
		return
	}
	s.Queue.Close(nil)
}
