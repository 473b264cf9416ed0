package openclaw_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

func invalid(message, reason string) object {
	return object{"code": "INVALID_REQUEST", "message": message, "details": object{"reason": reason}}
}

// answer carries out a request of a client that was let in.
func (g *gateway) answer(c *client, method string, params json.RawMessage) (payload any, failure object) {
	var p struct {
		Key, SessionKey, Cwd, Message, IdempotencyKey, RunID, ID, Decision string
		PermissionMode, ExpectedPermissionMode, Model                      any
	}
	if json.Unmarshal(params, &p) != nil {
		return nil, invalid("no parameters", "")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.sessions[p.Key+p.SessionKey]
	switch method {
	case "models.list":
		return object{"models": []object{
			{"id": "fake-model", "name": "Fake", "provider": "fake", "contextWindow": 200000, "tags": []string{"default"}},
			{"id": "other", "name": "Other", "provider": "fake"},
		}}, nil
	case "sessions.create":
		return g.create(p.Key, p.Cwd)
	case "sessions.describe":
		if s == nil {
			return object{"session": nil}, nil
		}
		return object{"session": object{"key": s.key}}, nil
	case "exec.approval.resolve":
		return g.resolve(p.ID, p.Decision)
	}
	if s == nil {
		return nil, invalid("no session "+p.Key+p.SessionKey, "")
	}
	switch method {
	case "sessions.patch":
		s.mode, s.model = p.PermissionMode, ""
		if m, ok := p.Model.(string); ok {
			s.model = m
		}
		return object{"ok": true, "key": s.key}, nil
	case "chat.history":
		return object{"messages": s.rows, "sessionInfo": object{"totalTokens": s.used, "totalTokensFresh": s.used > 0, "contextTokens": 200000}}, nil
	case "chat.abort":
		return g.abort(c, s), nil
	case "chat.send":
		if p.ExpectedPermissionMode != s.mode {
			return nil, invalid("Session settings changed before send. Retry.", "session-settings-changed")
		}
		return g.begin(s, p.IdempotencyKey, p.Message), nil
	}
	return nil, invalid("no method "+method, "")
}

// create makes a session, or has one work elsewhere.
func (g *gateway) create(key, dir string) (any, object) {
	if rel, err := filepath.Rel(g.workspace, dir); err != nil || strings.HasPrefix(rel, "..") {
		return nil, object{"code": "FORBIDDEN", "message": "missing scope: operator.admin", "details": object{
			"code": "MISSING_SCOPE", "missingScope": "operator.admin",
		}}
	}
	if g.sessions[key] == nil {
		g.sessions[key] = &chat{key: key}
	}
	g.sessions[key].dir = dir
	return object{"ok": true, "key": key}, nil
}

func (g *gateway) begin(s *chat, id, message string) any {
	if s.run != nil { // queueMode interrupt
		s.run.abort()
	}
	s.talk = append(s.talk, fakemodel.Message{Role: fakemodel.User, Texts: []string{message}})
	if !g.forgetful {
		s.rows = append(s.rows, object{"role": "user", "idempotencyKey": id + ":user"})
	}
	r := &job{gateway: g, chat: s, id: id, prompt: message}
	r.ctx, r.abort = context.WithCancel(context.Background())
	s.run = r
	g.running.Go(func() {
		defer r.abort()
		g.play(r)
	})
	return object{"runId": id, "status": "started"}
}

// abort ends the run of a session. As with a real one, the event comes before
// the answer, and what the run asked is denied later.
func (g *gateway) abort(c *client, s *chat) any {
	r := s.run
	if r == nil || r.ctx.Err() != nil {
		return object{"ok": true, "aborted": false, "runIds": []string{}}
	}
	c.event("chat", object{"runId": r.id, "sessionKey": s.key, "state": "aborted", "stopReason": "rpc"})
	r.abort()
	s.run = nil
	return object{"ok": true, "aborted": true, "runIds": []string{r.id}}
}

func (g *gateway) resolve(id, decision string) (any, object) {
	a := g.asks[id]
	if a == nil {
		return nil, invalid("unknown or expired approval id", "APPROVAL_NOT_FOUND")
	}
	delete(g.asks, id)
	a.answer <- decision
	return object{"ok": true}, nil
}

// chat tells something of the run as the event chat, agent as the event agent.
func (r *job) chatEvent(state string, more object) {
	payload := object{"runId": r.id, "sessionKey": r.key, "state": state}
	for name, value := range more {
		payload[name] = value
	}
	r.broadcast("chat", payload)
}

func (r *job) agentEvent(stream string, data object) {
	r.broadcast("agent", object{"runId": r.id, "sessionKey": r.key, "stream": stream, "data": data})
}

func text(s string) object {
	return object{"role": "assistant", "content": []object{{"type": "text", "text": s}}}
}

// talkToModel is the agent: it asks the model until that calls no tool.
func (r *job) talkToModel() {
	r.chatEvent("status", object{"phase": "preparing_context"})
	r.agentEvent("lifecycle", object{"phase": "start"})
	said := ""
	for {
		r.mu.Lock()
		talk := r.talk
		r.mu.Unlock()
		reply := r.gateway.model.Reply(fakemodel.Request{Model: "fake-model", Messages: talk, Tools: []string{"exec"}})
		if f := reply.Fault; f != nil && f.Hang {
			<-r.ctx.Done()
			return
		} else if f != nil {
			r.over("error", object{
				"errorMessage": "LLM request failed.",
				"errorDetail":  object{"failoverReason": "format", "httpStatus": f.Status, "providerErrorMessagePreview": f.Text},
			})
			return
		}
		if said != "" && len(reply.Pieces) > 0 {
			said += "\n\n"
		}
		if !r.speak(&said, reply) {
			return
		}
		if len(reply.Calls) == 0 {
			r.over("final", object{"stopReason": "stop", "message": text(said)})
			return
		}
		if !r.work(reply.Calls) {
			return
		}
	}
}

// speak says the pieces of a reply, what comes fast in two, and notes what it
// cost.
func (r *job) speak(said *string, reply fakemodel.Reply) bool {
	pieces := reply.Pieces
	if n := len(pieces); reply.Pace == 0 && n > 2 {
		pieces = []string{pieces[0], strings.Join(pieces[1:], "")}
	}
	for _, piece := range pieces {
		*said += piece
		r.chatEvent("delta", object{"deltaText": piece, "message": text(*said)})
		if reply.Pace > 0 && !r.pause(reply.Pace) {
			return false
		}
	}
	r.agentEvent("assistant", object{"text": reply.Text()})
	r.agentEvent("usage", object{"outputTokens": reply.Usage.Output})
	u := reply.Usage
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used = u.Input
	r.talk = append(r.talk, fakemodel.Message{Role: fakemodel.Assistant, Texts: []string{reply.Text()}, Calls: reply.Calls})
	r.rows = append(r.rows, object{"role": "assistant", "__openclaw": object{"runId": r.id}, "usage": object{
		"input": u.Input - u.Cached, "output": u.Output, "cacheRead": u.Cached, "cost": object{"total": float64(u.Input) * r.price},
	}})
	return r.ctx.Err() == nil
}

func (r *job) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.ctx.Done():
		return false
	}
}

