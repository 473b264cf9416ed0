package main

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// realDeliveries is a session of an agent's own program, on a worker that lets steers through.
type realDeliveries struct {
	*sessionFixture
	agent  *agentFixture
	worker *workerProcess
}

// codexFixture is a fixture of Codex itself.
func codexFixture(t *testing.T) *agentFixture {
	t.Helper()
	i := slices.IndexFunc(realAgents, func(a realAgent) bool { return a.name == "codex" })
	s := newAgentFixture(t, realAgents[i])
	s.env = append(s.env, "RATCHET_STEER=1")
	return s
}

// readers returns sessions of the agent that may do nothing but read, and a worker of them.
func (s *agentFixture) readers(t *testing.T, n int) (all []*realDeliveries) {
	t.Helper()
	w := s.spawnGroup()
	for range n {
		h := s.openSession(t, t.TempDir(), session.Input{Provider: s.spec, Setup: setup.Options{Mode: "read-only"}})
		all = append(all, &realDeliveries{h, s, w})
	}
	return all
}

// give gives the session a batch whose text the model answers.
func (d *realDeliveries) give(t *testing.T, batch, summary string) {
	t.Helper()
	eventually.Holds(t, "batch "+batch+" given", func() bool {
		return d.enqueue(t, batch, summary, client.WorkflowUpdateStageCompleted, time.Minute)
	})
}

// attempt returns the newest attempt at a batch.
func (d *realDeliveries) attempt(t *testing.T, batch string) (a delivery.Attempt) {
	t.Helper()
	v, _ := d.deliveries(t)
	for _, e := range slices.Concat(v.Fold.Queue, v.Fold.Closed) {
		if n := len(e.Attempts); e.Batch.ID == batch && n > 0 {
			a = e.Attempts[n-1]
		}
	}
	return a
}

// taken is what has become of a session's one batch, and the agent's id of the session.
type taken struct {
	delivery.Attempt
	thread string
}

func (d *realDeliveries) taken(t *testing.T) taken {
	t.Helper()
	snap, err := d.sessions().State(t.Context(), d.id)
	if err != nil {
		t.Fatal(err)
	}
	return taken{d.attempt(t, "b-1"), snap.Agent}
}

