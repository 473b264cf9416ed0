package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	deliveryacts "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	deliveryflow "github.com/ratchet-dev/ratchet/workflows/delivery"
)

// fate is what has become of a batch.
type fate string

const (
	delivered fate = "delivered"
	queued    fate = "queued"
	forPerson fate = "for a person"
	missing   fate = "missing"
)

// newReader starts a session of the agent in memory that may do nothing but read, on the queue of the fixture. The agent
// notes what it takes in the directory.
func (s *fixture) newReader(t testing.TB, taken string) *sessionFixture {
	return s.openSession(t, taken, session.Input{Provider: "acp:fake", Setup: setup.Options{Mode: agenttest.ReadMode}})
}

// takenIn returns the variable by which a worker's agent knows where to note what it takes.
func takenIn(dir string) string { return takenVariable + "=" + dir }

// enqueue gives the session a batch, and reports whether the session has it. A batch that the session refuses fails the
// test.
func (h *sessionFixture) enqueue(t *testing.T, batch, summary string, stage client.WorkflowUpdateStage, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	p := deliveryacts.EnqueueInput{ID: batch, Profile: delivery.SafeProfile(), Jobs: []delivery.Job{{ID: "job", State: delivery.JobReady, Summary: summary}}}
	u, err := h.client.UpdateWorkflow(ctx, deliveryacts.UpdateOf(string(h.id), p, stage))
	if err == nil && stage == client.WorkflowUpdateStageCompleted {
		err = u.Get(ctx, nil)
	}
	if _, refused := errors.AsType[*temporal.ApplicationError](err); refused {
		t.Fatalf("batch %s is refused: %v", batch, err)
	}
	return err == nil
}

// deliveries returns the deliveries as the workflow has them; ok is false if nobody answers.
func (h *sessionFixture) deliveries(t testing.TB) (v deliveryflow.View, ok bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	got, err := h.client.QueryWorkflow(ctx, h.id.WorkflowID(), "", deliveryflow.Query)
	if err == nil {
		err = got.Get(&v)
	}
	return v, err == nil
}

func fateOf(v deliveryflow.View, batch string) fate {
	for _, e := range v.Fold.Closed {
		switch {
		case e.Batch.ID != batch:
		case e.Close == delivery.Delivered:
			return delivered
		default:
			return forPerson
		}
	}
	for _, e := range v.Fold.Queue {
		switch {
		case e.Batch.ID != batch:
		case e.Replay == delivery.Manual:
			return forPerson
		default:
			return queued
		}
	}
	return missing
}

// settled waits until the batch is delivered or a person's.
func (h *sessionFixture) settled(t *testing.T, batch string) (f fate) {
	t.Helper()
	var v deliveryflow.View
	defer func() {
		if t.Failed() {
			t.Logf("batch %s is %s: %q, in flight: %+v", batch, f, v.Waiting, v.Fold.InFlight())
		}
	}()
	eventually.Within(t, "end of batch "+batch, 10*time.Minute, func() (ok bool) {
		v, ok = h.deliveries(t)
		f = fateOf(v, batch)
		return ok && (f == delivered || f == forPerson)
	})
	return f
}

// closeHead closes the head of the queue if it waits for a person.
func (h *sessionFixture) closeHead(t *testing.T) {
	v, ok := h.deliveries(t)
	if e := v.Fold.Head(); ok && e != nil && e.Replay == delivery.Manual {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		u, err := h.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: h.id.WorkflowID(), UpdateName: deliveryflow.CloseUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
			Args: []any{deliveryflow.Closing{Batch: e.Batch.ID, Reason: delivery.Unconfirmed, By: "ann"}},
		})
		if err == nil {
			_ = u.Get(ctx, nil) // who gets no answer asks again
		}
	}
}

// resumes demands that the session closes what is left to a person, and answers a message.
func (h *sessionFixture) resumes(t *testing.T) {
	t.Helper()
	eventually.Holds(t, "nothing waits for a person", func() bool {
		h.closeHead(t)
		v, ok := h.deliveries(t)
		e := v.Fold.Head()
		return ok && (e == nil || e.Replay != delivery.Manual)
	})
	h.say(t, "afterwards", "[[say:hello]]")
	if p := h.past(t, "afterwards"); p.Outcome != session.Completed || p.Gist != "hello" {
		t.Errorf("afterwards: %s %q (%s)", p.Outcome, p.Gist, p.Reason)
	}
}

// checkLedger demands that every message that the agent took was recorded as an attempt of its batch.
func (h *sessionFixture) checkLedger(t *testing.T) {
	t.Helper()
	entries, err := ledger.In(h.runsDir).Read(string(h.id))
	if err != nil {
		t.Error(err)
	}
	recorded := map[string]string{} // batches by their markers
	batches := map[string]bool{}
	for _, e := range entries {
		if e.Event == nil {
			continue
		}
		switch p := e.Event.Payload.(type) {
		case delivery.Begun:
			recorded[p.Marker] = p.Batch
		case delivery.Enqueued:
			batches[p.Batch.ID] = true
		}
	}
	b, _ := os.ReadFile(filepath.Join(h.talk, "ledger"))
	for line := range strings.Lines(string(b)) {
		batch, marker, _ := strings.Cut(strings.TrimSpace(line), " ")
		if batches[batch] && recorded[marker] != batch {
			t.Errorf("batch %s was taken as %s, which was not recorded", batch, marker)
		}
	}
}

// deliveryAim is a point at which a delivery meets the death of its worker, or of the engine, and what comes of it.
type deliveryAim struct {
	point string
	nth   int // time that the point is reached; 0: the first
	want  fate
	heard int
}

