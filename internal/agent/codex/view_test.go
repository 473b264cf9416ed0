package codex_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// greetAs plays the way to a thread whose bounds the client tells as given.
func (p *peer) greetAs(bounds string) {
	p.answer(p.expect("initialize"), `{}`)
	p.expect("initialized")
	f, _ := p.next()
	p.answer(f, `{"thread":{"id":"`+thread+`"}`+bounds+`}`)
}

const (
	readOnly = `,"sandbox":{"type":"readOnly","networkAccess":false},"approvalPolicy":"never"`
	inTurnU  = `{"id":"` + turnID + `","rootTurnId":"` + turnID + `","status":"inProgress","completedAt":null,"items":[{"type":"userMessage","clientId":"m-1"}]}`
)

// read answers one read of the thread. The turns are the oldest first.
func (p *peer) read(status, turns string) {
	p.list(turns)
	f := p.sent("thread/read", `{"threadId":"`+thread+`","includeTurns":false}`)
	p.answer(f, `{"thread":{"id":"`+thread+`","status":`+status+`,"turns":[]}}`)
}

// answerReads answers whatever is asked further as a read of a thread at rest.
func (p *peer) answerReads() {
	for f, ok := p.next(); ok; f, ok = p.next() {
		p.answer(f, `{"thread":{"id":"`+thread+`","status":`+atRest+`,"turns":[]}}`)
	}
}

// list answers one request for the last turns, which a client tells the newest first.
func (p *peer) list(turns string) {
	f := p.sent("thread/turns/list", `{"threadId":"`+thread+`","limit":64,"sortDirection":"desc","itemsView":"full"}`)
	var all []json.RawMessage
	if err := json.Unmarshal([]byte("["+turns+"]"), &all); err != nil {
		p.Error(err)
	}
	slices.Reverse(all)
	newest, _ := json.Marshal(all)
	p.answer(f, `{"data":`+string(newest)+`,"nextCursor":null}`)
}

const (
	active = `{"type":"active","activeFlags":[]}`
	atRest = `{"type":"idle"}`
)

