package acp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestHowATurnEnds(t *testing.T) {
	t.Parallel()
	failing := func(e string) []step { return []step{{Error: json.RawMessage(e)}} }
	deny := agent.PermissionDecision{CallID: "c1", Verdict: agent.Deny}
	tests := map[string]struct {
		agent     string
		steps     []step
		decide    *agent.PermissionDecision
		status    agent.TurnStatus
		code      failure.Code
		retriable bool
		says      string
	}{
		"the end":                             {"plain", []step{ends("end_turn")}, nil, agent.Completed, "", false, ""},
		"a refusal":                           {"plain", []step{ends("refusal")}, nil, agent.Failed, failure.BadRequest, false, "refused"},
		"the limit of tokens":                 {"plain", []step{ends("max_tokens")}, nil, agent.Failed, failure.Unknown, true, "token limit"},
		"the limit of requests":               {"plain", []step{ends("max_turn_requests")}, nil, agent.Failed, failure.Unknown, true, "request limit"},
		"a reason from the future":            {"plain", []step{ends("boredom")}, nil, agent.Failed, failure.Unknown, true, "boredom"},
		"an answer without a reason":          {"plain", []step{{Answer: json.RawMessage(`null`)}}, nil, agent.Failed, failure.Unknown, true, "unknown reason"},
		"cancelled, and not by us":            {"plain", []step{ends("cancelled")}, nil, agent.Failed, failure.Unknown, true, "by itself"},
		"cancelled, after a denial":           {"codex", []step{ask(asked["codex"]), ends("cancelled")}, &deny, agent.Completed, "", false, ""},
		"not logged in":                       {"codex", failing(`{"code":-32000,"message":"Authentication required"}`), nil, agent.Failed, failure.Auth, false, "Authentication"},
		"a bad call":                          {"plain", failing(`{"code":-32602,"message":"Invalid params","data":"no such session"}`), nil, agent.Failed, failure.BadRequest, false, "Invalid params: no such session"},
		"gemini: the status is the code":      {"gemini", failing(`{"code":401,"message":"{\"error\":{\"message\":\"bad key\",\"code\":401}}"}`), nil, agent.Failed, failure.Auth, false, "bad key"},
		"claude: the status is in the text":   {"claude", failing(`{"code":-32603,"message":"Internal error: API Error: 529 overloaded","data":{"errorKind":"unknown"}}`), nil, agent.Failed, failure.Unknown, true, "HTTP 529: overloaded"},
		"opencode: no status, and final":      {"opencode", failing(`{"code":-32603,"message":"Internal error: what?","data":{"service":"session","errorName":"APIError"}}`), nil, agent.Failed, failure.BadRequest, false, "Internal error: what?"},
		"opencode: a key, by its words":       {"opencode", failing(`{"code":-32603,"message":"Internal error: Incorrect API key provided","data":{"errorName":"APIError"}}`), nil, agent.Failed, failure.Auth, false, "Incorrect API key"},
		"opencode: a quota, by its words":     {"opencode", failing(`{"code":-32603,"message":"Internal error: You exceeded your current quota","data":{"errorName":"APIError"}}`), nil, agent.Failed, failure.RateLimit, false, "quota or credit exhausted: Internal"},
		"an internal error":                   {"plain", failing(`{"code":-32603,"message":"Internal error","data":{"details":"disk full"}}`), nil, agent.Failed, failure.Unknown, true, "disk full"},
		"codex: failed beside an end_turn":    {"codex", []step{update(`{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"systemError"}}}}`), chunk("", "never heard of it"), ends("end_turn")}, nil, agent.Failed, failure.BadRequest, false, "never heard of it"},
		"codex: one that recovered":           {"codex", []step{update(`{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"systemError"}}}}`), update(`{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"active"}}}}`), ends("end_turn")}, nil, agent.Completed, "", false, ""},
		"an error that is longer than needed": {"plain", failing(`{"code":-32603,"message":"` + strings.Repeat("x", 5000) + `"}`), nil, agent.Failed, failure.Unknown, true, "xxx"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l := newBench(t, tt.agent).start()
			l.Send(script(tt.steps...))
			if tt.decide != nil {
				agenttest.Next[agent.Permission](l)
				if err := s.Decide(t.Context(), *tt.decide); err != nil {
					t.Fatal(err)
				}
			}
			turn := agenttest.Next[agent.Turn](l)
			if turn.Status != tt.status || (turn.Err == nil) != (tt.status == agent.Completed) {
				t.Fatalf("the turn was %s, error %v", turn.Status, turn.Err)
			}
			e, _ := errors.AsType[*failure.Error](turn.Err)
			if e == nil && tt.code != "" || e != nil && (e.Code != tt.code || e.Retriable != tt.retriable || !strings.Contains(e.Message, tt.says) || len(e.Message) > failure.MaxMessage) {
				t.Errorf("error %+v", e)
			}
			if turn, _ := l.Turn(script(ends("end_turn"))); turn.Status != agent.Completed {
				t.Errorf("the next turn was %s", turn.Status)
			}
		})
	}
}

