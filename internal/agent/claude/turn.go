package claude

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// turn is the state of the current turn.
type turn struct {
	id       string // of its message
	delivery bool
	taken    chan struct{} // closed when the client has taken the message up
	isTaken  bool

	prompt      int  // length of the prompt in characters
	interrupted bool // by us
	ended       chan struct{}

	message string          // the id of the assistant's last message
	text    strings.Builder // of that message
	told    map[string]bool // the tool calls that were reported
	failure string          // the client's word for the error

	usage  wireUsage // of the last message
	usedBy string    // the id of that message
	before agent.Tokens
}

func newTurn(prompt string) *turn {
	return &turn{
		prompt: len([]rune(prompt)), ended: make(chan struct{}), told: map[string]bool{},
	}
}

func (t *turn) addText(message, text string) {
	if message != t.message {
		t.text.Reset()
		t.message = message
	}
	t.text.WriteString(text)
}

// addUsage takes the usage of a message, which all frames of the message carry.
// It reports whether the usage is new.
func (t *turn) addUsage(message string, u wireUsage) bool {
	if u == (wireUsage{}) || message == t.usedBy && u == t.usage {
		return false
	}
	if message != t.usedBy {
		t.before = t.tokensSoFar()
		t.usedBy = message
	}
	t.usage = u
	return true
}

func (t *turn) tokensSoFar() agent.Tokens {
	now := t.usage.agentTokens()
	return agent.Tokens{
		Input: t.before.Input + now.Input, Output: t.before.Output + now.Output, Cached: t.before.Cached + now.Cached,
	}
}

// turnStatus returns how a turn ended (CLIENT.md, 5). The
// subtype does not help: it calls an error of the API a success.
func turnStatus(r resultFrame) agent.TurnStatus {
	switch {
	case strings.HasPrefix(r.Reason, "aborted_"):
		return agent.Interrupted
	case r.IsError:
		return agent.Failed
	}
	return agent.Completed
}

// takeResult ends the turn. A result outside a turn still has a price; before
// the session has started, it says why the start failed.
func (s *session) takeResult(line []byte) bool {
	var r resultFrame
	if err := json.Unmarshal(line, &r); err != nil {
		r = resultFrame{IsError: true, Errors: []string{"an unreadable result: " + err.Error()}}
	}
	s.meter.addResult(r)
	t := s.turn
	if t == nil {
		s.reportStart(greetResult{err: s.turnError(r, "")})
		return false
	}
	status := turnStatus(r)
	s.emitStarted(s.id.endTurn(status == agent.Completed))
	s.withdrawRequests()
	s.warnBudget(t)
	e := agent.Turn{
		Status: status, Text: t.text.String(), Tokens: cmp.Or(r.Usage.agentTokens(), t.tokensSoFar()), Cost: s.meter.billTurn(),
		Context: s.meter.windowFill(),
	}
	switch {
	case status == agent.Failed:
		e.Err = s.turnError(r, t.failure)
	case status == agent.Completed && e.Text == "":
		e.Text = r.Text
	}
	s.concludeTurn(t)
	s.owned.End(t.id, status)
	s.Queue.Put(agent.TurnClosed{ID: t.id, Status: string(status), At: time.Now()})
	s.Queue.Put(e)
	return true
}

func (s *session) concludeTurn(t *turn) {
	s.turn, s.lastEnd = nil, time.Now()
	close(t.ended)
}

// withdrawRequests reports that the waiting requests no longer wait.
func (s *session) withdrawRequests() {
	for _, callID := range s.permissions.clearWaiting() {
		s.Queue.Put(agent.Withdrawn{CallID: callID})
	}
}

// finishSession reports the end of the client: to the caller that waits for its
// start, and as the last event.
func (s *session) finishSession(e agent.Exit, unexpected bool) {
	s.reportStart(greetResult{err: startError(e)})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.withdrawRequests()
	t := s.turn
	if t != nil {
		s.concludeTurn(t)
	}
	if !unexpected {
		s.Queue.Close(nil)
		return
	}
	if t != nil && s.id.resumed && strings.Contains(e.Stderr, unknownSession) {
		s.Queue.Put(agent.Turn{Status: agent.Failed, Err: agent.ErrNoSession})
	}
	s.Queue.Close(e)
}
