package session_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	deliveryacts "github.com/ratchet-dev/ratchet/activities/delivery"
	activities "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	deliveryflow "github.com/ratchet-dev/ratchet/workflows/delivery"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// reader is a session that may do nothing but read.
var reader = session.Input{Setup: setup.Options{Mode: agenttest.ReadMode}}

func batch(id, summary string) deliveryacts.EnqueueInput {
	return deliveryacts.EnqueueInput{ID: id, Profile: delivery.SafeProfile(), Jobs: []delivery.Job{{ID: "job", State: delivery.JobReady, Summary: summary}}}
}

func (s *stage) enqueue(p deliveryacts.EnqueueInput) {
	s.t.Helper()
	_, err := s.Client.UpdateWorkflow(s.t.Context(), deliveryacts.UpdateOf(string(s.id), p, client.WorkflowUpdateStageCompleted))
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) deliveries() (v deliveryflow.View) {
	got, err := s.Client.QueryWorkflow(s.t.Context(), s.id.WorkflowID(), "", deliveryflow.Query)
	if err == nil {
		err = got.Get(&v)
	}
	if err != nil {
		s.t.Log(err)
	}
	return v
}

// delivers waits until the batch is closed as delivered, and demands that the agent heard it once.
func (s *stage) delivers(batch string) {
	s.t.Helper()
	var v deliveryflow.View
	i := -1
	defer func() {
		if s.t.Failed() {
			s.t.Logf("batch %s: open %+v, it waits because of %q, the session is %s", batch, v.Fold.Queue, v.Waiting, s.state().State)
		}
	}()
	eventually.Within(s.t, "batch "+batch+" is closed", 2*time.Minute, func() bool {
		v = s.deliveries()
		i = slices.IndexFunc(v.Fold.Closed, func(e delivery.Entry) bool { return e.Batch.ID == batch })
		return i >= 0
	})
	if e := v.Fold.Closed[i]; e.Close != delivery.Delivered || e.Charged != 1 {
		s.t.Errorf("batch %s is closed as %s, charged %d", batch, e.Close, e.Charged)
	}
	if n := s.got(batch); n != 1 {
		s.t.Errorf("the agent got batch %s %d times", batch, n)
	}
}

// got counts the deliveries of a batch that the agent has among its messages.
func (s *stage) got(batch string) int {
	markers := map[string]bool{}
	for _, q := range s.fake.Model.Requests() {
		for _, m := range q.Messages {
			for _, text := range m.Texts {
				rest, ok := strings.CutPrefix(text, "[ratchet delivery ")
				if marker, _, _ := strings.Cut(rest, ":"); ok && strings.Contains(text, "batch "+batch+",") {
					markers[marker] = true
				}
			}
		}
	}
	return len(markers)
}

// waitsBecause waits until the head of the queue is held up for the reason.
func (s *stage) waitsBecause(why string) {
	s.t.Helper()
	eventually.Within(s.t, "the head waits: "+why, 2*time.Minute, func() bool { return s.waits(why) })
}

func (s *stage) waits(why string) bool { return strings.Contains(s.deliveries().Waiting, why) }

// waitsForPerson waits until the head of the queue is manual.
func (s *stage) waitsForPerson() {
	s.t.Helper()
	eventually.Within(s.t, "the head waits for a person", 2*time.Minute, func() bool {
		v := s.deliveries()
		e := v.Fold.Head()
		return e != nil && e.Replay == delivery.Manual
	})
}

// accepted waits until the agent has taken the message in.
func (s *stage) accepted() {
	s.t.Helper()
	eventually.Within(s.t, "the delivery is accepted", 2*time.Minute, func() bool {
		v := s.deliveries()
		a := v.Fold.InFlight()
		return a != nil && a.State == delivery.Cooldown && a.Marked
	})
}