// The derivation of docs/contracts/delivery.md, 6, by what a client tells and what a read shows.
func TestTheViewOfTheActiveTurn(t *testing.T) {
	t.Parallel()
	running := func(more ...string) func(*peer) {
		return func(p *peer) {
			p.status("active")
			p.started(turnID)
			p.message(turnID, "m-1")
			for _, kind := range more {
				p.itemOf(turnID, kind)
			}
		}
	}
	shows := func(items string) string {
		return strings.Replace(inTurnU, `"clientId":"m-1"}`, `"clientId":"m-1"},`+items, 1)
	}
	for name, tc := range map[string]struct {
		bounds  string
		told    func(*peer)
		status  string
		turns   string
		risk    delivery.Risk
		kind    delivery.TurnKind // empty: there is no one turn
		steered bool
	}{
		"a plain turn":                {readOnly, running("reasoning", "commandExecution", "agentMessage"), active, inTurnU, delivery.LowRisk, delivery.RegularTurn, true},
		"S10, two turns in progress":  {readOnly, running(), active, inTurnU + `,{"id":"another","status":"inProgress","items":[]}`, delivery.UnknownRisk, "", false},
		"S10, a turn nobody read":     {readOnly, running(), active, ``, delivery.UnknownRisk, delivery.UnknownTurn, false},
		"S10, another turn was read":  {readOnly, running(), active, `{"id":"another","status":"inProgress","items":[]}`, delivery.UnknownRisk, "", false},
		"no turn":                     {readOnly, func(*peer) {}, atRest, ``, delivery.UnknownRisk, "", false},
		"a turn that has ended":       {readOnly, running(), atRest, strings.Replace(inTurnU, "inProgress", "completed", 1), delivery.UnknownRisk, "", false},
		"S11, a compaction":           {readOnly, running("contextCompaction"), active, inTurnU, delivery.MixedRisk, delivery.OtherTurn, false},
		"S11, a review":               {readOnly, running("enteredReviewMode"), active, inTurnU, delivery.MixedRisk, delivery.OtherTurn, false},
		"S11, a compaction in a read": {readOnly, running(), active, shows(`{"type":"contextCompaction"}`), delivery.MixedRisk, delivery.OtherTurn, false},
		"S11, of another turn": {readOnly, func(p *peer) {
			p.status("active")
			p.say(`{"method":"turn/started","params":{"threadId":"` + thread + `","turn":{"id":"` + turnID + `","rootTurnId":"another","status":"inProgress"}}}`)
		}, active, inTurnU, delivery.MixedRisk, delivery.OtherTurn, false},
		"S11, of none in a read":     {readOnly, running(), active, strings.Replace(inTurnU, `"rootTurnId":"`+turnID+`"`, `"rootTurnId":null`, 1), delivery.MixedRisk, delivery.OtherTurn, false},
		"S12, waits for an approval": {readOnly, running(), `{"type":"active","activeFlags":["waitingOnApproval"]}`, inTurnU, delivery.MixedRisk, delivery.RegularTurn, false},
		"S12, waits for input":       {readOnly, running(), `{"type":"active","activeFlags":["waitingOnUserInput"]}`, inTurnU, delivery.MixedRisk, delivery.RegularTurn, false},
		"not seen from its begin":    {readOnly, func(p *peer) { p.status("active") }, active, inTurnU, delivery.UnknownRisk, delivery.UnknownTurn, false},
		"seen from its middle": {readOnly, func(p *peer) {
			p.status("active")
			p.message(turnID, "m-1")
			p.started(turnID)
		}, active, inTurnU, delivery.UnknownRisk, delivery.UnknownTurn, false},
		"a thread of an unknown status": {readOnly, running(), `{"type":"resting"}`, inTurnU, delivery.LowRisk, delivery.RegularTurn, false},
		"S6, may write":                 {strings.NewReplacer("readOnly", "workspaceWrite", "never", "on-request").Replace(readOnly), running(), active, inTurnU, delivery.MixedRisk, delivery.RegularTurn, true},
		"S6, may do anything":           {`,"sandbox":{"type":"dangerFullAccess"},"approvalPolicy":"on-request"`, running(), active, inTurnU, delivery.MixedRisk, delivery.RegularTurn, true},
		"S6, asked": {readOnly, func(p *peer) {
			running()(p)
			p.say(`{"id":7,"method":"item/tool/call","params":{"threadId":"` + thread + `","turnId":"` + turnID + `","callId":"c"}}`)
			p.wantAnswer("7", `{"contentItems":[],"success":false}`)
		}, active, inTurnU, delivery.MixedRisk, delivery.RegularTurn, true},
		"S6, went to the web":      {readOnly, running("webSearch"), active, inTurnU, delivery.MixedRisk, delivery.RegularTurn, true},
		"S6, called a server":      {readOnly, running("mcpToolCall"), active, inTurnU, delivery.MixedRisk, delivery.RegularTurn, true},
		"S6, changed a file":       {readOnly, running("fileChange"), active, inTurnU, delivery.MixedRisk, delivery.RegularTurn, true},
		"S6, by the read alone":    {readOnly, running(), active, shows(`{"type":"fileChange"}`), delivery.MixedRisk, delivery.RegularTurn, true},
		"S7, something unknown":    {readOnly, running("telepathy"), active, inTurnU, delivery.MixedRisk, delivery.RegularTurn, true},
		"S7, an item of no type":   {readOnly, running(), active, shows(`"words"`), delivery.MixedRisk, delivery.RegularTurn, true},
		"S7, no word on sandboxes": {`,"approvalPolicy":"never"`, running(), active, inTurnU, delivery.UnknownRisk, delivery.RegularTurn, true},
		"S7, no word on approvals": {`,"sandbox":{"type":"readOnly","networkAccess":false}`, running(), active, inTurnU, delivery.UnknownRisk, delivery.RegularTurn, true},
		"a turn after a review": {readOnly, func(p *peer) {
			p.status("active")
			p.say(`{"method":"turn/started","params":{"threadId":"` + thread + `","turn":{"id":"begun as","rootTurnId":"ended as"}}}`)
			p.status("idle")
			p.completed("ended as", "completed")
			running()(p)
		}, active, inTurnU, delivery.LowRisk, delivery.RegularTurn, true},
		"a turn after another": {readOnly, func(p *peer) {
			running("fileChange")(p)
			p.completed(turnID, "completed")
			p.status("idle")
			p.status("active")
			p.started("the second")
		}, active, `{"id":"the second","rootTurnId":"the second","status":"inProgress","items":[]}`, delivery.LowRisk, delivery.RegularTurn, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, func(p *peer) {
				p.greetAs(tc.bounds)
				tc.told(p)
				p.read(tc.status, tc.turns)
				p.rest()
			})
			sandbox := agent.ReadOnly
			switch {
			case strings.Contains(tc.bounds, "dangerFullAccess"):
				sandbox = agent.FullAccess
			case strings.Contains(tc.bounds, "workspaceWrite"), strings.Contains(tc.bounds, "on-request"):
				sandbox = agent.WorkspaceWrite
			}
			s, _ := start(t, c, func(o *agent.Options) { o.Sandbox = sandbox })
			read, err := watched(t, s).Thread(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			v := read.View("session-1", 7)
			var kind delivery.TurnKind
			if v.Kind != nil {
				kind = *v.Kind
			}
			if v.Risk() != tc.risk || kind != tc.kind || (v.Steerable != nil && *v.Steerable) != tc.steered || v.Thread != thread || v.Session != "session-1" || v.Epoch != 7 {
				t.Errorf("risk %s, kind %q, view %+v of %+v", v.Risk(), kind, v, read)
			}
		})
	}
}

