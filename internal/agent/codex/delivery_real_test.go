package codex_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// slowly is a prompt for an answer that takes a while.
func slowly(text string, pieces int) string {
	return fakemodel.Say(text) + fmt.Sprintf("[[slow:%d]]", pieces)
}

// reader is a session of the real client that may do nothing but read.
func reader(t *testing.T) (*fakemodel.Server, agent.Watched, *agenttest.Log) {
	t.Helper()
	model, _, s, l := live(t, func(o *agent.Options) { o.Sandbox = agent.ReadOnly })
	return model, watched(t, s), l
}

// opened waits for the next turn, and returns its id.
func opened(l *agenttest.Log) string { return agenttest.Next[agent.TurnOpened](l).ID }

// closed waits for the end of a turn.
func closed(l *agenttest.Log, turn string) agent.TurnClosed {
	return l.Until("the end of turn "+turn, func(e agent.Event) bool {
		c, ok := e.(agent.TurnClosed)
		return ok && c.ID == turn
	}).(agent.TurnClosed)
}

// absorbed demands that a read shows the message in one turn, which completed.
func absorbed(t *testing.T, s agent.Watched, marker, want string, asFirst bool) {
	t.Helper()
	read, err := s.Thread(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	turn, first, alone := read.Marked(marker)
	if !alone || turn.ID != want || turn.Status != "completed" || first != asFirst {
		t.Errorf("marker %s is in %+v (alone %v), want turn %s: %+v", marker, turn, alone, want, read.Turns)
	}
}

// A steer into a low-risk turn that runs: the same turn, taken in, no extra turn, no early end, and the
// answer under way is not lost.
func TestASteerIntoTheRealClient(t *testing.T) {
	realClient(t)
	model, s, l := reader(t)
	l.Send(slowly("first answer", 12))
	turn := opened(l)
	agenttest.Next[agent.Text](l)
	read, err := s.Thread(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v := read.View("s", 1); v.Risk() != delivery.LowRisk || !*v.Steerable || *v.ID != turn {
		t.Fatalf("view %+v of %+v", v, read)
	}
	took, err := s.Deliver(t.Context(), agent.Delivery{Text: fakemodel.Say("second answer"), Marker: "steer-1", Expected: turn})
	if err != nil || took != turn {
		t.Fatalf("steered into %q: %v", took, err)
	}
	end := agenttest.Next[agent.Turn](l)
	if end.Status != agent.Completed || end.Text != "second answer" {
		t.Errorf("the turn was %+v", end)
	}
	if said := agenttest.Said(l.Events()); !strings.Contains(said, "first answer") {
		t.Errorf("the answer under way was lost: %q", said)
	}
	all := l.Events()
	if turns, ends := agenttest.All[agent.TurnOpened](all), agenttest.All[agent.TurnClosed](all); len(turns) != 1 || len(ends) != 1 || ends[0].ID != turn || ends[0].Status != "completed" {
		t.Errorf("turns %+v, ends %+v", turns, ends)
	}
	messages := agenttest.All[agent.UserMessage](all)
	if len(messages) != 2 || !messages[0].First || messages[1] != (agent.UserMessage{Turn: turn, Marker: "steer-1"}) {
		t.Errorf("messages %+v", messages)
	}
	absorbed(t, s, "steer-1", turn, false)
	heard := 0
	for _, q := range model.Requests() {
		if strings.Contains(q.Text(), "second answer") {
			heard++
		}
	}
	if heard != 1 {
		t.Errorf("%d requests to the model have the message", heard)
	}
}

func TestRefusalsOfTheRealClient(t *testing.T) {
	realClient(t)
	_, s, l := reader(t)
	if read, err := s.Thread(t.Context()); err != nil || read.Status != "idle" || len(read.Turns)+len(read.Active) != 0 || read.Allows == nil || *read.Allows != (delivery.Allows{}) {
		t.Errorf("a thread without a turn: %+v, %v", read, err)
	}
	refused := func(d agent.Delivery) {
		t.Helper()
		var e *agent.Refused
		if turn, err := s.Deliver(t.Context(), d); !errors.As(err, &e) || e.Class != delivery.Benign {
			t.Errorf("%+v was taken by %q: %v", d, turn, err)
		}
	}
	refused(agent.Delivery{Text: "x", Marker: "steer-0", Expected: "none"})
	l.Send(slowly("answer", 8))
	turn := opened(l)
	refused(agent.Delivery{Text: "x", Marker: "start-1"})
	refused(agent.Delivery{Text: "x", Marker: "steer-1", Expected: "another"})
	closed(l, turn)
	refused(agent.Delivery{Text: "x", Marker: "steer-2", Expected: turn})
	if messages := agenttest.All[agent.UserMessage](l.Events()); len(messages) != 1 {
		t.Errorf("messages %+v", messages)
	}
}

// moments are events of a turn whose id is known, in their order. Once the usage of the answer is told the
// client may refuse a steer; once the turn is closed we refuse it.
var moments = []struct {
	what string
	is   func(agent.Event) bool
}{
	{"its beginning", nil},
	{"its message", isA[agent.UserMessage]},
	{"a text", isA[agent.Text]},
	{"its usage", isA[agent.UsageUpdate]},
	{"its end", isA[agent.TurnClosed]},
}

func isA[E agent.Event](e agent.Event) bool {
	_, ok := e.(E)
	return ok
}

// Steers around the end of a turn: each is taken into that turn, or refused before it had any effect.
func TestSteersRaceTheEndOfARealTurn(t *testing.T) {
	realClient(t)
	_, s, l := reader(t)
	accepted, refused, unsent := 0, 0, 0
	for i := range 50 {
		from := len(l.Events())
		first := fmt.Sprintf("first answer %d.", i)
		l.Send(fakemodel.Say(first))
		turn := opened(l)
		if m := moments[i%len(moments)]; m.is != nil {
			l.Until(m.what, m.is)
		}
		marker := fmt.Sprintf("steer-%d", i)
		took, err := s.Deliver(t.Context(), agent.Delivery{Text: "the result", Marker: marker, Expected: turn})
		var e *agent.Refused
		switch {
		case err == nil && took == turn:
			accepted++
		case errors.Is(err, agent.ErrNoTurn): // we knew already
			unsent++
		case errors.As(err, &e) && e.Class == delivery.Benign:
			refused++
		default:
			t.Fatalf("try %d: %q, %v", i, took, err)
		}
		if end := agenttest.Next[agent.Turn](l); end.Status != agent.Completed {
			t.Fatalf("try %d: the turn was %+v", i, end)
		}
		events := l.Events()[from:]
		messages, turns := agenttest.All[agent.UserMessage](events), agenttest.All[agent.TurnOpened](events)
		if len(turns) != 1 || !strings.Contains(agenttest.Said(events), first) {
			t.Fatalf("try %d: turns %+v, said %q", i, turns, agenttest.Said(events))
		}
		if err != nil {
			if len(messages) != 1 {
				t.Fatalf("try %d was refused, and has messages %+v", i, messages)
			}
			continue
		}
		if len(messages) != 2 || messages[1].Marker != marker || messages[1].Turn != turn || messages[1].First {
			t.Fatalf("try %d was accepted, and has messages %+v", i, messages)
		}
		absorbed(t, s, marker, turn, false)
	}
	t.Logf("%d accepted, %d refused by the client, %d not sent", accepted, refused, unsent)
	if accepted == 0 || refused+unsent == 0 {
		t.Error("the tries did not meet the end of a turn")
	}
}

// A delivery into an idle thread while a person begins a turn: one of the two begins a turn, and the
// other is refused. Neither is merged into the other's turn.
func TestAnIdleDeliveryMeetsAPersonsTurn(t *testing.T) {
	realClient(t)
	_, s, l := reader(t)
	won := map[bool]int{}
	for i := range 20 {
		from := len(l.Events())
		marker := fmt.Sprintf("delivery-%d", i)
		var sent, refused error
		var took string
		var both sync.WaitGroup
		person := func() { sent = s.Send(t.Context(), slowly("to the person", 1)) }
		result := func() {
			took, refused = s.Deliver(t.Context(), agent.Delivery{Text: fakemodel.Say("thanks"), Marker: marker})
		}
		if i%2 == 0 {
			person, result = result, person
		}
		both.Go(person)
		both.Go(result)
		both.Wait()
		var e *agent.Refused
		switch {
		case sent == nil && errors.As(refused, &e) && e.Class == delivery.Benign:
		case errors.Is(sent, agent.ErrBusy) && refused == nil:
		default:
			t.Fatalf("try %d: the person had %v, the delivery %q %v", i, sent, took, refused)
		}
		delivered := refused == nil
		won[delivered]++
		if end := agenttest.Next[agent.Turn](l); end.Status != agent.Completed {
			t.Fatalf("try %d: the turn was %+v", i, end)
		}
		messages := agenttest.All[agent.UserMessage](l.Events()[from:])
		if len(messages) != 1 || !messages[0].First || (messages[0].Marker == marker) != delivered {
			t.Fatalf("try %d: messages %+v", i, messages)
		}
		if delivered {
			absorbed(t, s, marker, took, true)
		}
	}
	t.Logf("the delivery began %d turns, the person %d", won[true], won[false])
	if won[true] == 0 || won[false] == 0 {
		t.Errorf("one of the two always won: %v", won)
	}
}
