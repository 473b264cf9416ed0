package codex_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func watched(t testing.TB, s agent.Session) agent.Watched {
	t.Helper()
	w, ok := s.(agent.Watched)
	if !ok {
		t.Fatalf("%T is not watched", s)
	}
	return w
}

// told are the events of the thread's turns.
func told(events []agent.Event) []agent.Event {
	var list []agent.Event
	for _, e := range events {
		switch c := e.(type) {
		case agent.TurnOpened, agent.UserMessage:
			list = append(list, e)
		case agent.TurnClosed:
			list = append(list, agent.TurnClosed{ID: c.ID, Status: c.Status})
		}
	}
	return list
}

func wantTold(t *testing.T, l *agenttest.Log, want ...agent.Event) {
	t.Helper()
	if got := told(l.Events()); !reflect.DeepEqual(got, want) {
		t.Errorf("told\n%+v, want\n%+v:%s", got, want, l)
	}
}

func (p *peer) started(turn string) {
	p.say(`{"method":"turn/started","params":{"threadId":"`+thread+`","turn":{"id":%s,"rootTurnId":%s,"status":"inProgress"}}}`, turn, turn)
}

func (p *peer) message(turn string, client any) {
	p.say(`{"method":"item/started","params":{"threadId":"`+thread+`","turnId":%s,"item":{"type":"userMessage","id":"m","clientId":%s}}}`, turn, client)
}

func (p *peer) itemOf(turn, kind string) {
	p.say(`{"method":"item/started","params":{"threadId":"`+thread+`","turnId":%s,"item":{"type":%s,"id":"i"}}}`, turn, kind)
}

func (p *peer) completed(turn, status string) {
	p.say(`{"method":"turn/completed","params":{"threadId":"`+thread+`","turn":{"id":%s,"items":[],"status":%s}}}`, turn, status)
}

func (p *peer) status(kind string, flags ...string) {
	p.say(`{"method":"thread/status/changed","params":{"threadId":"`+thread+`","status":{"type":%s,"activeFlags":%s}}}`, kind, flags)
}

// mark tells the test that it has read what was said before.
func (p *peer) mark(name string) {
	p.say(`{"method":"warning","params":{"message":%s}}`, name)
}

func until(l *agenttest.Log, name string) {
	l.Until("the mark "+name, func(e agent.Event) bool {
		n, ok := e.(agent.Notice)
		return ok && strings.Contains(string(n.Data), `"`+name+`"`)
	})
}

// sent demands that a request carries the message and nothing that overrides the thread's permissions.
func (p *peer) sent(method string, want string) frame {
	f := p.expect(method)
	var got, expected any
	if json.Unmarshal(f.Params, &got) != nil || json.Unmarshal([]byte(want), &expected) != nil || !reflect.DeepEqual(got, expected) {
		p.Errorf("%s has %s, want %s", method, f.Params, want)
	}
	return f
}

const (
	startRequest = `{"threadId":"` + thread + `","clientUserMessageId":"marker-1","input":[{"type":"text","text":"result","text_elements":[]}]}`
	steerRequest = `{"threadId":"` + thread + `","expectedTurnId":"` + turnID + `","clientUserMessageId":"marker-1","input":[{"type":"text","text":"result","text_elements":[]}]}`
)

var (
	idleDelivery  = agent.Delivery{Text: "result", Marker: "marker-1"}
	steerDelivery = agent.Delivery{Text: "result", Marker: "marker-1", Expected: turnID}
)

