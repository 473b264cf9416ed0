package claude_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

const version = "2.1.329 (Claude Code)\n"

// installed is an adapter to a program of its own, which the test may change.
func installed(t *testing.T, f fake, program string) (agent.Adapter, string) {
	t.Helper()
	config := f.config()
	path := filepath.Join(t.TempDir(), "claude")
	if program == "" {
		program = "#!/bin/sh\nexec '" + config.Binary + "' \"$@\"\n"
	}
	if err := proctest.WriteProgram(path, program); err != nil {
		t.Fatal(err)
	}
	config.Binary = path
	return claude.New(config), path
}

func (f fake) rewrite(t *testing.T, s script) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	f.Put(t, "script", string(text))
}

func TestManifest(t *testing.T) {
	a, path := installed(t, newFake(t, script{Version: version}), "")
	got := a.Manifest(t.Context())
	if !got.Installed || got.Version != "2.1.329" || got.Binary != path || got.Unavailable != "" || got.ModelsSource != "runtime" {
		t.Errorf("got %+v", got)
	}
	want := []agent.Model{
		{Code: "default", Label: "Default", Description: "d", ContextWindow: 1_000_000, Default: true},
		{Code: "haiku", Label: "Haiku"},
	}
	if !reflect.DeepEqual(got.Models, want) {
		t.Errorf("models %+v", got.Models)
	}
	c := got.Capabilities
	if !c.Permissions || !c.SessionScope || !c.DenyReason || !c.Resume || !c.Interrupt || !c.Cost || c.Network || c.ContextUsage != "native" || c.Sandbox != "soft" {
		t.Errorf("capabilities %+v", c)
	}
	var codes []string
	for _, m := range got.Modes {
		codes = append(codes, m.Code)
	}
	if strings.Join(codes, " ") != "default acceptEdits plan bypassPermissions" {
		t.Errorf("modes %q", codes)
	}
	root := os.Geteuid() == 0
	if degraded := got.Status == agent.Degraded && strings.Contains(got.StatusReason, "root"); degraded != root {
		t.Errorf("status %s: %s", got.Status, got.StatusReason)
	}
}

func TestAManifestIsKeptForAProgramAsItIs(t *testing.T) {
	f := newFake(t, script{Version: version})
	a, path := installed(t, f, "")
	first := a.Manifest(t.Context())
	f.rewrite(t, script{Version: "3.0.0"})
	if again := a.Manifest(t.Context()); !reflect.DeepEqual(again, first) {
		t.Errorf("first %+v\nthen  %+v", first, again)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	if changed := a.Manifest(t.Context()); changed.Version != "3.0.0" {
		t.Errorf("of another program: %+v", changed)
	}
}

func TestAFailureIsNotKept(t *testing.T) {
	f := newFake(t, script{Version: version, Start: []string{"exit 1 no such thing"}})
	a, _ := installed(t, f, "")
	m := a.Manifest(t.Context())
	if !m.Installed || m.Status != agent.Degraded || !strings.Contains(m.StatusReason, "no such thing") || len(m.Models) != 0 || m.Models == nil {
		t.Errorf("got %+v", m)
	}
	f.rewrite(t, script{Version: version})
	if m := a.Manifest(t.Context()); len(m.Models) != 2 {
		t.Errorf("then %+v", m)
	}
}

func TestProgramsThatAreNoClient(t *testing.T) {
	tests := map[string]struct{ program, says string }{
		"it says nothing": {"#!/bin/sh\n", "printed"},
		"it fails":        {"#!/bin/sh\necho oh no\nexit 3\n", "exit code 3"},
		"it cannot run":   {"#!/no/such/interpreter\n", "interpreter"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a, path := installed(t, newFake(t, script{}), tt.program)
			m := a.Manifest(t.Context())
			if m.Installed || m.Status != agent.Unsupported || !strings.Contains(m.Unavailable, tt.says) || !strings.Contains(m.Unavailable, path) {
				t.Errorf("got %+v", m)
			}
		})
	}
}

func TestAManifestOfAClientThatHangs(t *testing.T) {
	f := newFake(t, script{Version: version, Start: []string{"until freed"}})
	a, _ := installed(t, f, "")
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan agent.Manifest)
	go func() { got <- a.Manifest(ctx) }()
	eventually.Holds(t, "client", f.runs)
	cancel()
	if m := <-got; m.Kind != setup.Claude || len(m.Models) > 0 || m.Unavailable == "" && m.StatusReason == "" {
		t.Errorf("got %+v", m)
	}
}