// over ends the run, unless it was aborted.
func (r *job) over(state string, more object) {
	r.mu.Lock()
	aborted := r.ctx.Err() != nil
	if !aborted {
		r.chat.run = nil
	}
	r.mu.Unlock()
	if !aborted {
		r.chatEvent(state, more)
	}
}

// work makes calls of the one tool, each with a permission.
func (r *job) work(calls []fakemodel.ToolCall) bool {
	var results []fakemodel.Result
	for _, c := range calls {
		var in struct{ Command string }
		json.Unmarshal(c.Input, &in)
		r.agentEvent("tool", object{"phase": "start", "name": c.Tool, "toolCallId": c.ID, "args": c.Input})
		output, failed := r.exec(c.ID, in.Command)
		r.agentEvent("tool", object{
			"phase": "result", "name": c.Tool, "toolCallId": c.ID, "isError": failed, "result": object{"content": []object{{"type": "text", "text": output}}},
		})
		results = append(results, fakemodel.Result{CallID: c.ID, Text: output, Error: failed})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.talk = append(r.talk, fakemodel.Message{Role: fakemodel.User, Results: results})
	return r.ctx.Err() == nil
}

func (r *job) exec(call, command string) (output string, failed bool) {
	switch decision := r.ask(call, command); {
	case r.ctx.Err() != nil:
		return "Aborted", true
	case decision != "allow-once":
		return "Exec denied (gateway, user-denied): " + command, true
	}
	file, ok := strings.CutPrefix(command, "touch ")
	if !ok {
		return "no such command", true
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err.Error(), true
	}
	return "(no output)", false
}

// ask asks whether a command may run, and waits.
func (r *job) ask(call, command string) (decision string) {
	id, answer := uuid.NewString(), make(chan string, 1)
	r.mu.Lock()
	r.asks[id] = &asked{r, answer}
	r.mu.Unlock()
	r.request(id, call, command)
	by := "cli"
	select {
	case decision = <-answer:
	case <-r.ctx.Done():
		decision, by = "deny", "approval-scope-closed"
	}
	r.mu.Lock()
	delete(r.asks, id)
	r.mu.Unlock()
	r.broadcast("exec.approval.resolved", object{"id": id, "decision": decision, "resolvedBy": by})
	return decision
}

func (r *job) request(id, call, command string) {
	r.broadcast("exec.approval.requested", object{
		"id": id, "createdAtMs": 1000, "expiresAtMs": 1000 + r.life, "request": object{
			"command": command, "cwd": r.dir, "host": "gateway", "warningText": nil, "allowedDecisions": []string{"allow-once", "deny"},
			"runId": r.id, "toolCallId": call, "sessionKey": r.key,
		},
	})
}
