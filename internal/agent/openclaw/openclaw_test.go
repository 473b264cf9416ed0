package openclaw_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/openclaw"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	agenttest.Run(t, agenttest.Subject{Touch: touch, New: func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
		g := startGateway(t, model)
		return openclaw.New(g.config()), g.options(t)
	}})
}

func touch(path string) string {
	return fakemodel.Tool("exec", map[string]string{"command": "touch " + path})
}

// options are those of a session that may change files.
func (g *gateway) options(t testing.TB) agent.Options {
	dir, err := os.MkdirTemp(g.workspace, "")
	if err != nil {
		t.Fatal(err)
	}
	return agent.Options{Dir: dir, Sandbox: agent.WorkspaceWrite}
}

// start begins a session that is stopped when the test ends.
func (g *gateway) start(t *testing.T, o agent.Options) (agent.Session, *agenttest.Log) {
	t.Helper()
	s, err := openclaw.New(g.config()).Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	return s, agenttest.Watch(t, s)
}

// scripted has runs do what a test says, in a session that was begun.
func scripted(t *testing.T, play func(*job)) (*gateway, agent.Session, *agenttest.Log) {
	g := startGateway(t, nil)
	g.play = play
	s, l := g.start(t, g.options(t))
	return g, s, l
}

// last is the last request for a method.
func (g *gateway) last(t *testing.T, method string) (params object) {
	t.Helper()
	all := g.got(method)
	if len(all) == 0 {
		t.Fatalf("no request for %s", method)
	}
	if err := json.Unmarshal(all[len(all)-1], &params); err != nil {
		t.Fatal(err)
	}
	return params
}

func TestManifest(t *testing.T) {
	g := startGateway(t, fakemodel.New())
	m := openclaw.New(g.config()).Manifest(t.Context())
	if m.Version != "2026.9.6" || m.Status != agent.Degraded || m.StatusReason == "" || len(m.Modes) != 3 || m.Capabilities.Sandbox != "soft" {
		t.Errorf("manifest %+v", m)
	}
	want := []agent.Model{{Code: "fake/fake-model", Label: "Fake", ContextWindow: 200000, Default: true}, {Code: "fake/other", Label: "Other"}}
	if len(m.Models) != 2 || m.Models[0] != want[0] || m.Models[1] != want[1] {
		t.Errorf("models %+v", m.Models)
	}
	g.refuse["models.list"] = object{"code": "UNAVAILABLE", "message": "not yet"}
	if m := openclaw.New(g.config()).Manifest(t.Context()); !m.Installed || m.Models == nil || len(m.Models) > 0 {
		t.Errorf("without a list of models: %+v", m)
	}
}

func TestFigures(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*gateway)
		tokens  agent.Tokens
		cost    run.Micros // zero: not known
		context agent.Context
	}{
		"two calls of the model": {
			func(*gateway) {}, agent.Tokens{Input: 8000, Output: 60, Cached: 2000}, 24_000, agent.Context{Used: 4000, Total: 200_000},
		},
		"a history that begins later": {
			func(g *gateway) { g.forgetful = true }, agent.Tokens{}, 0, agent.Context{Used: 4000, Total: 200_000},
		},
		"no history": {
			func(g *gateway) { g.refuse["chat.history"] = invalid("no", "") }, agent.Tokens{}, 0, agent.Context{},
		},
		"a model without a price": {
			func(g *gateway) { g.price = 0 }, agent.Tokens{Input: 8000, Output: 60, Cached: 2000}, 0, agent.Context{Used: 4000, Total: 200_000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := startGateway(t, fakemodel.New())
			test.change(g)
			s, l := g.start(t, g.options(t))
			l.Send("[[usage:4000,30,1000]]" + touch(filepath.Join(g.workspace, "x")) + "[[say:ok]]")
			if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: agenttest.Next[agent.Permission](l).CallID, Verdict: agent.Allow}); err != nil {
				t.Fatal(err)
			}
			turn := agenttest.Next[agent.Turn](l)
			if turn.Status != agent.Completed || turn.Tokens != test.tokens || turn.Context != test.context {
				t.Errorf("turn %+v", turn)
			}
			if cost := turn.Cost; (cost == nil) != (test.cost == 0) || cost != nil && *cost != test.cost {
				t.Errorf("cost %v, want %v", cost, test.cost)
			}
		})
	}
}

func write(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
