package openclaw

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// run reads until nothing more comes.
func (s *session) run() {
	defer close(s.done)
	err := s.conn.serve(s.handle)
	s.work.Wait()
	s.withdraw()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = nil
	if s.stopped {
		s.queue.Close(nil)
		return
	}
	s.queue.Close(agent.Exit{Code: -1, Stderr: strings.TrimSpace(err.Error() + "\n" + s.farewell)})
}

// handle tells what an event of the gateway means. Those of other sessions, of
// other runs and of runs that have ended mean nothing, whatever they say.
func (s *session) handle(f frame) {
	switch f.Event {
	case "chat":
		var e chatEvent
		if t := s.current(f.Payload, &e, &e.Run); t != nil {
			s.chat(t, e, f.Payload)
		}
	case "agent":
		var e streamEvent
		if t := s.current(f.Payload, &e, &e.Run); t != nil {
			s.put(t.stream(e, f.Payload))
		}
	case "exec.approval.requested":
		var a approval
		if t := s.underway(); t != nil && json.Unmarshal(f.Payload, &a) == nil && a.of(s.ID(), t.run) {
			s.asked(t, a)
		}
	case "exec.approval.resolved":
		var a approval
		if json.Unmarshal(f.Payload, &a) == nil {
			s.expired(a.ID)
		}
	case "shutdown":
		s.leaving(f.Payload)
	}
}

// current reads a payload, and returns the turn under way when it is about
// that one.
func (s *session) current(payload json.RawMessage, into any, run *string) *turn {
	t := s.underway()
	if t == nil || json.Unmarshal(payload, into) != nil || *run != t.run {
		return nil
	}
	return t
}

func (s *session) put(e agent.Event) {
	if e != nil {
		s.queue.Put(e)
	}
}

func (s *session) chat(t *turn, e chatEvent, payload json.RawMessage) {
	o, ended := t.end(e)
	if !ended {
		s.put(t.chat(e, payload))
		return
	}
	if !s.ends(t) {
		return
	}
	if o.rest != "" {
		s.put(agent.Text{Text: o.rest})
	}
	s.withdraw()
	s.work.Go(func() { s.finish(t, o) })
}

// ends marks a turn whose run has ended, unless Send has taken it back.
func (s *session) ends(t *turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.ending = s.turn == t
	return t.ending
}

// finish ends a turn once its figures are known. The next one may begin as
// soon as this one is told.
func (s *session) finish(t *turn, o outcome) {
	ctx, cancel := context.WithTimeout(s.conn.life, callTimeout)
	defer cancel()
	f := s.figures(ctx, t.run)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(t.over)
	s.turn = nil
	s.queue.Put(agent.Turn{
		Status: o.status, Text: o.text, Err: o.err, Took: time.Since(t.began),
		Tokens: f.tokens, Cost: f.cost, Context: f.context,
	})
}

// exec is the one tool that the gateway asks about.
const exec = "exec"

// asked tells a permission request, or denies it where none may be allowed.
func (s *session) asked(t *turn, a approval) {
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
		s.work.Go(func() { s.deny(a.ID) })
		return
	}
	call := s.asks.add(a.ID, r.Call)
	s.put(t.use(call, exec, input))
	s.put(agent.Permission{
		CallID: call, Tool: exec, Input: input, Title: title(r.Command), Reason: r.Warning, Dir: r.Dir,
	})
	s.asks.limit(a.ID, a.life(), s.expired)
}

// deny needs no success: what is not answered is denied when its time is over.
func (s *session) deny(id string) {
	ctx, cancel := context.WithTimeout(s.conn.life, callTimeout)
	defer cancel()
	_ = s.answer(ctx, id, answers[agent.Deny])
}

// title is a command in one line.
func title(command string) string {
	const limit = 120
	return provider.Clip(strings.Join(strings.Fields(command), " "), limit)
}

// expired says that a request does not wait any more: its time is over, or
// somebody has answered it.
func (s *session) expired(id string) {
	if call, withdrawn := s.asks.settled(id); withdrawn {
		s.put(agent.Withdrawn{CallID: call})
	}
}

func (s *session) withdraw() {
	for _, id := range s.asks.ids() {
		s.expired(id)
	}
}

// leaving keeps why the gateway goes away.
func (s *session) leaving(payload json.RawMessage) {
	var said struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(payload, &said) == nil && said.Reason != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.farewell = "the gateway said that it shuts down: " + said.Reason
	}
}
