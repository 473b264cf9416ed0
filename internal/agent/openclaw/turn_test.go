package openclaw_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

// delta is a piece, with all there is so far as a real gateway sends it.
func (r *job) delta(piece, whole string) {
	r.chatEvent("delta", object{"deltaText": piece, "message": text(whole)})
}

func TestEndsOfTurns(t *testing.T) {
	for name, test := range map[string]struct {
		play   func(*job)
		status agent.TurnStatus
		text   string // the last message
		said   string
		err    failure.Error
	}{
		"the last piece comes with the end": {func(r *job) {
			r.delta("Hello", "Hello")
			r.delta(" there", "Hello there")
			r.chatEvent("final", object{"message": text("Hello there")})
		}, agent.Completed, "Hello there", "Hello there", failure.Error{}},
		"the end has odd members": {func(r *job) {
			r.delta("Hello", "Hello")
			r.chatEvent("final", object{"message": "Hello", "errorDetail": object{"httpStatus": "none"}})
		}, agent.Completed, "Hello", "Hello", failure.Error{}},
		"the end has odd content": {func(r *job) {
			r.delta("Hello", "Hello")
			r.broadcast("chat", json.RawMessage(`{"state":"final","message":{"content":[{"type":7}]},"runId":"`+r.id+`"}`))
		}, agent.Completed, "Hello", "Hello", failure.Error{}},
		"no pieces at all": {func(r *job) {
			r.chatEvent("final", object{"message": text("Hello")})
		}, agent.Completed, "Hello", "Hello", failure.Error{}},
		"the end has the rest": {func(r *job) {
			r.delta("Hel", "Hel")
			r.chatEvent("final", object{"message": text("Hello")})
		}, agent.Completed, "Hello", "Hello", failure.Error{}},
		"a piece was dropped on the way": {func(r *job) {
			r.delta("a", "a")
			r.delta("c", "abc")
			r.chatEvent("final", object{})
		}, agent.Completed, "abc", "abc", failure.Error{}},
		"pieces without all there is so far": {func(r *job) {
			r.chatEvent("delta", object{"deltaText": "a"})
			r.chatEvent("delta", object{"deltaText": "b"})
			r.chatEvent("final", object{})
		}, agent.Completed, "ab", "ab", failure.Error{}},
		"the same piece twice": {func(r *job) {
			r.delta("ha", "ha")
			r.delta("ha", "ha")
			r.chatEvent("final", object{"message": text("ha")})
		}, agent.Completed, "ha", "ha", failure.Error{}},
		"what was said is replaced in the middle of a character": {func(r *job) {
			r.delta("aé", "aé")
			r.chatEvent("delta", object{"deltaText": "aèb", "replace": true})
			r.chatEvent("final", object{"message": text("aèb")})
		}, agent.Completed, "aèb", "aéèb", failure.Error{}},
		"what was said is edited at the end": {func(r *job) {
			r.delta("a <tag> b", "a <tag> b")
			r.chatEvent("final", object{"message": text("a b")})
		}, agent.Completed, "a b", "a <tag> b", failure.Error{}},
		"several messages, of which the last counts": {func(r *job) {
			r.agentEvent("assistant", object{"text": "one"})
			r.delta("one", "one")
			r.agentEvent("assistant", object{"text": "two"})
			r.delta("\n\ntwo", "one\n\ntwo")
			r.chatEvent("final", object{"message": text("one\n\ntwo")})
		}, agent.Completed, "two", "one\n\ntwo", failure.Error{}},
		"a silent end": {func(r *job) { r.chatEvent("final", object{}) }, agent.Completed, "", "", failure.Error{}},
		"a second end, of a command": {func(r *job) {
			r.chatEvent("final", object{"message": text("right")})
			r.chatEvent("final", object{"message": text("wrong")})
		}, agent.Completed, "right", "right", failure.Error{}},
		"what comes after the end": {func(r *job) {
			r.chatEvent("final", object{"message": text("right")})
			r.delta("late", "right late")
			r.agentEvent("tool", object{"phase": "start", "name": "exec", "toolCallId": "c1"})
		}, agent.Completed, "right", "right", failure.Error{}},
		"lifecycle ends no turn": {func(r *job) {
			r.agentEvent("lifecycle", object{"phase": "end", "status": "cancelled"})
			r.agentEvent("lifecycle", object{"phase": "error", "error": "This operation was aborted"})
			r.chatEvent("final", object{"message": text("right")})
		}, agent.Completed, "right", "right", failure.Error{}},
		"aborted by another client": {func(r *job) {
			r.chatEvent("aborted", object{"stopReason": "rpc", "message": object{"content": "half"}})
		}, agent.Interrupted, "half", "half", failure.Error{}},
		"the gateway's time limit for a run was reached": {func(r *job) {
			r.chatEvent("aborted", object{"stopReason": "timeout"})
		}, agent.Failed, "", "", failure.Error{Code: failure.Timeout, Retriable: true}},
		"the gateway restarts": {func(r *job) {
			r.chatEvent("aborted", object{"stopReason": "restart"})
		}, agent.Failed, "", "", failure.Error{Code: failure.Unknown, Retriable: true}},
		"an error with a word for it, told twice": {func(r *job) {
			r.chatEvent("error", object{"errorMessage": "⚠️ refused", "errorDetail": object{"failoverReason": "auth"}})
			r.chatEvent("error", object{"errorMessage": "⚠️ Agent failed before reply: refused"})
		}, agent.Failed, "", "", failure.Error{Code: failure.Auth, Message: "the gateway: refused"}},
		"an error with the other word for it": {func(r *job) {
			r.chatEvent("error", object{"errorMessage": "too long", "errorKind": "context_length"})
		}, agent.Failed, "", "", failure.Error{Code: failure.BadRequest, Message: "the gateway: too long"}},
		"an error with a status": {func(r *job) {
			r.chatEvent("error", object{"errorMessage": "failed", "errorDetail": object{"httpStatus": 529, "providerErrorMessagePreview": "busy"}})
		}, agent.Failed, "", "", failure.Error{Code: failure.Unknown, Retriable: true, Message: "busy"}},
		"an exhausted credit": {func(r *job) {
			r.chatEvent("error", object{"errorMessage": "pay", "errorDetail": object{"failoverReason": "billing", "httpStatus": 402}})
		}, agent.Failed, "", "", failure.Error{Code: failure.RateLimit, Message: "pay"}},
		"a limit that passes": {func(r *job) {
			r.chatEvent("error", object{"errorMessage": "slow down", "errorKind": "rate_limit"})
		}, agent.Failed, "", "", failure.Error{Code: failure.RateLimit, Retriable: true}},
		"an error that nobody has a word for": {func(r *job) {
			r.chatEvent("error", object{"errorMessage": "Inline API key is temporarily disabled", "errorKind": "unknown"})
		}, agent.Failed, "", "", failure.Error{Code: failure.Unknown, Retriable: true, Message: "temporarily disabled"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, s, l := scripted(t, test.play)
			turn, events := l.Turn("go")
			if turn.Status != test.status || turn.Text != test.text || agenttest.Said(events) != test.said {
				t.Errorf("the turn was %s with %q, said %q", turn.Status, turn.Text, agenttest.Said(events))
			}
			e, failed := errors.AsType[*failure.Error](turn.Err)
			if failed != (test.status == agent.Failed) {
				t.Fatalf("error %v", turn.Err)
			}
			if failed && (e.Code != test.err.Code || e.Retriable != test.err.Retriable || !strings.Contains(e.Message, test.err.Message)) {
				t.Errorf("error %+v", e)
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			l.Rest()
			if after := l.Events()[slices.Index(l.Events(), agent.Event(turn))+1:]; len(after) > 0 {
				t.Errorf("after the end: %v", after)
			}
		})
	}
}

func TestEventsOfATurn(t *testing.T) {
	_, _, l := scripted(t, func(r *job) {
		r.chatEvent("status", object{"phase": "starting_model", "retry": object{"attempt": 2, "reason": "rate_limit"}})
		r.agentEvent("run_status", object{"phase": "starting_model"})
		r.agentEvent("usage", object{"outputTokens": 20})
		r.agentEvent("lifecycle", object{"phase": "waiting-approval"})
		r.agentEvent("item", object{"kind": "preamble"})
		r.agentEvent("tool", object{"phase": "start", "name": "read", "toolCallId": "c1", "args": object{"path": "a.txt"}})
		r.agentEvent("tool", object{"phase": "start", "name": "read", "toolCallId": "c1", "args": object{"path": "a.txt"}})
		r.agentEvent("tool", object{"phase": "update", "toolCallId": "c1", "partialResult": object{}})
		r.agentEvent("tool", object{"phase": "result", "name": "read", "toolCallId": "c1", "isError": true, "result": object{
			"content": []object{{"type": "text", "text": "no "}, {"type": "image"}, {"type": "text", "text": "file"}},
		}})
		r.chatEvent("final", object{})
	})
	_, events := l.Turn("go")
	notices, raws := agenttest.All[agent.Notice](events), agenttest.All[agent.Raw](events)
	if len(notices) != 2 || notices[0].Name != "retry" || !notices[0].Stall || notices[1].Name != "waiting-approval" || !notices[1].Stall {
		t.Errorf("notices %+v", notices)
	}
	if len(raws) != 2 {
		t.Errorf("raw %+v", raws)
	}
	if u := agenttest.All[agent.UsageUpdate](events); len(u) != 1 || u[0].Tokens.Output != 20 {
		t.Errorf("usage %+v", u)
	}
	uses, results := agenttest.All[agent.ToolUse](events), agenttest.All[agent.ToolResult](events)
	if len(uses) != 1 || uses[0].CallID != "c1" || uses[0].Tool != "read" || string(uses[0].Input) != `{"path":"a.txt"}` {
		t.Errorf("uses %+v", uses)
	}
	if len(results) != 1 || results[0] != (agent.ToolResult{CallID: "c1", Output: "no file", Error: true}) {
		t.Errorf("results %+v", results)
	}
}

// TestOthersAreNotHeard has all that a turn could tell come from other
// sessions, from other runs of this one, and without a turn.
func TestOthersAreNotHeard(t *testing.T) {
	speak := func(r *job) {
		r.delta("wrong", "wrong")
		r.agentEvent("tool", object{"phase": "start", "name": "exec", "toolCallId": "c1"})
		r.request("a1", "c1", "rm -rf /")
		r.broadcast("exec.approval.resolved", object{"id": "a1"})
		r.chatEvent("final", object{"message": text("wrong")})
	}
	g, s, l := scripted(t, func(r *job) {
		speak(&job{gateway: r.gateway, chat: &chat{key: "agent:main:main"}, id: "run-of-another"})
		speak(&job{gateway: r.gateway, chat: r.chat, id: "another-run"})
		r.broadcast("exec.approval.requested", object{"id": "a2", "request": object{"runId": r.id, "sessionKey": "agent:main:main"}})
		for _, name := range []string{"tick", "health", "presence", "cron", "sessions.changed"} {
			r.broadcast(name, object{"runId": r.id, "sessionKey": r.key, "state": "final"})
		}
		r.chatEvent("final", object{"message": text("right")})
	})
	agenttest.Next[agent.Started](l)
	turn, events := l.Turn("go")
	if turn.Text != "right" || len(events) != 2 {
		t.Errorf("events:%s", l)
	}
	speak(&job{gateway: g, chat: g.sessions[s.ID()], id: "run-without-a-turn"})
	if turn, events := l.Turn("again"); turn.Text != "right" || len(events) != 2 {
		t.Errorf("events:%s", l)
	}
}

func TestMessages(t *testing.T) {
	g, _, l := scripted(t, func(r *job) { r.chatEvent("final", object{}) })
	for name, test := range map[string]struct{ text, want string }{
		"as it is":                         {"fix a/b, 1 / 2 and /usr/bin/x: now", "fix a/b, 1 / 2 and /usr/bin/x: now"},
		"a command":                        {"/reset", "`/reset`"},
		"directives among words":           {"see /elevated full\n\t/think:high, /model x", "see `/elevated` full\n\t`/think`:high, `/model` x"},
		"blanks of other kinds":            {"a\u00a0/status\ufeff/new", "a\u00a0`/status`\ufeff`/new`"},
		"what is in backquotes":            {"see `/status` or /`x`", "see `/status` or /`x`"},
		"a word that would end a run":      {"stop", "stop"},
		"an exclamation mark at the start": {"!ls", "!ls"},
		"a command behind the name of one": {"Kim: /reset", "Kim: `/reset`"},
		"nothing but blanks":               {" \n", " \n"},
		"a slash at the end":               {"a /", "a /"},
		"what only looks like a command":   {`{"path": /x"}, /* or */ /(a|b)/`, `{"path": /x"}, /* or */ /(a|b)/`},
	} {
		l.Turn(test.text)
		message, _ := g.last(t, "chat.send")["message"].(string)
		first, rest, _ := strings.Cut(message, "\n\n")
		if rest != test.want || !strings.HasPrefix(first, "This session works in `"+g.workspace) || strings.Contains(first, ": ") {
			t.Errorf("%s: sent %q", name, message)
		}
	}
}

func TestSystemPromptGoesWithTheFirstMessage(t *testing.T) {
	g := startGateway(t, nil)
	g.play = func(r *job) { r.chatEvent("final", object{}) }
	o := g.options(t)
	o.System = "You are the fixer."
	s, l := g.start(t, o)
	g.with(func() { g.refuse["chat.send"] = invalid("no", "") })
	if err := s.Send(t.Context(), "one"); err == nil {
		t.Fatal("a message that was refused was sent")
	}
	g.with(func() { delete(g.refuse, "chat.send") })
	sent := func(text string) bool {
		l.Turn(text)
		message, _ := g.last(t, "chat.send")["message"].(string)
		return strings.Contains(message, o.System+"\n\n"+text)
	}
	if !sent("two") || sent("three") {
		t.Error("want it with the first message that arrives, and with no other")
	}
	o.Resume = s.ID()
	if _, l = g.start(t, o); sent("four") {
		t.Error("want it once in a session")
	}
	o.Resume = ""
	s, _ = g.start(t, o)
	s.Stop(t.Context()) // before the first message
	o.Resume = s.ID()
	if _, l = g.start(t, o); !sent("five") || sent("six") {
		t.Error("want it with the first message of a session that was resumed before it")
	}
}

func TestSendThatIsGivenUpIsAborted(t *testing.T) {
	g, s, l := scripted(t, func(r *job) { <-r.ctx.Done() })
	g.with(func() { g.deaf = []string{"chat.send"} })
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error)
	go func() { sent <- s.Send(ctx, "one") }()
	l.Poll("message", func() bool { return len(g.got("chat.send")) == 1 })
	cancel()
	if err := <-sent; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	l.Poll("abort", func() bool { return len(g.got("chat.abort")) == 1 })
	if key := g.last(t, "chat.send")["idempotencyKey"]; g.last(t, "chat.abort")["runId"] != key {
		t.Error("another run was aborted")
	}
	g.with(func() { g.deaf, g.play = nil, func(r *job) { r.chatEvent("final", object{"message": text("two")}) } })
	if turn, _ := l.Turn("two"); turn.Text != "two" {
		t.Errorf("turn %+v", turn)
	}
}

func TestSendIsRefused(t *testing.T) {
	g, s, _ := scripted(t, func(*job) {})
	g.with(func() { g.sessions[s.ID()].mode = "full" })
	e, ok := errors.AsType[*failure.Error](s.Send(t.Context(), "go"))
	if !ok || e.Code != failure.BadRequest || e.Retriable {
		t.Errorf("in a session that somebody has given more rights: %v", e)
	}
	g.maxPayload = 1000
	s, _ = g.start(t, g.options(t))
	before := len(g.got("chat.send"))
	e, ok = errors.AsType[*failure.Error](s.Send(t.Context(), strings.Repeat("x", 1000)))
	if !ok || e.Code != failure.BadRequest || len(g.got("chat.send")) != before {
		t.Errorf("a message that is too long: %v", e)
	}
}