var deliveryPaths = []path{
	{"delivers-when-idle", nil, func(t *testing.T, s *stage) {
		s.begin(reader)
		s.enqueue(batch("b-1", "[[say:thanks]]"))
		s.enqueue(batch("b-1", "[[say:thanks]]"))
		s.delivers("b-1")
		s.say("m1", "[[say:hello]]")
		s.answer("m1", session.Completed, "hello")
		if past := s.state().Past; len(past) != 1 {
			t.Errorf("the delivery is among the messages: %+v", past)
		}
		entries, err := ledger.In(s.runs.Dir()).Read(string(s.id))
		if err != nil {
			t.Fatal(err)
		}
		var told []delivery.Audit
		for _, e := range entries {
			for _, l := range e.Audit {
				told = append(told, l.Decision)
			}
		}
		if !slices.Contains(told, delivery.AuditStart) || told[len(told)-1] != delivery.AuditObserved {
			t.Errorf("the ledger tells %v", told)
		}
	}},
	{"delivers-after-a-persons-turn", nil, func(t *testing.T, s *stage) {
		s.begin(reader)
		s.say("m1", `[[say:working]][[slow:5]]`)
		s.awaitState(session.Working)
		s.enqueue(batch("b-1", "[[say:thanks]]"))
		s.delivers("b-1")
		s.answer("m1", session.Completed, "workingslow0 slow1 slow2 slow3 slow4")
	}},
	{"delivers-by-trust", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{Deliveries: delivery.TrustedAll})
		s.enqueue(batch("b-1", "[[say:thanks]]"))
		s.delivers("b-1")
	}},
	{"delivers-nothing-to-a-writer", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.enqueue(batch("b-1", "[[say:thanks]]"))
		eventually.Within(t, "it says why it waits", time.Minute, func() bool { return s.deliveries().Waiting == string(delivery.Permitted) })
		if n := s.got("b-1"); n != 0 {
			t.Errorf("the agent got it %d times", n)
		}
		s.must(deliveryflow.CloseUpdate, deliveryflow.Closing{Reason: delivery.Cancelled, By: "ann"})
	}},
	{"delivery-wakes", func(c *activities.Config) { c.Idle = 3 * time.Second }, func(t *testing.T, s *stage) {
		s.begin(reader)
		s.say("m1", "[[say:hello]]")
		s.answer("m1", session.Completed, "hello")
		s.awaitState(session.Asleep)
		s.enqueue(batch("b-1", "[[say:thanks]]"))
		s.delivers("b-1")
	}},
	{"delivers-once-it-has-a-thread", func(c *activities.Config) { c.Most = 1 }, func(t *testing.T, s *stage) {
		occupies := s.another()
		occupies.begin(session.Input{})
		occupies.say("m0", "[[say:working]][[slow:600]]")
		occupies.awaitState(session.Working)
		s.begin(reader)
		s.enqueue(batch("b-1", "[[say:thanks]]")) // the receipt waits for no agent
		if v := s.deliveries(); len(v.Fold.Queue) != 1 || !strings.Contains(v.Waiting, "session_not_live") {
			t.Errorf("without a place: %+v", v)
		}
		occupies.must(sessionflow.RetireUpdate, sessionflow.By{})
		s.delivers("b-1")
	}},
	{"delivery-closed-before-it-has-a-thread", func(c *activities.Config) { c.Most = 1 }, func(t *testing.T, s *stage) {
		occupies := s.another()
		occupies.begin(session.Input{})
		occupies.say("m0", "[[say:working]][[slow:600]]")
		occupies.awaitState(session.Working)
		s.begin(reader)
		s.enqueue(batch("b-1", "[[say:thanks]]"))
		s.must(deliveryflow.CloseUpdate, deliveryflow.Closing{Reason: delivery.Cancelled, By: "ann"})
		s.must(deliveryacts.EnqueueUpdate, batch("b-1", "[[say:thanks]]")) // an update that the engine does not know
		s.enqueue(batch("b-2", "[[say:thanks]]"))
		if v := s.deliveries(); len(v.Fold.Queue) != 1 || len(v.Fold.Closed) != 1 || v.Fold.Closed[0].By != "ann" {
			t.Errorf("without a place: %+v", v)
		}
		occupies.must(sessionflow.RetireUpdate, sessionflow.By{})
		s.delivers("b-2")
		if n := s.got("b-1"); n != 0 {
			t.Errorf("the agent got a closed batch %d times", n)
		}
	}},
	{"delivery-to-a-forgotten-session", nil, func(t *testing.T, s *stage) {
		s.begin(reader)
		s.say("m1", "[[say:one]]")
		s.answer("m1", session.Completed, "one")
		s.must(sessionflow.StopUpdate, sessionflow.By{})
		s.awaitState(session.Asleep)
		s.fake.Refuse = func(o agent.Options) error {
			if o.Resume != "" {
				return agent.ErrNoSession
			}
			return nil
		}
		s.enqueue(batch("b-1", "[[say:thanks]]"))
		s.waitsBecause("say --fresh")
		s.enqueue(batch("b-2", "[[say:thanks]]"))
		if n := len(s.fake.Starts()); n != 1 || s.state().State != session.Unable || s.state().Epochs != 2 {
			t.Errorf("%d starts, %+v", n, s.state())
		}
		s.must(sessionflow.SayUpdate, session.Message{ID: "m2", Text: "[[say:two]]", Fresh: true})
		s.answer("m2", session.Completed, "two")
		s.delivers("b-1")
	}},
	{"delivery-wakes-are-paced", func(c *activities.Config) { c.Most = 1 }, func(t *testing.T, s *stage) {
		other := s.another()
		for _, one := range []*stage{other, s} { // a batch for a writer is denied
			one.begin(session.Input{})
			one.enqueue(batch("b-1", "[[say:thanks]]"))
		}
		eventually.Within(t, "one of the two pauses", 2*time.Minute, func() bool { return other.waits("took no result") || s.waits("took no result") })
		for _, one := range []*stage{other, s} {
			one.must(deliveryflow.CloseUpdate, deliveryflow.Closing{Reason: delivery.Cancelled, By: "ann"})
		}
		other.must(sessionflow.RetireUpdate, sessionflow.By{})
		s.say("m1", "[[say:hello]]")
		s.answer("m1", session.Completed, "hello")
	}},
	{"delivery-waits-for-a-budget", nil, func(t *testing.T, s *stage) {
		in := reader
		in.MaxTokens = 1000
		s.begin(in)
		s.say("m1", "[[usage:2000,10]][[say:hello]]")
		snap := s.awaitState(session.Asking)
		s.enqueue(batch("b-1", "[[say:thanks]]"))
		s.waitsBecause("a budget of the session is used up")
		s.must(sessionflow.AnswerMessage, run.Reply{QuestionID: snap.Question.ID, Text: "1000000"})
		s.delivers("b-1")
	}},
	{"delivery-uses-up-a-budget", nil, func(t *testing.T, s *stage) {
		in := reader
		in.MaxTokens = 3000
		s.begin(in)
		s.enqueue(batch("b-1", strings.Repeat(`[[tool:read {"path":"a.txt"}]]`, 2)+reading))
		snap := s.awaitState(session.Asking)
		s.waitsForPerson()
		if snap.Question == nil || snap.Usage.TotalTokens < 3000 {
			t.Errorf("used %d, asks %+v", snap.Usage.TotalTokens, snap.Question)
		}
		s.must(deliveryflow.CloseUpdate, deliveryflow.Closing{Reason: delivery.Unconfirmed, By: "ann"})
		s.enqueue(batch("b-2", "[[say:thanks]]"))
		s.waitsBecause("a budget of the session is used up")
		s.must(sessionflow.AnswerMessage, run.Reply{QuestionID: snap.Question.ID, Text: "1000000"})
		s.delivers("b-2")
		if n := s.got("b-1"); n != 1 {
			t.Errorf("the agent got it %d times", n)
		}
	}},
	{"delivery-stopped-in-its-turn", nil, func(t *testing.T, s *stage) {
		s.begin(reader)
		s.enqueue(batch("b-1", reading))
		s.await("spends on b-1", func(session.Snapshot) bool {
			b, _ := s.runs.Session(string(s.id)).Note()
			return strings.Contains(string(b), `"used":{"`)
		})
		s.must(sessionflow.StopUpdate, sessionflow.By{})
		s.waitsForPerson()
		if snap := s.awaitState(session.Asleep); snap.Usage.TotalTokens == 0 || snap.Unseen != "" {
			t.Errorf("used %+v, waits for the usage of %q", snap.Usage, snap.Unseen)
		}
		s.must(deliveryflow.CloseUpdate, deliveryflow.Closing{Reason: delivery.Unconfirmed, By: "ann"})
	}},
	{"delivery-lost-with-its-agent", nil, func(t *testing.T, s *stage) {
		s.begin(reader)
		s.enqueue(batch("b-1", "[[say:working]][[slow:600]]"))
		s.accepted()
		s.fake.Crash()
		s.waitsForPerson()
		s.say("m1", "[[say:hello]]")
		s.answer("m1", session.Completed, "hello")
		if err := s.send(sessionflow.RetireUpdate, sessionflow.By{}); err == nil || !strings.Contains(err.Error(), "session_pending_manual_resolution") {
			t.Errorf("retired: %v", err)
		}
		s.must(deliveryflow.CloseUpdate, deliveryflow.Closing{Reason: delivery.Unconfirmed, By: "ann"})
		s.enqueue(batch("b-2", "[[say:thanks]]"))
		s.delivers("b-2")
		if n := s.got("b-1"); n != 1 {
			t.Errorf("the agent got it %d times", n)
		}
	}},
	{"delivery-lost-with-its-worker", nil, func(t *testing.T, s *stage) {
		s.begin(reader)
		s.enqueue(batch("b-1", "[[say:working]][[slow:600]]"))
		s.accepted()
		s.lose("RunProcess")
		s.waitsForPerson()
		s.must(deliveryflow.CloseUpdate, deliveryflow.Closing{Reason: delivery.Confirmed, By: "ann"})
	}},
	{"delivery-unanswered", nil, func(t *testing.T, s *stage) {
		taken, answer := make(chan struct{}), make(chan struct{})
		s.fake.Took = func(agent.Delivery) { close(taken); <-answer }
		s.begin(reader)
		s.enqueue(batch("b-1", "[[say:thanks]]"))
		<-taken
		s.lose("RunProcess")
		s.lose("SendDelivery")
		close(answer)
		s.waitsForPerson()
		v := s.deliveries()
		if e := v.Fold.Head(); e.Charged != 0 || e.Attempts[0].RPC != delivery.UnknownRPC {
			t.Errorf("the batch is %+v", e)
		}
		s.must(deliveryflow.CloseUpdate, deliveryflow.Closing{Reason: delivery.Confirmed, By: "ann"})
	}},
	{"delivery-after-an-override", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{Deliveries: delivery.TrustedAll})
		s.must(sessionflow.SayUpdate, session.Message{ID: "m1", Text: "[[say:one]]", Override: setup.Choice{Mode: "plan"}})
		s.answer("m1", session.Completed, "one")
		s.enqueue(batch("b-1", "[[say:thanks]]"))
		s.delivers("b-1")
		if got := s.chosen(); got != " plan,  " {
			t.Errorf("started with %q", got)
		}
	}},
	{"delivery-turn-fails", nil, func(t *testing.T, s *stage) {
		s.begin(reader)
		s.enqueue(batch("b-1", "[[drop]]"))
		s.waitsForPerson()
		s.must(deliveryflow.CloseUpdate, deliveryflow.Closing{Reason: delivery.Unconfirmed, By: "ann"})
		s.say("m1", "[[say:hello]]")
		s.answer("m1", session.Completed, "hello")
	}},
}

// TestWhoGivesABatchLearnsThatItIsRefused gives batches as a run does, which waits for no agent.
func TestWhoGivesABatchLearnsThatItIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(temporaltest.Shared(t), t, t, nil)
	s.begin(reader)
	give := func(p deliveryacts.EnqueueInput) error {
		return deliveryacts.SendBatch(t.Context(), s.Client, deliveryacts.SendInput{Session: string(s.id), Batch: p})
	}
	bad := batch("b-1", "[[say:thanks]]")
	bad.Jobs = slices.Repeat(bad.Jobs, 9) // a batch carries eight
	for range 2 {
		if err := give(bad); err == nil {
			t.Error("a batch with too many jobs is taken")
		}
	}
	for range 2 {
		if err := give(batch("b-2", "[[say:thanks]]")); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := give(batch("b-2", "[[say:other words]]")); err == nil || !strings.Contains(err.Error(), "batch_known") {
			t.Errorf("other words under a known id: %v", err)
		}
	}
	s.delivers("b-2")
	s.retire()
	if err := give(batch("b-3", "[[say:thanks]]")); err == nil || !strings.Contains(err.Error(), "session_unknown") {
		t.Errorf("given to a retired session: %v", err)
	}
}
