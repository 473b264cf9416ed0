package main

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// toolNames are the names by which the clients show their models a tool of the server ratchet.
var toolNames = map[string]string{"claude": "mcp__ratchet__", "codex": "mcp__ratchet/"}

// TestRealClientsStartRuns has the agents' own programs, in the box, start a run when their model asks for it. A person
// permits the start once: the clients do not ask as well. The model reads where the run stands.
func TestRealClientsStartRuns(t *testing.T) {
	need.Suite(t, need.Nightly)
	for _, a := range realAgents {
		prefix, ok := toolNames[a.name]
		if !ok {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			s := newAgentFixtureIn(t, a, true)
			h := &sessionFixture{fixture: s.fixture, id: session.ID(uuid.NewString())}
			in := session.Input{
				ID: h.id, Provider: s.spec, Tools: run.AskTools, Sandbox: run.SandboxRequired,
				Repository: run.Repository{Path: s.repo, Base: s.base}, Runs: s.newGrant(),
			}
			if err := h.sessions().Start(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			s.spawnGroup()
			h.say(t, "m1", call(prefix+"ratchet_run_start", map[string]any{"goal": "append a line"})+call(prefix+"ratchet_runs", map[string]any{})+"[[say:started]]")
			h.approve(t)
			if p := h.past(t, "m1"); p.Outcome != session.Completed || p.Gist != "started" {
				t.Errorf("m1: %+v", p)
			}
			var found []run.Input
			eventually.Holds(t, "the run", func() bool { found = h.started(t); return len(found) > 0 })
			if len(found) != 1 || found[0].Goal != "append a line" {
				t.Errorf("started %+v", found)
			}
			if st, err := h.sessions().State(t.Context(), h.id); err != nil || st.Gates != 1 {
				t.Errorf("a person was asked %d times (%v)", st.Gates, err)
			}
			if !toldOf(s.model, string(found[0].RunID)) {
				t.Error("the model was not told of the run")
			}
		})
	}
}

// toldOf reports whether the results of two calls that the model was given hold a text.
func toldOf(m *fakemodel.Server, text string) bool {
	requests := m.Requests()
	for _, q := range requests {
		if strings.Count(q.Text(), text) >= 2 {
			return true
		}
	}
	return false
}
