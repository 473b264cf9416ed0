package pi_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/agenttest"
	"github.com/ratchet-dev/ratchet/internal/agent/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// A delivery into an idle session of the real pi is a turn of its own, with its marker. While a person's turn runs it
// is refused, and a person's while it runs.
func TestADeliveryToTheRealPi(t *testing.T) {
	s, l, model := realSession(t, pi.TrustNobody, agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly}, nil)
	w := s.(agent.Watched)
	prove := func(want delivery.Activity) {
		t.Helper()
		thread, err := w.Thread(t.Context())
		p := thread.Prove(delivery.Session{ID: "s", Epoch: 1}, w.Capabilities())
		if err != nil || p.Activity.Activity != want || !p.Capabilities.Minimum() || p.Capabilities.TurnSteer() || *p.Permissions.Current != (delivery.Allows{}) {
			t.Errorf("proved %+v of %+v, %v: want %s", p, thread, err, want)
		}
	}
	prove(delivery.IdleThread)
	for range 2 {
		from := len(l.Events())
		marker := uuid.NewString()
		turn, err := w.Deliver(t.Context(), agent.Delivery{Text: "result " + marker + fakemodel.Say("thanks") + "[[slow:2]]", Marker: marker})
		if err != nil || turn == "" {
			t.Fatalf("delivered to %q: %v", turn, err)
		}
		if err := s.Send(t.Context(), "hello"); !errors.Is(err, agent.ErrBusy) {
			t.Errorf("a person's turn meanwhile: %v", err)
		}
		prove(delivery.ActiveThread)
		if end := agenttest.Next[agent.Turn](l); end.Status != agent.Completed {
			t.Fatalf("the turn was %+v", end)
		}
		events := l.Events()[from:]
		messages, ends := agenttest.All[agent.UserMessage](events), agenttest.All[agent.TurnClosed](events)
		if len(messages) != 1 || messages[0] != (agent.UserMessage{Turn: turn, Marker: marker, First: true}) || len(ends) != 1 || ends[0].ID != turn || ends[0].Status != "completed" {
			t.Errorf("messages %+v, ends %+v", messages, ends)
		}
		heard := 0
		for _, q := range model.Requests() {
			if strings.Contains(q.Text(), marker) {
				heard++
			}
		}
		if heard == 0 {
			t.Error("the model did not get it")
		}
		thread, err := w.Thread(t.Context())
		if got, first, alone := thread.Marked(marker); err != nil || !alone || !first || got.ID != turn || got.Status != "completed" || !got.Ended {
			t.Errorf("the read shows %+v, %v", got, err)
		}
	}
	l.Send(fakemodel.Say("to a person") + "[[slow:2]]")
	var refused *agent.Refused
	if _, err := w.Deliver(t.Context(), agent.Delivery{Text: "x other-marker", Marker: "other-marker"}); !errors.As(err, &refused) || refused.Class != delivery.Benign {
		t.Errorf("beside a person's turn: %v", err)
	}
	if _, err := w.Deliver(t.Context(), agent.Delivery{Text: "x other-marker", Marker: "other-marker", Expected: "turn"}); !errors.As(err, &refused) || refused.Class != delivery.Benign {
		t.Errorf("a steer: %v", err)
	}
	agenttest.Next[agent.Turn](l)
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	agenttest.Next[agent.Exit](l)
	if _, err := w.Deliver(t.Context(), agent.Delivery{Text: "x other-marker", Marker: "other-marker"}); !errors.As(err, &refused) || refused.Class != delivery.NotSent {
		t.Errorf("to a dead client: %v", err)
	}
	if _, err := w.Thread(t.Context()); err == nil {
		t.Error("a dead client's thread was read")
	}
}
