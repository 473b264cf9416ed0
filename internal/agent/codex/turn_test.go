package codex_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestHowATurnEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status, more string
		want         agent.TurnStatus
		code         failure.Code
		retriable    bool
	}{
		"completed":              {"completed", "", agent.Completed, "", false},
		"with odd figures":       {"completed", `,"durationMs":"1s","completedAt":"2026-11-27T00:00:00Z"`, agent.Completed, "", false},
		"interrupted":            {"interrupted", "", agent.Interrupted, "", false},
		"failed":                 {"failed", `,"error":{"message":"m","codexErrorInfo":"badRequest"}`, agent.Failed, failure.BadRequest, false},
		"failed, in other words": {"failed", `,"error":"boom"`, agent.Failed, failure.Unknown, true},
		"failed, nobody says":    {"failed", `,"error":null`, agent.Failed, failure.Unknown, true},
		"replaced":               {"replaced", "", agent.Failed, failure.Unknown, false},
		"no status":              {"", "", agent.Failed, failure.Unknown, false},
		"still in progress":      {"inProgress", "", agent.Failed, failure.Unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l := playing(t, func(p *peer) {
				p.begin()
				p.finish(tt.status, tt.more)
			})
			turn, _ := l.Turn("go")
			e, _ := errors.AsType[*failure.Error](turn.Err)
			if turn.Status != tt.want || (e == nil) != (tt.code == "") || e != nil && (e.Code != tt.code || e.Retriable != tt.retriable) {
				t.Errorf("the turn was %s, error %+v", turn.Status, turn.Err)
			}
			if !s.Alive() {
				t.Error("not alive")
			}
		})
	}
}

func TestWhoseTurnItIs(t *testing.T) {
	t.Parallel()
	started := func(p *peer, turn string) {
		p.say(`{"method":"turn/started","params":{"threadId":"`+thread+`","turn":{"id":%s,"status":"inProgress"}}}`, turn)
	}
	message := func(p *peer, turn string, client any) {
		p.say(`{"method":"item/started","params":{"threadId":"`+thread+`","turnId":%s,"item":{"type":"userMessage","id":"m","clientId":%s}}}`, turn, client)
	}
	said := func(p *peer) { p.item("completed", `{"type":"agentMessage","id":"m1","text":"said"}`) }
	result := `{"turn":{"id":"` + turnID + `","status":"inProgress"}}`
	for name, tt := range map[string]struct {
		play   func(p *peer, start frame)
		status agent.TurnStatus
		text   string
	}{
		"our message is the first": {func(p *peer, start frame) {
			p.answer(start, result)
			started(p, turnID)
			p.userMessage(start)
			said(p)
			p.finish("completed", "")
		}, agent.Completed, "said"},
		"the answer comes last": {func(p *peer, start frame) {
			started(p, turnID)
			p.userMessage(start)
			said(p)
			p.answer(start, result)
			p.finish("completed", "")
		}, agent.Completed, "said"},
		"the answer comes after the end": {func(p *peer, start frame) {
			started(p, turnID)
			p.finish("interrupted", "")
			p.answer(start, result)
		}, agent.Interrupted, ""},
		"a second message of somebody else": {func(p *peer, start frame) {
			p.answer(start, result)
			started(p, turnID)
			p.userMessage(start)
			message(p, turnID, "somebody else's")
			said(p)
			p.finish("completed", "")
		}, agent.Completed, "said"},
		"the first message is somebody else's": {func(p *peer, start frame) {
			started(p, turnID)
			message(p, turnID, "somebody else's")
			p.answer(start, result)
			p.answer(p.expect("turn/interrupt"), `{}`)
			said(p)
			p.finish("interrupted", "")
		}, agent.Failed, ""},
		"the first message is nobody's": {func(p *peer, start frame) {
			p.answer(start, result)
			started(p, turnID)
			message(p, turnID, nil)
			p.answer(p.expect("turn/interrupt"), `{}`)
			p.finish("completed", "")
		}, agent.Failed, ""},
		"our message is the second": {func(p *peer, start frame) {
			started(p, turnID)
			message(p, turnID, "somebody else's")
			p.userMessage(start)
			p.answer(p.expect("turn/interrupt"), `{}`)
			p.answer(start, result)
			said(p)
			p.finish("completed", "")
		}, agent.Failed, ""},
		"no message is shown": {func(p *peer, start frame) {
			p.answer(start, result)
			started(p, turnID)
			said(p)
			p.finish("completed", "")
		}, agent.Failed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, l := playing(t, func(p *peer) { tt.play(p, p.expect("turn/start")) })
			turn, events := l.Turn("go")
			if turn.Status != tt.status || agenttest.Said(events) != tt.text {
				t.Errorf("the turn was %s and said %q, error %v:%s", turn.Status, agenttest.Said(events), turn.Err, l)
			}
			if e, ok := errors.AsType[*failure.Error](turn.Err); tt.status == agent.Failed && (!ok || e.Retriable) {
				t.Errorf("error %+v: nobody knows what the message did", turn.Err)
			}
		})
	}
}

