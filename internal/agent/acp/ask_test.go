package acp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// What the agents ask (CLIENT.md, 3, and their wires).
var asked = map[string]string{
	"opencode": `{"sessionId":"s1","toolCall":{"toolCallId":"c1","title":"touch b.txt","kind":"execute","status":"pending","locations":[],"rawInput":{"command":"touch b.txt"}},"options":[{"optionId":"once","kind":"allow_once","name":"Allow once"},{"optionId":"always","kind":"allow_always","name":"Always allow"},{"optionId":"reject","kind":"reject_once","name":"Reject"}]}`,
	"claude":   `{"sessionId":"s1","toolCall":{"toolCallId":"c1","name":"Write","status":"pending","rawInput":{"file_path":"/w/cw.txt","content":"hi"},"title":"Write cw.txt","kind":"edit","content":[{"type":"diff","path":"/w/cw.txt","oldText":null,"newText":"hi"}],"locations":[{"path":"/w/cw.txt"}]},"options":[{"optionId":"allow-once","name":"Yes","kind":"allow_once"},{"optionId":"allow-with-updates","name":"Yes, allow all edits during this session","kind":"allow_always"},{"optionId":"reject","name":"No","kind":"reject_once"}]}`,
	"gemini":   `{"sessionId":"s1","options":[{"optionId":"proceed_always","name":"Allow for this session","kind":"allow_always"},{"optionId":"proceed_once","name":"Allow","kind":"allow_once"},{"optionId":"cancel","name":"Reject","kind":"reject_once"}],"toolCall":{"toolCallId":"run_shell_command__fc_1","status":"pending","title":"touch ga.txt","content":[{"type":"content","content":{"type":"text","text":"[current working directory /w] (make a)"}}],"locations":[],"kind":"execute"}}`,
	"codex":    `{"sessionId":"s1","toolCall":{"toolCallId":"c1","title":"touch xb.txt","rawInput":{"command":"touch xb.txt","cwd":"/w"},"kind":"execute","status":"pending"},"options":[{"optionId":"allow_once","name":"Yes, proceed","kind":"allow_once"},{"optionId":"accept_execpolicy_amendment","name":"Yes, and don't ask again for commands that start with ` + "`touch xb.txt`" + `","kind":"allow_always"},{"optionId":"cancel","name":"No, and tell Codex what to do differently","kind":"reject_once"}]}`,
}

func TestTheOptionIsPickedByItsKind(t *testing.T) {
	t.Parallel()
	save := `{"sessionId":"s1","toolCall":{"toolCallId":"c1"},"options":[{"optionId":"save","name":"Allow for all future sessions","kind":"allow_always"},{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"never","name":"Never","kind":"reject_always"}]}`
	tests := map[string]struct {
		agent, ask string
		picked     map[agent.PermissionVerdict]string
	}{
		"opencode": {"opencode", asked["opencode"], map[agent.PermissionVerdict]string{agent.Allow: "once", agent.AllowSession: "once", agent.Deny: "reject", agent.Abort: "cancelled"}},
		"the bridge to Claude Code keeps it in the session": {"claude", asked["claude"], map[agent.PermissionVerdict]string{agent.Allow: "allow-once", agent.AllowSession: "allow-with-updates", agent.Deny: "reject", agent.Abort: "cancelled"}},
		"gemini has allow_always first":                     {"gemini", asked["gemini"], map[agent.PermissionVerdict]string{agent.Allow: "proceed_once", agent.AllowSession: "proceed_always", agent.Deny: "cancel", agent.Abort: "cancelled"}},
		"the bridge to Codex would write a rule":            {"codex", asked["codex"], map[agent.PermissionVerdict]string{agent.Allow: "allow_once", agent.AllowSession: "allow_once", agent.Deny: "cancel", agent.Abort: "cancelled"}},
		"nothing that lasts":                                {"gemini", save, map[agent.PermissionVerdict]string{agent.Allow: "yes", agent.AllowSession: "yes", agent.Deny: "cancelled"}},
		"an agent that nobody knows":                        {"plain", asked["gemini"], map[agent.PermissionVerdict]string{agent.Allow: "proceed_once", agent.AllowSession: "proceed_once", agent.Deny: "cancel"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l := newBench(t, tt.agent).start()
			for verdict, want := range tt.picked {
				l.Send(script(ask(tt.ask), ends("end_turn")))
				p := agenttest.Next[agent.Permission](l)
				if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: verdict}); err != nil {
					t.Fatalf("%s: %v", verdict, err)
				}
				if turn := agenttest.Next[agent.Turn](l); turn.Text != want {
					t.Errorf("%s picked %q, want %q:%s", verdict, turn.Text, want, l)
				}
			}
		})
	}
}

