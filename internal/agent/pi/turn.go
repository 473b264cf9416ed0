package pi

import (
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// turn is what is known of the turn under way.
type turn struct {
	prompt, state, stats string // the ids of its commands

	since       time.Time
	accepted    bool // pi has taken the prompt
	begun       bool // pi works on it
	interrupted bool // by us
	ended       chan struct{}
	steering    steering
	rest        rest

	said          said
	text          string          // of the last message that has some
	told          map[string]bool // the calls of tools
	stop, failure string          // how the last message ended

	tokens agent.Tokens
	cost   float64 // in dollars
	priced bool
	used   int // of the window, by the last message

	end   *agent.Turn // once it has settled
	limit *time.Timer // until when the end waits for the state of the window
}

func newTurn(n int) *turn {
	return &turn{
		prompt: fmt.Sprintf("prompt-%d", n), state: fmt.Sprintf("state-%d", n), stats: fmt.Sprintf("stats-%d", n),
		since: time.Now(), ended: make(chan struct{}), told: map[string]bool{}, steering: steering{asked: map[string]chan response{}}, rest: newRest(n),
	}
}

// spend adds the usage of one request to a model, and says whether there was
// any.
func (t *turn) spend(u usage) bool {
	now := u.tokens()
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

// status says how the turn ended, and why. Pi calls an abort of a call an error
// of the next message (docs/contracts/pi.md, 3): what it ended with counts less than that
// we interrupted it.
func (t *turn) status() (agent.TurnStatus, error) {
	switch {
	case t.interrupted, t.stop == "aborted":
		return agent.Interrupted, nil
	case t.stop == "error":
		return agent.Failed, classify(t.failure)
	case t.stop == "", t.stop == "stop", t.stop == "toolUse":
		return agent.Completed, nil
	case t.stop == "length":
		return agent.Failed, failed(provider.Unknown, true, "the limit of tokens of an answer was reached")
	}
	return agent.Failed, failed(provider.Unknown, true, "the turn ended for a reason that is not known: %s", t.stop)
}

// settle ends a turn, unless it has ended. Pi reckons by itself how full its
// window is: the end waits for that, for a while.
func (s *session) settle(t *turn) {
	if t.end != nil {
		return
	}
	t.rest.end()
	status, err := t.status()
	t.end = &agent.Turn{
		Status: status, Err: err, Text: t.text, Tokens: t.tokens, Took: time.Since(t.since),
		Context: agent.Context{Used: t.used, Total: s.model.Window},
	}
	if t.priced {
		price := run.Dollars(t.cost)
		t.end.Cost = &price
	}
	s.withdraw()
	if !t.begun {
		s.conclude(t, stats{})
		return
	}
	s.post(command{ID: t.stats, Type: "get_session_stats"})
	t.limit = time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turn == t {
			s.conclude(t, stats{})
		}
	})
}

// conclude tells the end of a turn that has settled.
func (s *session) conclude(t *turn, now stats) {
	if now.Context.Window > 0 {
		s.model.Window = now.Context.Window
		t.end.Context = agent.Context{Used: now.Context.Tokens, Total: s.model.Window}
	}
	s.leave(t)
	s.queue.Put(*t.end)
}

// leave makes room for the next turn.
func (s *session) leave(t *turn) {
	if t.limit != nil {
		t.limit.Stop()
	}
	t.rest.end()
	s.turn = nil
	close(t.ended)
}

// withdraw tells of the permissions that wait no longer.
func (s *session) withdraw() {
	for _, callID := range s.asks.clear() {
		s.queue.Put(agent.Withdrawn{CallID: callID})
	}
}

// finish tells the end of pi. A turn that had settled before ended before.
func (s *session) finish(e agent.Exit, unexpected bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.withdraw()
	switch t := s.turn; {
	case t != nil && t.end != nil:
		s.conclude(t, stats{})
	case t != nil:
		s.leave(t)
	}
	if unexpected {
		s.queue.Close(e)
		return
	}
	s.queue.Close(nil)
}