func TestSomebodyElsesTurnKeepsTheSessionBusy(t *testing.T) {
	for name, end := range map[string]string{
		"until it has ended":     `{"method":"turn/completed","params":{"threadId":"` + thread + `","turn":{"id":"another","status":"completed"}}}`,
		"until the thread idles": `{"method":"thread/status/changed","params":{"threadId":"` + thread + `","status":{"type":"idle"}}}`,
	} {
		t.Run(name, func(t *testing.T) { busyUntil(t, end) })
	}
}

func busyUntil(t *testing.T, end string) {
	s, l := playing(t, func(p *peer) {
		p.say(`{"method":"turn/started","params":{"threadId":"` + thread + `","turn":{"id":"another"}}}`)
		p.say(`{"method":"warning","params":{"message":"begun"}}`)
		p.say(`{"id":1,"method":"item/commandExecution/requestApproval","params":{"itemId":"c","command":"ls"}}`)
		p.wantAnswer("1", `{"decision":"decline"}`)
		p.say(end)
		p.say(`{"method":"warning","params":{"message":"ended"}}`)
		p.begin()
		p.finish("completed", "")
	})
	agenttest.Next[agent.Notice](l)
	if err := s.Send(t.Context(), "go"); !errors.Is(err, agent.ErrBusy) {
		t.Errorf("in somebody else's turn: %v", err)
	}
	asked := agenttest.Next[agent.Permission](l)
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: asked.CallID, Verdict: agent.Deny}); err != nil {
		t.Error(err)
	}
	agenttest.Next[agent.Notice](l)
	if turn, _ := l.Turn("go"); turn.Status != agent.Completed {
		t.Errorf("the turn was %s, error %v", turn.Status, turn.Err)
	}
	if turns := agenttest.All[agent.Turn](l.Events()); len(turns) != 1 {
		t.Errorf("turns %+v", turns)
	}
}

func TestAnInterruptWaitsForTheTurn(t *testing.T) {
	sent := make(chan struct{})
	s, l := playing(t, func(p *peer) {
		f := p.expect("turn/start")
		<-sent
		p.answer(f, `{"turn":{"id":"`+turnID+`","status":"inProgress"}}`)
		// A client that were told now would refuse, and go on.
		p.say(`{"method":"thread/status/changed","params":{"threadId":"` + thread + `","status":{"type":"active"}}}`)
		p.say(`{"method":"turn/started","params":{"threadId":"` + thread + `","turn":{"id":"` + turnID + `"}}}`)
		for range 2 {
			refused := p.expect("turn/interrupt")
			p.say(`{"id":%s,"error":{"code":-32600,"message":"no active turn to interrupt"}}`, refused.ID)
		}
		f = p.expect("turn/interrupt")
		if want := `{"threadId":"` + thread + `","turnId":"` + turnID + `"}`; string(f.Params) != want {
			t.Errorf("interrupts %s", f.Params)
		}
		p.answer(f, `{}`)
		p.finish("interrupted", "")
	})
	l.Send("go")
	for range 2 {
		if err := s.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
	}
	close(sent)
	if turn := agenttest.Next[agent.Turn](l); turn.Status != agent.Interrupted || turn.Err != nil {
		t.Errorf("the turn was %s, error %v", turn.Status, turn.Err)
	}
}

func TestWhatATurnSays(t *testing.T) {
	said := make(chan json.RawMessage, 1)
	_, l := playing(t, func(p *peer) {
		said <- p.begin().Params
		p.finish("completed", "")
	})
	l.Turn("é <&> \x00")
	var params map[string]any
	if err := json.Unmarshal(<-said, &params); err != nil {
		t.Fatal(err)
	}
	delete(params, "clientUserMessageId")
	got, _ := json.Marshal(params)
	want, _ := json.Marshal(map[string]any{"threadId": thread, "input": []any{
		map[string]any{"type": "text", "text": "é <&> \x00", "text_elements": []any{}},
	}})
	if string(got) != string(want) { // no policy: it would stick to a turn that it joined
		t.Errorf("said %s; want %s", got, want)
	}
}