func TestADeliveryBeginsATurnOfItsOwn(t *testing.T) {
	tried := make(chan struct{})
	s, l := playing(t, func(p *peer) {
		f := p.sent("turn/start", startRequest)
		p.started(turnID)
		p.answer(f, `{"turn":{"id":"`+turnID+`","status":"inProgress"}}`)
		<-tried
		p.message(turnID, "marker-1")
		p.item("completed", `{"type":"agentMessage","id":"m1","text":"thanks"}`)
		p.finish("completed", "")
		p.begin()
		p.finish("completed", "")
	})
	turn, err := watched(t, s).Deliver(t.Context(), idleDelivery)
	if err != nil || turn != turnID {
		t.Fatalf("delivered to %q: %v", turn, err)
	}
	if err := s.Send(t.Context(), "go"); !errors.Is(err, agent.ErrBusy) {
		t.Errorf("a person's turn while the delivery's runs: %v", err)
	}
	close(tried)
	if end := agenttest.Next[agent.Turn](l); end.Status != agent.Completed || end.Text != "thanks" || end.Err != nil {
		t.Errorf("the turn was %+v", end)
	}
	wantTold(t, l, agent.TurnOpened{ID: turnID}, agent.UserMessage{Turn: turnID, Marker: "marker-1", First: true}, agent.TurnClosed{ID: turnID, Status: "completed"})
	if turn, _ := l.Turn("go"); turn.Status != agent.Completed {
		t.Errorf("the next turn was %s: %v", turn.Status, turn.Err)
	}
}

func TestADeliverySteersTheActiveTurn(t *testing.T) {
	s, l := playing(t, func(p *peer) {
		p.begin()
		p.mark("runs")
		p.answer(p.sent("turn/steer", steerRequest), `{"turnId":"`+turnID+`"}`)
		p.message(turnID, "marker-1")
		p.item("completed", `{"type":"agentMessage","id":"m1","text":"with the result"}`)
		p.finish("completed", "")
	})
	l.Send("go")
	until(l, "runs")
	turn, err := watched(t, s).Deliver(t.Context(), steerDelivery)
	if err != nil || turn != turnID {
		t.Errorf("steered into %q: %v", turn, err)
	}
	if end := agenttest.Next[agent.Turn](l); end.Status != agent.Completed || end.Text != "with the result" {
		t.Errorf("the turn was %+v", end)
	}
	list := told(l.Events())
	if len(list) != 4 || list[2] != (agent.UserMessage{Turn: turnID, Marker: "marker-1"}) {
		t.Errorf("told %+v", list)
	}
}

// The refusals of CLIENT.md, 5. Each request is sent once.
func TestRefusalsOfADelivery(t *testing.T) {
	t.Parallel()
	const compact = `"data":{"message":"x","codexErrorInfo":{"activeTurnNotSteerable":{"turnKind":"compact"}}},`
	for text, want := range map[string]delivery.Refusal{
		`{"code":-32600,"message":"expected active turn id ` + "`X` but found `U`" + `"}`:                                           delivery.Benign,
		`{"code":-32600,"message":"no active turn to steer"}`:                                                                       delivery.Benign,
		`{"code":-32600,` + compact + `"message":"cannot steer a compact turn"}`:                                                    delivery.Benign,
		`{"code":-32600,` + strings.ReplaceAll(compact, "compact", "review") + `"message":"in other words"}`:                        delivery.Benign,
		`{"code":-32603,"message":"failed to submit turn input: ActiveTurnNotSteerable { turn_kind: Compact }"}`:                    delivery.Benign,
		`{"code":-32600,"message":"thread not found: T"}`:                                                                           delivery.Lost,
		`{"code":-32001,"message":"Server overloaded; retry later."}`:                                                               delivery.Busy,
		`{"code":-32600,"message":"expectedTurnId must not be empty"}`:                                                              delivery.Permanent,
		`{"code":-32600,"message":"input must not be empty"}`:                                                                       delivery.Permanent,
		`{"code":-32600,"message":"Invalid request: unknown variant ` + "`turn/steer`" + `"}`:                                       delivery.Permanent,
		`{"code":-32603,"message":"boom"}`:                                                                                          delivery.Permanent,
		`{"code":-32603,"message":"no active turn to steer"}`:                                                                       delivery.Permanent,
		`{"code":-32600,"data":{"codexErrorInfo":"badRequest"},"message":"no"}`:                                                     delivery.Permanent,
		`{"code":-32600,"data":{"codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":500}}},"message":"activeTurnSteerable"}`: delivery.Permanent,
	} {
		for _, d := range []agent.Delivery{idleDelivery, {Text: "result", Marker: "marker-1", Expected: "a person's turn"}} {
			t.Run(fmt.Sprint(want, " ", d.Expected != "", " ", text), func(t *testing.T) {
				t.Parallel()
				s, l := playing(t, func(p *peer) {
					if d.Expected != "" {
						p.started(d.Expected)
						p.message(d.Expected, "a person's")
					}
					p.mark("ready")
					f, _ := p.next()
					p.say(`{"id":%s,"error":`+strings.ReplaceAll(text, "%", "%%")+`}`, f.ID)
					if d.Expected != "" {
						p.completed(d.Expected, "completed")
					}
					p.mark("over")
					p.begin() // an answer to another request than this one would be an error
					p.finish("completed", "")
				})
				until(l, "ready")
				turn, err := watched(t, s).Deliver(t.Context(), d)
				refused, ok := errors.AsType[*agent.Refused](err)
				if !ok || refused.Class != want || turn != "" {
					t.Errorf("%q, %v", turn, err)
				}
				until(l, "over")
				if turns := agenttest.All[agent.Turn](l.Events()); len(turns) != 0 {
					t.Errorf("a turn that never was ended: %+v", turns)
				}
				if turn, _ := l.Turn("go"); turn.Status != agent.Completed {
					t.Errorf("the next turn was %s: %v", turn.Status, turn.Err)
				}
			})
		}
	}
}