func TestWhatCannotBeAllowedOnceStillWaits(t *testing.T) {
	s, l := newBench(t, "plain").start()
	l.Send(script(ask(`{"toolCall":{"toolCallId":"c1"},"options":[{"optionId":"x","name":"Allow for this session","kind":"allow_always"}]}`), ends("end_turn")))
	p := agenttest.Next[agent.Permission](l)
	for _, v := range []agent.PermissionVerdict{agent.Allow, agent.AllowSession, "maybe", ""} {
		if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: v}); err == nil || errors.Is(err, agent.ErrNotPending) {
			t.Errorf("%q: %v", v, err)
		}
	}
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Deny}); err != nil {
		t.Error(err)
	}
	if turn := agenttest.Next[agent.Turn](l); turn.Text != "cancelled" {
		t.Errorf("picked %q", turn.Text)
	}
}

func TestWhatIsAsked(t *testing.T) {
	tests := map[string]agent.Permission{
		"opencode": {CallID: "c1", Tool: "execute", Title: "touch b.txt", Input: json.RawMessage(`{"command":"touch b.txt"}`)},
		"claude": {
			CallID: "c1", Tool: "Write", Title: "Write cw.txt", Input: json.RawMessage(`{"file_path":"/w/cw.txt","content":"hi"}`),
			Paths: []string{"/w/cw.txt"}, Edit: true,
		},
		"gemini": {
			CallID: "run_shell_command__fc_1", Tool: "run_shell_command", Title: "touch ga.txt",
			Input: json.RawMessage(`{"title":"touch ga.txt","kind":"execute","content":[{"type":"content","content":{"type":"text","text":"[current working directory /w] (make a)"}}]}`),
		},
		"codex": {CallID: "c1", Tool: "execute", Title: "touch xb.txt", Input: json.RawMessage(`{"command":"touch xb.txt","cwd":"/w"}`)},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			s, l := newBench(t, name).start()
			l.Send(script(ask(asked[name]), ends("end_turn")))
			if p := agenttest.Next[agent.Permission](l); !reflect.DeepEqual(p, want) {
				t.Errorf("got  %+v with %s\nwant %+v with %s", p, p.Input, want, want.Input)
			}
			if err := s.Interrupt(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Two such requests must differ, or the decision on one fits the other.
func TestARequestThatNamesItsCallAlone(t *testing.T) {
	_, l := newBench(t, "plain").start()
	l.Send(script(
		update(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"touch a","kind":"execute","status":"pending","rawInput":{"command":"touch a"}}`),
		ask(`{"toolCall":{"toolCallId":"c1"},"options":[]}`),
	))
	want := `{"title":"touch a","kind":"execute","rawInput":{"command":"touch a"}}`
	if p := agenttest.Next[agent.Permission](l); string(p.Input) != want || p.Tool != "execute" {
		t.Errorf("%s %s, want %s", p.Tool, p.Input, want)
	}
}

// A file outside that only the diff names must not hide behind one inside.
func TestAllFilesOfAnEditAreNamed(t *testing.T) {
	_, l := newBench(t, "plain").start()
	l.Send(script(ask(`{"toolCall":{"toolCallId":"c1","kind":"edit","locations":[{"path":"/w/b"}],"content":[{"type":"diff","path":"/etc/a","newText":""},{"type":"diff","path":"/w/b","newText":""}]},"options":[]}`)))
	if p := agenttest.Next[agent.Permission](l); !reflect.DeepEqual(p.Paths, []string{"/etc/a", "/w/b"}) || !p.Edit {
		t.Errorf("%+v", p)
	}
}

func TestWhatTheSessionMayDecidesByItself(t *testing.T) {
	tests := map[string]struct {
		agent  string
		change func(*agent.Options)
		picked string
		denied bool
	}{
		"a tool that needs no permission": {"claude", func(o *agent.Options) { o.Tools = []string{"Write"} }, "allow-once", false},
		"a tool that may not be used":     {"claude", func(o *agent.Options) { o.Tools, o.NoTools = []string{"Write"}, []string{"Write"} }, "reject", true},
		"a session that only reads":       {"gemini", func(o *agent.Options) { o.Sandbox, o.Tools = agent.ReadOnly, []string{"run_shell_command"} }, "cancel", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tt.agent)
			tt.change(&b.options)
			_, l := b.start()
			turn, events := l.Turn(script(ask(asked[tt.agent]), ends("end_turn")))
			if turn.Text != tt.picked {
				t.Errorf("picked %q, want %q", turn.Text, tt.picked)
			}
			if asked := agenttest.All[agent.Permission](events); len(asked) > 0 {
				t.Errorf("asked: %+v", asked)
			}
			if results := agenttest.All[agent.ToolResult](events); (len(results) == 1 && results[0].Error) != tt.denied {
				t.Errorf("results: %+v", results)
			}
		})
	}
}

func TestARequestThatTheAgentTakesBack(t *testing.T) {
	s, l := newBench(t, "plain").start()
	l.Send(script(step{Ask: json.RawMessage(asked["opencode"]), Retake: true}, ends("end_turn")))
	turn := agenttest.Next[agent.Turn](l)
	if w := agenttest.All[agent.Withdrawn](l.Events()); len(w) != 1 || w[0].CallID != "c1" || turn.Text != "cancelled" {
		t.Errorf("withdrawn %v, the agent heard %q", w, turn.Text)
	}
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: "c1", Verdict: agent.Allow}); !errors.Is(err, agent.ErrNotPending) {
		t.Errorf("a late decision: %v", err)
	}
}

func TestARequestOutsideOfATurnIsCancelled(t *testing.T) {
	b := newBench(t, "opencode")
	b.options.Resume = "s1"
	b.set(storyVariable, script(rawAsk))
	_, l := b.start()
	l.Poll("answer", func() bool {
		log, err := os.ReadFile(b.log)
		return err == nil && strings.Contains(string(log), `"id":"other","result":{"outcome":{"outcome":"cancelled"}}`)
	})
	if all := agenttest.All[agent.Permission](l.Events()); len(all) > 0 {
		t.Errorf("asked: %+v", all)
	}
}

// rawAsk is a request that the player does not wait for.
var rawAsk = step{Raw: `{"jsonrpc":"2.0","id":"other","method":"session/request_permission","params":` + asked["opencode"] + `}`}

func TestTwoRequestsUnderOneID(t *testing.T) {
	s, l := newBench(t, "plain").start()
	l.Send(script(rawAsk, ask(asked["opencode"])))
	first, second := agenttest.Next[agent.Permission](l), agenttest.Next[agent.Permission](l)
	if first.CallID == second.CallID {
		t.Fatalf("both are %s", first.CallID)
	}
	for _, p := range []agent.Permission{second, first} {
		if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Deny}); err != nil {
			t.Error(err)
		}
	}
}

func TestAFloodOfRequestsIsDenied(t *testing.T) {
	const flood, waiting = 150, 100
	s, l := newBench(t, "plain").start()
	l.Send(script(append(slices.Repeat([]step{rawAsk}, flood), update(`{"sessionUpdate":"plan"}`))...))
	agenttest.Next[agent.Notice](l)
	if all := agenttest.All[agent.Permission](l.Events()); len(all) != waiting {
		t.Errorf("%d of %d requests wait, want %d", len(all), flood, waiting)
	}
	if err := s.Interrupt(t.Context()); err != nil {
		t.Error(err)
	}
}

// The agent reads no answer and asks on: its requests are read no further. It counts goroutines, so it runs alone.
func TestAnAgentThatReadsNoAnswersIsReadNoFurther(t *testing.T) {
	const flood = 5000
	var asks strings.Builder
	for id := range flood {
		fmt.Fprintf(&asks, `{"id":%d,"method":"x","params":{"pad":%q}}`+"\n", 1000+id, strings.Repeat("x", 200))
	}
	s, l := newBench(t, "plain").start()
	before := runtime.NumGoroutine()
	l.Send(script(step{Raw: asks.String()})) // the player does not go on after an answer to what it has not asked
	last, same := 0, 0
	eventually.Holds(t, "requests wait for their answers to be taken, and their number stays", func() bool {
		n := runtime.NumGoroutine()
		if same++; n != last {
			last, same = n, 0
		}
		return n > before+50 && same > 5
	})
	if n := runtime.NumGoroutine() - before; n > 500 {
		t.Errorf("%d goroutines for %d requests", n, flood)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWhatLedToAPermissionComesBeforeIt(t *testing.T) {
	_, l := newBench(t, "opencode").start()
	var steps []step
	for range 2000 { // more than the library queues
		steps = append(steps, chunk("m1", "x"))
	}
	steps = append(steps, ask(asked["opencode"]))
	l.Send(script(steps...))
	agenttest.Next[agent.Permission](l)
	if n := len(agenttest.Said(l.Events())); n != 2000 {
		t.Errorf("%d of the pieces came before", n)
	}
}