func (a deliveryAim) name() string { return fmt.Sprintf("%s@%d", a.point, max(a.nth, 1)) }

func (a deliveryAim) variable(action string) string {
	return fmt.Sprintf("RATCHET_FAILPOINTS=%s=%s@%d", a.point, action, max(a.nth, 1))
}

// deliveryAims are those of the worker. The first entries of the ledger go with the proof of the thread, the attempt with
// the message, and what was observed by itself.
var deliveryAims = []deliveryAim{
	{point: "delivery.half-ledger", nth: 1, want: delivered, heard: 1},
	{point: "delivery.half-ledger", nth: 2, want: forPerson},
	{point: "delivery.half-ledger", nth: 3, want: forPerson, heard: 1},
	{point: "delivery.before-rpc", want: forPerson},
	{point: "session.before-say", want: forPerson},
	{point: "delivery.sent", want: forPerson, heard: 1},
	{point: "session.said", want: forPerson, heard: 1},
	{point: "delivery.accepted", want: forPerson, heard: 1},
	{point: "session.heard", want: forPerson, heard: 1},
	{point: "session.turn-kept", want: delivered, heard: 1},
}

// repeatingAims are those of the control, which sends again whenever it hears no answer. Once the agent has accepted a
// message, the session may tell of its turn before the worker dies, and then the control does not send it again.
var repeatingAims = []deliveryAim{
	{point: "delivery.before-rpc", want: delivered, heard: 1},
	{point: "delivery.sent", want: delivered, heard: 2},
}

// slowBatch is answered in a second: the points after an acceptance are reached after it.
const slowBatch = "[[slow:3]]"

// TestKilledAtEveryPointOfADelivery kills the worker right before and after each effect of a delivery, and says for each
// what must come of the batch, and how often the agent takes it. The session answers afterwards.
func TestKilledAtEveryPointOfADelivery(t *testing.T) {
	need.Suite(t, need.CI)
	for _, point := range failpoints(t) {
		aimed := slices.ContainsFunc(deliveryAims, func(a deliveryAim) bool { return a.point == point })
		if strings.HasPrefix(point, "delivery.") && !aimed {
			t.Errorf("nobody is killed at %s", point)
		}
	}
	t.Parallel()
	s := newOwnFixture(t)
	for kind, aims := range map[string][]deliveryAim{faking: deliveryAims, repeating: repeatingAims} {
		for _, a := range aims {
			t.Run(kind+"/"+a.name(), func(t *testing.T) { a.killWorker(t, s, kind) })
		}
	}
}

func (a deliveryAim) killWorker(t *testing.T, s *fixture, kind string) {
	t.Parallel()
	h := s.at(uuid.NewString()).newReader(t, t.TempDir())
	doomed := h.launch(asWorker+"="+kind, takenIn(h.talk), a.variable("kill"))
	eventually.Holds(t, "batch enqueued", func() bool {
		return h.enqueue(t, "b-1", slowBatch, client.WorkflowUpdateStageAccepted, 10*time.Second)
	})
	select {
	case <-doomed.done:
	case <-time.After(5 * time.Minute):
		t.Fatal("the worker lives")
	}
	next := h.launch(asWorker+"="+kind, takenIn(h.talk))
	defer next.kill()
	got := h.settled(t, "b-1")
	h.resumes(t)
	if n := h.heard("b-1 "); got != a.want || n != a.heard {
		t.Errorf("%s, taken %d times; want %s, %d", got, n, a.want, a.heard)
	}
	h.checkLedger(t)
}

// TestEngineKilledAtEveryPointOfADelivery kills the engine while a worker stands at each of the points. Nothing is lost
// with it, and nothing is sent again.
func TestEngineKilledAtEveryPointOfADelivery(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	s := newOwnFixture(t)
	type stopped struct {
		deliveryAim
		*sessionFixture
		worker *workerProcess
		log    string
	}
	var all []stopped
	for _, a := range deliveryAims {
		there := s.at(uuid.NewString())
		there.runsDir, there.home = t.TempDir(), t.TempDir() // a stopped worker may have a lock that others wait for
		there.writeEngineFile(s.engine.Key)
		h := there.newReader(t, t.TempDir())
		log := filepath.Join(h.talk, "points")
		w := h.launch(asWorker+"="+faking, takenIn(h.talk), a.variable("stop"), "RATCHET_FAILPOINT_LOG="+log)
		all = append(all, stopped{a, h, w, log})
	}
	for _, o := range all {
		eventually.Holds(t, "batch enqueued", func() bool {
			return o.enqueue(t, "b-1", slowBatch, client.WorkflowUpdateStageAccepted, 10*time.Second)
		})
	}
	for _, o := range all {
		eventually.Holds(t, "worker at "+o.name(), func() bool {
			b, _ := os.ReadFile(o.log)
			return strings.Count(string(b), o.point+"\n") >= max(o.nth, 1)
		})
	}
	s.killEngine()
	for _, o := range all {
		if err := o.worker.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
	for _, o := range all {
		got, n := o.settled(t, "b-1"), o.sessionFixture.heard("b-1 ")
		snap, err := o.sessions().State(t.Context(), o.id)
		lost := err == nil && (snap.Epochs > 1 || snap.Process == nil) // a machine so busy that a process was given up
		if n > 1 || !lost && (got != delivered || n != 1) {
			t.Errorf("%s: %s, taken %d times in %d processes; want delivered, once", o.name(), got, n, snap.Epochs)
		}
		o.resumes(t)
		o.checkLedger(t)
	}
}