// Otherwise a steer would cut off the answer under way, of which nothing would be left.
func TestASteerIsProvedByTheConfigurationOfTheClient(t *testing.T) {
	for _, users := range []bool{false, true} {
		for _, cuts := range []bool{false, true} {
			s, _ := start(t, serve(t, func(p *peer) {
				p.cuts = cuts
				p.greet()
				p.rest()
			}), func(o *agent.Options) { o.UserServers = users })
			if got := watched(t, s).Capabilities().Steer.KeepsAnswers; got == cuts {
				t.Errorf("with the user's servers %v, instant_interrupt %v: KeepsAnswers is %v", users, cuts, got)
			}
		}
	}
}

func TestWhatIsNeverSent(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(*peer)
		send   bool
		d      agent.Delivery
		want   delivery.Refusal
		cause  error
	}{
		"in a turn of ours":         {func(p *peer) { p.begin() }, true, idleDelivery, delivery.Benign, agent.ErrBusy},
		"in a stranger's turn":      {func(p *peer) { p.started("another") }, false, idleDelivery, delivery.Benign, agent.ErrBusy},
		"a steer into nothing":      {func(*peer) {}, false, steerDelivery, delivery.Benign, agent.ErrNoTurn},
		"a steer into another turn": {func(p *peer) { p.started("another") }, false, steerDelivery, delivery.Benign, agent.ErrNoTurn},
		"a steer into a turn that ended": {func(p *peer) {
			p.started(turnID)
			p.completed(turnID, "completed")
		}, false, steerDelivery, delivery.Benign, agent.ErrNoTurn},
		"no text":   {func(*peer) {}, false, agent.Delivery{Marker: "marker-1"}, delivery.Permanent, nil},
		"no marker": {func(*peer) {}, false, agent.Delivery{Text: "result"}, delivery.Permanent, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, l := playing(t, func(p *peer) {
				tc.before(p)
				p.mark("ready")
				if f, ok := p.next(); ok && f.Method != "turn/interrupt" { // Stop interrupts a turn of ours
					p.Errorf("the adapter wrote %s %s", f.Method, f.Params)
				} else if ok {
					p.answer(f, `{}`)
					p.finish("interrupted", "")
				}
			})
			if tc.send {
				l.Send("go")
			}
			until(l, "ready")
			turn, err := watched(t, s).Deliver(t.Context(), tc.d)
			refused, ok := errors.AsType[*agent.Refused](err)
			if !ok || refused.Class != tc.want || turn != "" || tc.cause != nil && !errors.Is(err, tc.cause) {
				t.Errorf("%q, %v", turn, err)
			}
			canceled, stop := context.WithCancel(t.Context())
			stop()
			if _, err := watched(t, s).Deliver(canceled, tc.d); !errors.As(err, &refused) || refused.Class != delivery.NotSent {
				t.Errorf("with a context that has ended: %v", err)
			}
			s.Stop(t.Context())
			if _, err := watched(t, s).Deliver(t.Context(), tc.d); !errors.As(err, &refused) || refused.Class != delivery.NotSent {
				t.Errorf("of a session that has ended: %v", err)
			}
		})
	}
}