func TestAReadOfTheThread(t *testing.T) {
	t.Run("without a turn", func(t *testing.T) {
		s, _ := playing(t, func(p *peer) {
			f := p.expect("thread/turns/list")
			p.say(`{"id":%s,"error":{"code":-32600,"message":"thread `+thread+` is not materialized yet; thread/turns/list is unavailable before first user message"}}`, f.ID)
			f = p.sent("thread/read", `{"threadId":"`+thread+`","includeTurns":true}`)
			p.say(`{"id":%s,"error":{"code":-32601,"message":"list_turns is not supported yet"}}`, f.ID)
			f = p.sent("thread/read", `{"threadId":"`+thread+`","includeTurns":false}`)
			p.answer(f, `{"thread":{"id":"`+thread+`","status":{"type":"idle"},"turns":[]}}`)
		})
		read, err := watched(t, s).Thread(t.Context())
		want := agent.Thread{ID: thread, Status: "idle", Allows: &delivery.Allows{Approval: true, Write: true}}
		if err != nil || !reflect.DeepEqual(read, want) {
			t.Errorf("read %+v: %v", read, err)
		}
	})
	for name, page := range map[string]string{
		"no turns":              `{"turns":[]}`,
		"turns without items":   `{"data":[{"id":"` + turnID + `","status":"completed","items":[],"itemsView":"summary"}]}`,
		"turns of another form": `{"data":[4]}`,
	} {
		t.Run("of a client that lists "+name, func(t *testing.T) {
			s, _ := playing(t, func(p *peer) {
				p.answer(p.expect("thread/turns/list"), page)
				p.answerReads()
			})
			if read, err := watched(t, s).Thread(t.Context()); err == nil {
				t.Errorf("read %+v", read)
			}
		})
	}
	t.Run("of a client that lists no turns", func(t *testing.T) {
		s, _ := playing(t, func(p *peer) {
			f := p.expect("thread/turns/list")
			p.say(`{"id":%s,"error":{"code":-32600,"message":"Invalid request: unknown variant `+"`thread/turns/list`"+`"}}`, f.ID)
			f = p.sent("thread/read", `{"threadId":"`+thread+`","includeTurns":true}`)
			p.answer(f, `{"thread":{"id":"`+thread+`","status":`+active+`,"turns":[`+inTurnU+`]}}`)
		})
		read, err := watched(t, s).Thread(t.Context())
		if err != nil || len(read.Active) != 1 || read.Active[0].ID != turnID || read.Turns[0].Markers[0] != "m-1" {
			t.Errorf("read %+v: %v", read, err)
		}
	})
	t.Run("of a thread that the client lost", func(t *testing.T) {
		s, _ := playing(t, func(p *peer) {
			p.say(`{"id":%s,"error":{"code":-32600,"message":"thread not found: `+thread+`"}}`, p.expect("thread/turns/list").ID)
			p.answerReads()
		})
		if read, err := watched(t, s).Thread(t.Context()); err == nil {
			t.Errorf("read %+v", read)
		}
	})
	t.Run("O10, a completion that was missed", func(t *testing.T) {
		s, l := playing(t, func(p *peer) {
			f := p.sent("turn/start", startRequest)
			p.answer(f, `{"turn":{"id":"`+turnID+`"}}`)
			p.started(turnID)
			p.mark("begun")
			p.read(atRest, `{"id":"before","status":"interrupted","completedAt":null,"items":[{"type":"userMessage","clientId":null}]},`+
				`{"id":"`+turnID+`","status":"completed","completedAt":1795232219,"items":[{"type":"userMessage","clientId":"marker-1"},{"type":"userMessage","clientId":"more"}]}`)
		})
		if _, err := watched(t, s).Deliver(t.Context(), idleDelivery); err != nil {
			t.Fatal(err)
		}
		until(l, "begun")
		read, err := watched(t, s).Thread(t.Context())
		if err != nil || len(read.Active) != 0 || len(read.Turns) != 2 || read.Turns[0].Ended {
			t.Fatalf("read %+v: %v", read, err)
		}
		turn, first, alone := read.Marked("marker-1")
		if turn.ID != turnID || turn.Status != "completed" || !turn.Ended || !first || !alone {
			t.Errorf("the marker is in %+v, first %v, alone %v", turn, first, alone)
		}
		if _, first, alone := read.Marked("more"); first || !alone {
			t.Error("the second message is the first")
		}
		for _, marker := range []string{"none", ""} {
			if turn, _, alone := read.Marked(marker); turn.ID != "" || alone {
				t.Errorf("marker %q is in %+v", marker, turn)
			}
		}
	})
	for name, answer := range map[string]string{
		"of another thread": `{"thread":{"id":"another","status":{"type":"idle"},"turns":[]}}`,
		"of no thread":      `{}`,
		"no object":         `[]`,
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := playing(t, func(p *peer) { p.list(""); p.answer(p.expect("thread/read"), answer) })
			if read, err := watched(t, s).Thread(t.Context()); err == nil {
				t.Errorf("read %+v", read)
			}
		})
	}
	t.Run("a marker in two turns", func(t *testing.T) {
		read := agent.Thread{Turns: []agent.ThreadTurn{{ID: "a", Markers: []string{"m"}}, {ID: "b", Markers: []string{"m"}}}}
		if _, _, alone := read.Marked("m"); alone {
			t.Error("alone")
		}
	})
}
