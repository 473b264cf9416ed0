package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// TestRealClientsKeepStandingSessions has the agents' own programs, in the box, keep a talk: they change a file, remember
// what was said before their worker was killed in a turn, and hear nothing twice.
func TestRealClientsKeepStandingSessions(t *testing.T) {
	need.Suite(t, need.Nightly)
	for _, a := range realAgents {
		t.Run(a.name, func(t *testing.T) {
			s := newAgentFixtureIn(t, a, true)
			h := &sessionFixture{fixture: s.fixture, id: session.ID(uuid.NewString())}
			in := session.Input{
				ID: h.id, Provider: s.spec, Tools: run.AllowTools, Sandbox: run.SandboxRequired,
				Repository: run.Repository{Path: s.repo, Base: s.base},
			}
			if err := h.sessions().Start(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			w := s.spawnGroup()
			file := filepath.Join(s.runs.Session(string(h.id)).Path(), "checkout", "tree", "sum.go")
			h.mustAnswer(t, "m1", "the word is heron. "+strings.Join(a.edit(file, "a - b", "a + b"), "")+"[[say:edited]]", "edited")

			h.say(t, "m2", "[[say:gone on]][[slow:20]] kittiwake")
			eventually.Holds(t, "the turn", func() bool { return heardOf(s.model, "kittiwake") })
			w.kill()
			s.spawnGroup()
			p := h.past(t, "m2")
			// A client that was not heard before the kill may have the message, and is asked nothing.
			if !(p.Outcome == session.Completed && strings.HasPrefix(p.Gist, "gone on") || p.Outcome == session.Unknown) {
				t.Errorf("m2: %+v", p)
			}
			h.mustAnswer(t, "m3", "[[say:at your service]]", "at your service")
			requests := s.model.Requests()
			i := slices.IndexFunc(requests, func(q fakemodel.Request) bool { return strings.Contains(q.Text(), "at your service") })
			last := requests[i].Text()
			if !strings.Contains(last, "heron") {
				t.Errorf("it has forgotten what was said: %.300s", last)
			}
			if n := strings.Count(last, "kittiwake"); n > 1 {
				t.Errorf("it heard the second message %d times", n)
			}
		})
	}
}

// mustAnswer says something and compares the first line of the answer.
func (h *sessionFixture) mustAnswer(t *testing.T, id, text, gist string) {
	t.Helper()
	h.say(t, id, text)
	if p := h.past(t, id); p.Outcome != session.Completed || p.Gist != gist {
		t.Errorf("%s: %+v; want %q", id, p, gist)
	}
}

// otherModels names, for each agent that takes any, a model beside its own.
var otherModels = map[string]string{"claude": "claude-sonnet-4-5", "codex": "other-model"}

// TestRealClientsForgetTheModelOfOneMessage has a message with a model of its own. The next one has the agent's own model
// again, though the client keeps in its session which model it had last.
func TestRealClientsForgetTheModelOfOneMessage(t *testing.T) {
	need.Suite(t, need.Nightly)
	for _, a := range realAgents {
		other := otherModels[a.name]
		if other == "" {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			s := newAgentFixtureIn(t, a, true)
			h := &sessionFixture{fixture: s.fixture, id: session.ID(uuid.NewString())}
			in := session.Input{
				ID: h.id, Provider: s.spec, Tools: run.AllowTools, Sandbox: run.SandboxRequired,
				Repository: run.Repository{Path: s.repo, Base: s.base},
			}
			if err := h.sessions().Start(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			s.spawnGroup()
			h.mustAnswer(t, "m1", "[[say:first]]", "first")
			m := session.Message{ID: "m2", Text: "[[say:second]]", Override: setup.Choice{Model: other}}
			if err := h.sessions().Send(t.Context(), h.id, sessionflow.SayUpdate, m.ID, m, nil); err != nil {
				t.Fatal(err)
			}
			h.past(t, "m2")
			h.mustAnswer(t, "m3", "[[say:third]]", "third")
			modelOf := func(text string) string { // of the first request that has the message
				for _, q := range s.model.Requests() {
					if strings.Contains(q.Text(), "[[say:"+text+"]]") {
						return q.Model
					}
				}
				return ""
			}
			if first, second, third := modelOf("first"), modelOf("second"), modelOf("third"); second != other || third != first {
				t.Errorf("models %q, %q, %q", first, second, third)
			}
		})
	}
}