// What these answers leave open is no refusal, and nothing is sent again.
func TestWhatNobodyKnowsOfADelivery(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]func(p *peer, f frame, stop context.CancelFunc){
		"no turn":              func(p *peer, f frame, _ context.CancelFunc) { p.answer(f, `{}`) },
		"an empty turn":        func(p *peer, f frame, _ context.CancelFunc) { p.answer(f, `{"turn":{"id":""},"turnId":""}`) },
		"no object":            func(p *peer, f frame, _ context.CancelFunc) { p.answer(f, `"yes"`) },
		"no answer in time":    func(_ *peer, _ frame, stop context.CancelFunc) { stop() },
		"an end in the middle": func(p *peer, _ frame, _ context.CancelFunc) { p.conn.Close() },
		"an answer to no request": func(p *peer, _ frame, stop context.CancelFunc) {
			p.say(`{"id":99,"result":{"turnId":"` + turnID + `"}}`)
			stop()
		},
	} {
		for _, d := range []agent.Delivery{idleDelivery, steerDelivery} {
			t.Run(fmt.Sprint(name, " ", d.Expected != ""), func(t *testing.T) {
				t.Parallel()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				s, l := playing(t, func(p *peer) {
					if d.Expected != "" {
						p.started(turnID)
					}
					p.mark("ready")
					f, _ := p.next()
					reply(p, f, stop)
					if again, ok := p.next(); ok && again.Method != "turn/interrupt" {
						p.Errorf("the adapter wrote %s", again.Method)
					}
				})
				until(l, "ready")
				turn, err := watched(t, s).Deliver(ctx, d)
				var refused *agent.Refused
				if err == nil || errors.As(err, &refused) || turn != "" {
					t.Errorf("%q, %v", turn, err)
				}
			})
		}
	}
}

// A turn/start that meets a turn succeeds and joins it. The person's turn goes on: it is not interrupted.
func TestADeliveryThatJoinsAStrangersTurn(t *testing.T) {
	for name, late := range map[string]bool{"told before the answer": false, "told after the answer": true} {
		t.Run(name, func(t *testing.T) {
			s, l := playing(t, func(p *peer) {
				f := p.sent("turn/start", startRequest)
				if late {
					p.answer(f, `{"turn":{"id":"`+turnID+`"}}`)
				}
				p.started(turnID)
				p.message(turnID, "a person's")
				p.message(turnID, "marker-1")
				if !late {
					p.answer(f, `{"turn":{"id":"`+turnID+`"}}`)
				}
				p.item("completed", `{"type":"agentMessage","id":"m1","text":"to the person"}`)
				p.finish("completed", "")
				p.mark("over")
				if f, ok := p.next(); ok {
					p.Errorf("the adapter wrote %s %s", f.Method, f.Params)
				}
			})
			turn, err := watched(t, s).Deliver(t.Context(), idleDelivery)
			if err != nil || turn != turnID {
				t.Errorf("%q, %v", turn, err)
			}
			until(l, "over")
			wantTold(t, l, agent.TurnOpened{ID: turnID}, agent.UserMessage{Turn: turnID, Marker: "a person's", First: true},
				agent.UserMessage{Turn: turnID, Marker: "marker-1"}, agent.TurnClosed{ID: turnID, Status: "completed"})
			if turns := agenttest.All[agent.Turn](l.Events()); len(turns) != 1 || turns[0].Status != agent.Failed {
				t.Errorf("the delivery's turn was %+v", turns)
			}
			if text := agenttest.Said(l.Events()); text != "" {
				t.Errorf("the person's answer was told as ours: %q", text)
			}
		})
	}
}

func TestTheEndOfATurnOfAnotherKind(t *testing.T) {
	s, l := playing(t, func(p *peer) {
		p.completed("of another kind", "replaced")
		p.mark("over")
	})
	until(l, "over")
	closed := agenttest.All[agent.TurnClosed](l.Events())
	if len(closed) != 1 || closed[0].Status != "replaced" || closed[0].At.IsZero() || delivery.EndOf(closed[0].Status) != delivery.TurnReplaced {
		t.Errorf("closed %+v", closed)
	}
	if !s.Alive() {
		t.Error("not alive")
	}
}
