package openclaw

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/display"
)

// readEvents reads until the connection ends, and then reports its end.
func (s *session) readEvents() {
	defer close(s.done)
	err := s.conn.serveFrames(s.handleEvent)
	s.work.Wait()
	s.withdrawAll()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = nil
	if s.stopped {
		s.queue.Close(nil)
		return
	}
	s.queue.Close(agent.Exit{Code: -1, Stderr: strings.TrimSpace(err.Error() + "\n" + s.farewell)})
}

// handleEvent reports an event of the gateway. It ignores events of other sessions,
// of other runs and of runs that have ended.
func (s *session) handleEvent(f frame) {
	switch f.Event {
	case "chat":
		var e chatEvent
		if t := s.turnOfPayload(f.Payload, &e, &e.Run); t != nil {
			s.handleChat(t, e, f.Payload)
		}
	case "agent":
		var e streamEvent
		if t := s.turnOfPayload(f.Payload, &e, &e.Run); t != nil {
			s.putEvent(t.streamUpdate(e, f.Payload))
		}
	case "exec.approval.requested":
		var a approval
		if t := s.currentTurn(); t != nil && json.Unmarshal(f.Payload, &a) == nil && a.isFor(s.ID(), t.run) {
			s.takeApproval(t, a)
		}
	case "exec.approval.resolved":
		var a approval
		if json.Unmarshal(f.Payload, &a) == nil {
			s.withdrawRequest(a.ID)
		}
	case "shutdown":
		s.noteShutdown(f.Payload)
	}
}

// turnOfPayload reads a payload, and returns the current turn if the payload is
// about it. Members of another type stay empty: a turn whose end says something odd
// ends all the same.
func (s *session) turnOfPayload(payload json.RawMessage, into any, run *string) *turn {
	t := s.currentTurn()
	if t == nil {
		return nil
	}
	err := json.Unmarshal(payload, into)
	if _, odd := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !odd || *run != t.run {
		return nil
	}
	return t
}

func (s *session) putEvent(e agent.Event) {
	if e != nil {
		s.queue.Put(e)
	}
}

func (s *session) handleChat(t *turn, e chatEvent, payload json.RawMessage) {
	o, ended := t.turnOutcome(e)
	if !ended {
		s.putEvent(t.chatUpdate(e, payload))
		return
	}
	if !s.markEnding(t) {
		return
	}
	if o.rest != "" {
		s.putEvent(agent.Text{Text: o.rest})
	}
	s.withdrawAll()
	s.work.Go(func() { s.finishTurn(t, o) })
}

// markEnding marks a turn whose run has ended, unless Send has taken it back.
func (s *session) markEnding(t *turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.ending = s.turn == t
	return t.ending
}

// finishTurn ends a turn once its figures are known. The next turn may begin as soon
// as the end of this one is reported.
func (s *session) finishTurn(t *turn, o outcome) {
	ctx, cancel := context.WithTimeout(s.conn.life, callTimeout)
	defer cancel()
	f := s.fetchFigures(ctx, t.run)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(t.over)
	s.turn = nil
	s.queue.Put(agent.Turn{
		Status: o.status, Text: o.text, Err: o.err,
		Tokens: f.tokens, Cost: f.cost, Context: f.context,
	})
}

// exec is the only tool that the gateway asks about.
const exec = "exec"

// takeApproval reports a permission request, or denies it if none may be allowed.
func (s *session) takeApproval(t *turn, a approval) {
	r := a.Request
	input, err := json.Marshal(struct {
		Command string `json:"command"`
		Dir     string `json:"cwd,omitempty"`
		Host    string `json:"host,omitempty"`
	}{r.Command, r.Dir, r.Host})
	if err != nil {
		return
	}
	if s.terms.denies {
		s.work.Go(func() { s.denyRequest(a.ID) })
		return
	}
	call := s.approvals.addRequest(a.ID, r.Call)
	s.putEvent(t.toolUse(call, exec, input))
	s.putEvent(agent.Permission{
		CallID: call, Tool: exec, Input: input, Title: commandTitle(r.Command), Reason: r.Warning, Dir: r.Dir,
	})
	s.approvals.startExpiry(a.ID, a.waitLimit(), s.withdrawRequest)
}

// denyRequest may fail: the gateway denies an unanswered request when its time is over.
func (s *session) denyRequest(id string) {
	ctx, cancel := context.WithTimeout(s.conn.life, callTimeout)
	defer cancel()
	_ = s.sendVerdict(ctx, id, verdictWords[agent.Deny])
}

// commandTitle returns a command in one line.
func commandTitle(command string) string {
	const limit = 120
	return display.Clip(strings.Join(strings.Fields(command), " "), limit)
}

// withdrawRequest removes a request that no longer waits: its time is over, or it
// was answered.
func (s *session) withdrawRequest(id string) {
	if call, withdrawn := s.approvals.removeRequest(id); withdrawn {
		s.putEvent(agent.Withdrawn{CallID: call})
	}
}

func (s *session) withdrawAll() {
	for _, id := range s.approvals.requestIDs() {
		s.withdrawRequest(id)
	}
}

// noteShutdown keeps the reason of the gateway's shutdown.
func (s *session) noteShutdown(payload json.RawMessage) {
	var said struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(payload, &said) == nil && said.Reason != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.farewell = "the gateway is shutting down: " + said.Reason
	}
}
