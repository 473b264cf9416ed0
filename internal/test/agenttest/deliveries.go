package agenttest

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// TakeDeliveries tests three promises of a client whose thread has one owner: a delivery into an idle session is a turn of
// its own with its marker, a person's turn and a delivery never overlap, and the session takes deliveries again after its
// process was killed. The options must make the session read-only.
func TakeDeliveries(t *testing.T, a agent.Adapter, o agent.Options, model *fakemodel.Server) {
	d := &deliveries{T: t, adapter: a, options: o, model: model}
	d.begin("")
	d.prove(delivery.IdleThread)
	first := d.deliver()
	d.deliver()
	d.meetsPerson()
	d.kill()
	d.begin(d.ID())
	d.prove(delivery.IdleThread)
	d.deliver()
	last := model.Requests()[len(model.Requests())-1]
	if !strings.Contains(last.Text(), first) {
		t.Error("the resumed session has forgotten its first delivery")
	}
}

// lasting makes an answer last some seconds: a busy machine must come to what a test does during a turn.
const lasting = "[[slow:12]]"

// deliveries is a session that takes deliveries.
type deliveries struct {
	*testing.T
	agent.Watched
	adapter agent.Adapter
	options agent.Options
	model   *fakemodel.Server
	log     *Log
}

// begin starts the session, or resumes it.
func (d *deliveries) begin(resume string) {
	d.Helper()
	d.options.Resume = resume
	s, err := d.adapter.Start(d.Context(), d.options)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { s.Stop(d.Context()) })
	w, ok := s.(agent.Watched)
	if !ok {
		d.Fatalf("%T proves nothing of its thread", s)
	}
	d.Watched, d.log = w, Watch(d.T, s)
}

func (d *deliveries) prove(want delivery.Activity) {
	d.Helper()
	thread, err := d.Thread(d.Context())
	p := thread.Prove(delivery.Session{ID: "s", Epoch: 1}, d.Capabilities())
	if err != nil || p.Activity.Activity != want || !p.Capabilities.Minimum() || p.Capabilities.TurnSteer() || *p.Permissions.Current != (delivery.Allows{}) {
		d.Errorf("proved %+v of %+v, %v: want %s", p, thread, err, want)
	}
}

// deliver delivers a message, whose turn no person's joins, and returns its marker.
func (d *deliveries) deliver() string {
	d.Helper()
	from, marker := len(d.log.Events()), uuid.NewString()
	turn, err := d.Deliver(d.Context(), agent.Delivery{Text: "result " + marker + fakemodel.Say("thanks") + lasting, Marker: marker})
	if err != nil || turn == "" {
		d.Fatalf("delivered to %q: %v", turn, err)
	}
	if err := d.Send(d.Context(), "hello"); !errors.Is(err, agent.ErrBusy) {
		d.Errorf("a person's turn meanwhile: %v", err)
	}
	d.prove(delivery.ActiveThread)
	if end := Next[agent.Turn](d.log); end.Status != agent.Completed {
		d.Fatalf("the turn was %+v", end)
	}
	events := d.log.Events()[from:]
	messages, ends := All[agent.UserMessage](events), All[agent.TurnClosed](events)
	if len(messages) != 1 || messages[0] != (agent.UserMessage{Turn: turn, Marker: marker, First: true}) || len(ends) != 1 || ends[0].ID != turn || ends[0].Status != "completed" {
		d.Errorf("messages %+v, ends %+v", messages, ends)
	}
	requests := d.model.Requests()
	if len(requests) == 0 || !strings.Contains(requests[len(requests)-1].Text(), marker) {
		d.Error("the model did not get it")
	}
	thread, err := d.Thread(d.Context())
	if got, first, alone := thread.Marked(marker); err != nil || !alone || !first || got.ID != turn || got.Status != "completed" || !got.Ended {
		d.Errorf("the read shows %+v, %v", got, err)
	}
	return marker
}

// refuse demands that a delivery into the turn, or of its own, is refused.
func (d *deliveries) refuse(what, turn string, want delivery.Refusal) {
	d.Helper()
	marker := uuid.NewString()
	var refused *agent.Refused
	if _, err := d.Deliver(d.Context(), agent.Delivery{Text: "x " + marker, Marker: marker, Expected: turn}); !errors.As(err, &refused) || refused.Class != want {
		d.Errorf("%s: %v", what, err)
	}
}

func (d *deliveries) meetsPerson() {
	d.Helper()
	d.log.Send(fakemodel.Say("to a person") + lasting)
	d.refuse("beside a person's turn", "", delivery.Benign)
	d.refuse("a steer", "turn", delivery.Benign)
	Next[agent.Turn](d.log)
}

func (d *deliveries) kill() {
	d.Helper()
	if err := syscall.Kill(d.PID(), syscall.SIGKILL); err != nil {
		d.Fatal(err)
	}
	Next[agent.Exit](d.log)
	d.refuse("to a dead client", "", delivery.NotSent)
	if _, err := d.Thread(d.Context()); err == nil {
		d.Error("a dead client's thread was read")
	}
}
