package codex_test

import (
	"errors"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestTwoApprovalsOfOneCall(t *testing.T) {
	const ask = `{"id":%s,"method":"item/commandExecution/requestApproval","params":{` + inTurn + `"itemId":"call_1","approvalId":%s,"command":%s}}`
	s, l := playing(t, func(p *peer) {
		p.begin()
		p.say(ask, 1, "a", "first")
		p.say(ask, 2, "b", "second")
		p.wantAnswer("2", `{"decision":"decline"}`)
		p.wantAnswer("1", `{"decision":"accept"}`)
		p.say(ask, 3, nil, "third")
		p.wantAnswer("3", `{"decision":"decline"}`)
		p.finish("completed", "")
	})
	l.Send("go")
	decide := func(p agent.Permission, v agent.PermissionVerdict) {
		t.Helper()
		d := agent.PermissionDecision{CallID: p.CallID, Verdict: v}
		if err := s.Decide(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if err := s.Decide(t.Context(), d); !errors.Is(err, agent.ErrNotPending) {
			t.Errorf("a second time: %v", err)
		}
	}
	first, second := agenttest.Next[agent.Permission](l), agenttest.Next[agent.Permission](l)
	decide(second, agent.Deny)
	decide(first, agent.Allow)
	third := agenttest.Next[agent.Permission](l)
	decide(third, agent.Deny)
	agenttest.Next[agent.Turn](l)
	if first.CallID == second.CallID || third.CallID == first.CallID || third.CallID == second.CallID {
		t.Errorf("asked under %q, %q and %q", first.CallID, second.CallID, third.CallID)
	}
	if uses := agenttest.All[agent.ToolUse](l.Events()); len(uses) != 1 || uses[0].CallID != "call_1" {
		t.Errorf("told of %+v", uses)
	}
}

func TestAnApprovalIsWithdrawn(t *testing.T) {
	for name, withdraw := range map[string]func(*peer){
		"by the client": func(p *peer) {
			p.say(`{"method":"serverRequest/resolved","params":{"threadId":"` + thread + `","requestId":0}}`)
			p.finish("completed", "")
		},
		"by the end of the turn": func(p *peer) {
			p.finish("interrupted", "")
			p.say(`{"method":"serverRequest/resolved","params":{"threadId":"` + thread + `","requestId":0}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, l := playing(t, func(p *peer) {
				p.begin()
				p.say(`{"id":0,"method":"item/commandExecution/requestApproval","params":{"turnId":"` + turnID + `","itemId":"call_1","command":"ls"}}`)
				withdraw(p)
			})
			l.Send("go")
			asked := agenttest.Next[agent.Permission](l)
			agenttest.Next[agent.Turn](l)
			if w := agenttest.All[agent.Withdrawn](l.Events()); len(w) != 1 || w[0].CallID != asked.CallID {
				t.Errorf("withdrawn: %v", w)
			}
			err := s.Decide(t.Context(), agent.PermissionDecision{CallID: asked.CallID, Verdict: agent.Allow})
			if !errors.Is(err, agent.ErrNotPending) {
				t.Errorf("a late decision: %v", err)
			}
		})
	}
}

// A decision on a patch that nothing was told of fits no other, however often
// each is asked about.
func TestPatchesThatAreNotKnownAreNotTheSame(t *testing.T) {
	calls := []string{"call_a", "call_a", "call_b", "call_b"}
	_, l := playing(t, func(p *peer) {
		p.begin()
		for i, call := range calls {
			p.say(`{"id":%s,"method":"item/fileChange/requestApproval","params":{`+inTurn+`"itemId":%s,"reason":null,"grantRoot":null}}`, i, call)
		}
	})
	l.Send("go")
	for _, call := range calls {
		p := agenttest.Next[agent.Permission](l)
		if want := `{"changes":null,"itemId":"` + call + `"}`; string(p.Input) != want || p.Edit {
			t.Errorf("%s: got %s, edit is %v, want %s", p.CallID, p.Input, p.Edit, want)
		}
	}
}

func TestAStopCancelsEachInItsOwnShape(t *testing.T) {
	answers := make(chan map[string]string, 1)
	s, l := playing(t, func(p *peer) {
		p.begin()
		p.item("started", patchItem)
		id := 0
		for _, tt := range approvals {
			p.say(`{"id":%s,"method":"`+tt.method+`","params":`+tt.params+`}`, id)
			id++
		}
		got := map[string]string{}
		for f, ok := p.next(); ok; f, ok = p.next() {
			if f.Method == "turn/interrupt" {
				p.answer(f, `{}`)
				p.finish("interrupted", "")
				continue
			}
			got[string(f.ID)] = string(f.Result)
		}
		answers <- got
	})
	l.Send("go")
	want := map[string]int{}
	for range approvals {
		agenttest.Next[agent.Permission](l)
	}
	for _, tt := range approvals {
		want[tt.results[3]]++
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-answers:
		for _, result := range got {
			want[result]--
		}
		for result, n := range want {
			if n != 0 {
				t.Errorf("%d answers %s too few", n, result)
			}
		}
	case <-soon():
		t.Fatal("the wire was not closed")
	}
	l.Rest()
	if turn := agenttest.All[agent.Turn](l.Events()); len(turn) != 1 || turn[0].Status != agent.Interrupted {
		t.Errorf("turns %+v", turn)
	}
}

func TestAnUnknownVerdictDecidesNothing(t *testing.T) {
	s, l := playing(t, func(p *peer) {
		p.begin()
		p.say(`{"id":0,"method":"item/commandExecution/requestApproval","params":{"itemId":"call_1","command":"ls"}}`)
		p.wantAnswer("0", `{"decision":"decline"}`)
		p.finish("completed", "")
	})
	l.Send("go")
	asked := agenttest.Next[agent.Permission](l)
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: asked.CallID, Verdict: "perhaps"}); err == nil {
		t.Error("decided")
	}
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: asked.CallID, Verdict: agent.Deny}); err != nil {
		t.Error(err)
	}
	agenttest.Next[agent.Turn](l)
}
