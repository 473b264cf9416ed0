package codex

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// approvals holds the requests for a decision.
type approvals struct {
	pending map[string]*approval // by CallID
	made    map[string]bool      // every CallID that was used
}

// takeRequest handles a request of the client. A request that cannot be decided
// is refused at once in the form of its family: the client knows no other answer
// (CLIENT.md, 13).
func (s *session) takeRequest(f frame) {
	s.noteRequest(f)
	kind, ok := families[f.Method]
	if !ok {
		s.refuseRequest(f)
		return
	}
	var r approvalRequest
	err := json.Unmarshal(f.Params, &r)
	p, input, ok := kind.toPermission(r, s.calls)
	raw, encoding := encodeJSON(input)
	if err != nil || encoding != nil || !ok {
		s.conn.sendObject(object{"id": f.ID, "result": kind.toResult(r, agent.PermissionDecision{Verdict: agent.Deny})})
		return
	}
	if s.box.Held() && r.staysInside(f.Method) {
		s.conn.sendObject(object{"id": f.ID, "result": kind.toResult(r, agent.PermissionDecision{Verdict: agent.Allow})})
		return
	}
	p.CallID, p.Input, p.Dir = s.uniqueCallID(r, f.ID), raw, r.Dir
	p.Reason = cmp.Or(p.Reason, r.Reason)
	s.approvals.made[p.CallID] = true
	s.approvals.pending[p.CallID] = &approval{
		id: f.ID, turn: r.TurnID, ends: kind.ends,
		reply: func(d agent.PermissionDecision) any { return kind.toResult(r, d) },
	}
	if r.ItemID != "" {
		s.emitToolUse(item{ID: r.ItemID}, p.Tool, raw)
	}
	s.emitEvent(p)
}

// noteRequest records that the turn has asked for something, decided or not.
func (s *session) noteRequest(f frame) {
	var r struct {
		ThreadID string `json:"threadId"`
		TurnID   string `json:"turnId"`
	}
	if json.Unmarshal(f.Params, &r) == nil && r.ThreadID == s.thread && r.TurnID != "" {
		s.view.trackedTurn(r.TurnID).Asked = true
	}
}

// refuseRequest answers a request that is no approval: we lend the client nothing.
func (s *session) refuseRequest(f frame) {
	if answer, ok := refusals[f.Method]; ok {
		s.conn.sendObject(object{"id": f.ID, "result": answer})
		return
	}
	s.conn.sendObject(object{"id": f.ID, "error": object{"code": methodNotFound, "message": "not supported: " + f.Method}})
}

// uniqueCallID names a permission request by its call. A call that asks again
// gets another name, so that no late decision answers another request than the
// one it was made for.
func (s *session) uniqueCallID(r approvalRequest, id json.RawMessage) string {
	call := r.ItemID
	if call == "" {
		return "request " + string(id)
	}
	if s.approvals.made[call] {
		return call + " " + string(id)
	}
	return call
}

// onResolved withdraws a request that the client no longer waits for, unless our
// decision resolved it.
func (s *session) onResolved(n notification) bool {
	for name, p := range s.approvals.pending {
		if bytes.Equal(p.id, n.RequestID) {
			s.withdrawApproval(name)
		}
	}
	return true
}

func (s *session) withdrawApproval(name string) {
	delete(s.approvals.pending, name)
	s.emitEvent(agent.Withdrawn{CallID: name})
}