// threadOf reads a thread by a client of its own, after the worker has ended.
func (s *agentFixture) threadOf(t *testing.T, id string) agent.Thread {
	t.Helper()
	again, err := s.adapter.Start(t.Context(), agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly, Resume: id})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Stop(t.Context())
	read, err := again.(agent.Watched).Thread(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// messagesOf returns the markers of each turn of the thread.
func messagesOf(t agent.Thread) (all [][]string) {
	for _, turn := range t.Turns {
		all = append(all, turn.Markers)
	}
	return all
}

// TestRealCodexTakesASteer delivers into the turn of a person that Codex itself is at: the turn stays the same one,
// completes, has taken the message in, and no other turn begins.
func TestRealCodexTakesASteer(t *testing.T) {
	need.Suite(t, need.Nightly)
	s := codexFixture(t)
	d := s.readers(t, 1)[0]
	d.say(t, "m1", fakemodel.Say("first answer")+"[[slow:30]]")
	eventually.Holds(t, "a person's turn", func() bool { return heardOf(s.model, "first answer") })
	d.give(t, "b-1", fakemodel.Say("second answer"))
	if got := d.settled(t, "b-1"); got != delivered {
		t.Fatalf("the batch is %s", got)
	}
	a := d.attempt(t, "b-1")
	if a.Kind != delivery.TurnSteer || a.Turn != a.Expected || !a.Marked || a.LastEvent != delivery.TurnCompleted {
		t.Errorf("the attempt is %+v", a)
	}
	p := d.past(t, "m1")
	if p.Outcome != session.Completed || p.Gist != "second answer" {
		t.Errorf("the person's turn is %+v", p)
	}
	if said := d.transcript(t, p); !strings.Contains(said, "first answer") {
		t.Errorf("the answer under way was lost: %s", said)
	}
	end := d.taken(t)
	d.worker.kill()
	read := s.threadOf(t, end.thread)
	if turns := messagesOf(read); len(turns) != 1 || len(turns[0]) != 2 || turns[0][1] != a.Marker || read.Turns[0].ID != a.Turn || read.Turns[0].Status != "completed" {
		t.Errorf("the thread has %+v", read.Turns)
	}
}

// transcript returns the transcript of a message's turn.
func (d *realDeliveries) transcript(t *testing.T, p session.Past) string {
	t.Helper()
	b, err := d.runs.Session(string(d.id)).Dir().Load(p.Transcript)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRealDeliveriesMeetAPersonsTurn has a person say something while a batch comes: the two never share a turn.
func TestRealDeliveriesMeetAPersonsTurn(t *testing.T) {
	need.Suite(t, need.Nightly)
	s := codexFixture(t)
	s.env = append(s.env, "RATCHET_STEER=")
	all := s.readers(t, 5)
	var ends []taken
	for i, d := range all {
		d.mustAnswer(t, "m0", fakemodel.Say("ready"), "ready")
		person := func() { d.say(t, "m1", fakemodel.Say("to the person")) }
		result := func() { d.give(t, "b-1", fakemodel.Say("thanks")) }
		if i%2 == 0 {
			person, result = result, person
		}
		var both sync.WaitGroup
		both.Go(person)
		both.Go(result)
		both.Wait()
		if p := d.past(t, "m1"); p.Outcome != session.Completed || p.Gist != "to the person" {
			t.Errorf("try %d: the person got %+v", i, p)
		}
		if got := d.settled(t, "b-1"); got != delivered {
			t.Errorf("try %d: the batch is %s", i, got)
		}
		ends = append(ends, d.taken(t))
	}
	all[0].worker.kill()
	for i, a := range ends {
		read := s.threadOf(t, a.thread)
		turn, first, alone := read.Marked(a.Marker)
		if a.Kind != delivery.TurnStart || len(read.Turns) != 3 || !alone || !first || len(turn.Markers) != 1 || turn.ID != a.Turn {
			t.Errorf("try %d: attempt %+v, turns %+v", i, a, read.Turns)
		}
	}
}

// TestRealClientsTakeDeliveries has the agents' own programs take a batch in an idle session. Their worker is killed in the
// turn of the first one, which is a person's then; the resumed session answers, and takes the next batch.
func TestRealClientsTakeDeliveries(t *testing.T) {
	need.Suite(t, need.Nightly)
	for _, a := range realAgents {
		if a.name == "opencode" { // it proves nothing of its thread
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			s := newAgentFixture(t, a)
			w := s.spawnGroup()
			h := s.openSession(t, t.TempDir(), session.Input{Provider: s.spec, Deliveries: delivery.TrustedAll})
			d := &realDeliveries{h, s, w}
			d.mustAnswer(t, "m1", fakemodel.Say("ready")+" the word is heron", "ready")
			d.give(t, "b-1", fakemodel.Say("working")+"[[slow:200]]")
			eventually.Holds(t, "acceptance", func() bool { return d.attempt(t, "b-1").Marked })
			w.kill()
			s.spawnGroup()
			if got := d.settled(t, "b-1"); got != forPerson {
				t.Errorf("the first batch is %s", got)
			}
			d.resumes(t)
			d.give(t, "b-2", fakemodel.Say("thanks"))
			if got := d.settled(t, "b-2"); got != delivered {
				t.Errorf("the second batch is %s", got)
			}
			marker := d.attempt(t, "b-2").Marker
			requests := s.model.Requests()
			i := slices.IndexFunc(requests, func(q fakemodel.Request) bool { return strings.Contains(q.Text(), marker) })
			if i < 0 || !strings.Contains(requests[i].Text(), "heron") || strings.Count(requests[i].Text(), "batch b-1,") > 1 {
				t.Errorf("the model did not hear the second batch in the talk, or heard the first one twice")
			}
		})
	}
}