func TestTheLastMessageOfATurn(t *testing.T) {
	t.Parallel()
	call := update(`{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"read","status":"completed"}`)
	tests := map[string]struct {
		agent      string
		steps      []step
		text, said string
	}{
		"named messages":                     {"plain", []step{chunk("m1", "a"), chunk("m1", "b"), chunk("m2", "c"), chunk("m2", "d")}, "cd", "abcd"},
		"a named message around a call":      {"plain", []step{chunk("m1", "a"), call, chunk("m1", "b")}, "ab", "ab"},
		"a call between messages":            {"plain", []step{chunk("", "a"), call, chunk("", "b"), chunk("", "c")}, "bc", "abc"},
		"one message without a name":         {"plain", []step{chunk("", "a"), chunk("", "b")}, "ab", "ab"},
		"a warning before a named message":   {"plain", []step{chunk("", "Warning"), chunk("m1", "a")}, "a", "Warninga"},
		"a warning after a named message":    {"plain", []step{chunk("m1", "a"), chunk("", "Warning")}, "a", "aWarning"},
		"a thought, a plan and another's":    {"plain", []step{update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`), update(`{"sessionUpdate":"plan","entries":[]}`), {From: "s2", Update: chunk("m9", "x").Update}, chunk("m1", "a")}, "a", "a"},
		"an image, and members of odd types": {"plain", []step{update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":""}}`), update(`{"sessionUpdate":"agent_message_chunk","messageId":7,"_meta":"x","content":{"type":"text","text":"a"}}`)}, "a", "a"},
		"the bridge to Codex warns":          {"codex", []step{chunk("", "Warning"), chunk("m1", "a"), chunk("", "Warning")}, "a", "a"},
		"nothing":                            {"plain", nil, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, l := newBench(t, tt.agent).start()
			turn, events := l.Turn(script(append(tt.steps, ends("end_turn"))...))
			if said := agenttest.Said(events); turn.Text != tt.text || said != tt.said {
				t.Errorf("text %q of what was said, %q:%s", turn.Text, said, l)
			}
		})
	}
}

func TestOtherUpdatesAreNoticesOrRaw(t *testing.T) {
	_, l := newBench(t, "plain").start()
	_, events := l.Turn(script(
		update(`{"sessionUpdate":"available_commands_update","availableCommands":[]}`),
		update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`),
		update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hm"}}`),
		update(`{"sessionUpdate":"from_the_future"}`),
		update(`7`),
		ends("end_turn")))
	notices := agenttest.All[agent.Notice](events)
	if len(notices) != 2 || notices[0].Name != "available_commands_update" || !notices[0].Stall || notices[1].Name != "agent_thought_chunk" || notices[1].Stall {
		t.Errorf("notices %+v", notices)
	}
	if raw := agenttest.All[agent.Raw](events); len(raw) != 3 {
		t.Errorf("raw %s", raw)
	}
}

func TestAnInterruptedTurnIsInterrupted(t *testing.T) {
	for name, last := range map[string]step{
		"that ends cancelled":          ends("cancelled"),
		"that ends as if it were done": ends("end_turn"),
		"that fails":                   {Error: json.RawMessage(`{"code":-32603,"message":"aborted"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "plain")
			s, l := b.start()
			l.Send(script(step{Deaf: true}, last))
			for range 2 {
				if err := s.Interrupt(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if turn := agenttest.Next[agent.Turn](l); turn.Status != agent.Interrupted || turn.Err != nil {
				t.Errorf("the turn was %s, error %v", turn.Status, turn.Err)
			}
			if turn, _ := l.Turn(script(ends("end_turn"))); turn.Status != agent.Completed {
				t.Errorf("the next turn was %s", turn.Status)
			}
		})
	}
}

func TestAnAgentThatDoesNotLetItselfBeInterruptedIsEnded(t *testing.T) {
	b := newBench(t, "plain")
	b.adapter = acp.New(configOf("plain", 200*time.Millisecond))
	s, l := b.start()
	l.Send(script(step{Call: "session/request_permission"}, step{Deaf: true}, step{Deaf: true}))
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if turn := agenttest.Next[agent.Turn](l); turn.Status != agent.Interrupted {
		t.Errorf("the turn was %s", turn.Status)
	}
	if exit := agenttest.Next[agent.Exit](l); exit.Code != -1 || !strings.Contains(exit.Stderr, "interrupted") {
		t.Errorf("%+v", exit)
	}
	if err := s.Send(t.Context(), "hm"); !errors.Is(err, agent.ErrGone) || s.Alive() {
		t.Errorf("send: %v, alive is %v", err, s.Alive())
	}
}
