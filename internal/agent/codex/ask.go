package codex

import (
	"bytes"
	"encoding/json"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// asks are the requests for a decision.
type asks struct {
	pending map[string]*approval // by CallID
	made    map[string]bool      // every CallID that ever was
}

func newAsks() asks { return asks{pending: map[string]*approval{}, made: map[string]bool{}} }

// ask takes a request of the client. One that nobody can decide is refused at
// once, in its own shape: a foreign one would leave the client with no answer
// that it knows (docs/contracts/codex.md, 13).
func (s *session) ask(f frame) {
	kind, ok := families[f.Method]
	if !ok {
		s.refuse(f)
		return
	}
	var r request
	err := json.Unmarshal(f.Params, &r)
	p, input, ok := kind.ask(r, s.calls)
	raw, encoding := encode(input)
	if err != nil || encoding != nil || !ok {
		s.conn.send(object{"id": f.ID, "result": kind.say(r, agent.PermissionDecision{Verdict: agent.Deny})})
		return
	}
	p.CallID, p.Input, p.Dir = s.callID(r, f.ID), raw, r.Dir
	if p.Reason == "" {
		p.Reason = r.Reason
	}
	s.asks.made[p.CallID] = true
	s.asks.pending[p.CallID] = &approval{
		id: f.ID, turn: r.TurnID, ends: kind.ends,
		reply: func(d agent.PermissionDecision) any { return kind.say(r, d) },
	}
	if call := r.call(); call != "" {
		s.use(item{ID: call}, p.Tool, raw)
	}
	s.tell(p)
}

// refuse answers what is no approval: we lend the client nothing.
func (s *session) refuse(f frame) {
	if answer, ok := refusals[f.Method]; ok {
		s.conn.send(object{"id": f.ID, "result": answer})
		return
	}
	s.conn.send(object{"id": f.ID, "error": object{"code": methodNotFound, "message": "not served: " + f.Method}})
}

// callID names a permission request by its call. A call that asks again gets
// another name, so that no late decision answers what it was not made for.
func (s *session) callID(r request, id json.RawMessage) string {
	call := r.call()
	if call == "" {
		return "request " + string(id)
	}
	if s.asks.made[call] {
		return call + " " + string(id)
	}
	return call
}

// resolved withdraws what the client no longer waits for, unless it is what we
// decided.
func (s *session) resolved(n note) bool {
	for name, p := range s.asks.pending {
		if bytes.Equal(p.id, n.RequestID) {
			s.withdraw(name)
		}
	}
	return true
}

func (s *session) withdraw(name string) {
	delete(s.asks.pending, name)
	s.tell(agent.Withdrawn{CallID: name})
}
