package pi_test

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

func TestManifest(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	f := newFake(t, script{Version: "0.87.1\n"})
	c := f.config()
	want := agent.Manifest{
		Kind: setup.Pi, Label: "pi", Description: "the coding agent pi, through its RPC mode", Installed: true,
		Status: agent.Supported, Binary: c.Argv[0], Version: "0.87.1", ModelsSource: "runtime", Modes: []agent.Mode{},
		Models: []agent.Model{{Code: "p/m", Label: "Em", ContextWindow: 200000, Default: true}, {Code: "p/n"}},
		Capabilities: agent.Capabilities{
			Permissions: true, SessionScope: true, DenyReason: true, Resume: true, Interrupt: true, Cost: true, ContextUsage: "native", Sandbox: "soft",
			Options: slices.Clone(setup.Pi.Traits().Options),
		},
	}
	a := pi.New(c)
	if got := a.Manifest(t.Context()); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if argv := f.Args(t); argv[len(argv)-1] != "--no-session" || !empty(t, temp) {
		t.Errorf("asked with %q", argv)
	}
	if err := os.Remove(f.Dir + "/script"); err != nil {
		t.Fatal(err)
	}
	if got := a.Manifest(t.Context()); !reflect.DeepEqual(got, want) {
		t.Errorf("a second time: %+v", got)
	}
}

func TestAManifestThatIsNotWhole(t *testing.T) {
	for name, tt := range map[string]struct {
		script script
		want   func(agent.Manifest) bool
	}{
		"without a version":  {script{}, func(m agent.Manifest) bool { return !m.Installed && strings.Contains(m.Unavailable, "--version") }},
		"an old version":     {script{Version: "0.80.3"}, func(m agent.Manifest) bool { return !m.Installed && strings.Contains(m.Unavailable, "0.80.4 or later") }},
		"without the gate":   {script{Version: "1", Open: true}, degraded("did not load the extension")},
		"without a login":    {script{Version: "1", State: strings.Replace(fakeState, `"p"`, `"unknown"`, 1)}, degraded("log in, or set an API key")},
		"without its models": {script{Version: "1", Models: `7`}, degraded("lists no models")},
		"without a start":    {script{Version: "1", Start: []string{"exit 1 out of luck"}}, degraded("out of luck")},
	} {
		t.Run(name, func(t *testing.T) {
			if m := newFake(t, tt.script).adapter().Manifest(t.Context()); !tt.want(m) || m.Models == nil || m.Modes == nil {
				t.Errorf("got %+v", m)
			}
		})
	}
}

func TestAManifestTrustsNoProject(t *testing.T) {
	f := newFake(t, script{Version: "1"})
	c := f.config()
	c.Trust = pi.TrustProject
	if m := pi.New(c).Manifest(t.Context()); m.Status != agent.Supported || slices.Contains(f.Args(t), "--approve") {
		t.Errorf("got %+v with %q", m, f.Args(t))
	}
}

func degraded(why string) func(agent.Manifest) bool {
	return func(m agent.Manifest) bool {
		return m.Installed && m.Version == "1" && m.Status == agent.Degraded && strings.Contains(m.StatusReason, why)
	}
}

func TestAManifestThatIsGivenUp(t *testing.T) {
	f := newFake(t, script{Version: "1", Start: []string{"until never"}})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if m := f.adapter().Manifest(ctx); m.Kind != setup.Pi {
		t.Errorf("got %+v", m)
	}
}
