package acp_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// named is the adapter of a program in a directory of its own, which notes in
// log that it was run.
func named(t *testing.T, name string) (adapter agent.Adapter, program, log string) {
	t.Helper()
	dir := t.TempDir()
	program, log = filepath.Join(dir, "agent"), filepath.Join(dir, "log")
	if err := os.Symlink(self()[0], program); err != nil {
		t.Fatal(err)
	}
	return acp.New(acp.Config{
		Greeting: acp.Greeting{Unboxed: true},
		Argv:     []string{"agent", "play", name}, Allow: []string{logVariable, "GORACE"},
		Environ: []string{"PATH=/no/such/place:" + dir, logVariable + "=" + log, "GORACE=atexit_sleep_ms=0"},
	}), program, log
}

func TestTheManifestOfAnAgent(t *testing.T) {
	caps := agent.Capabilities{Permissions: true, Interrupt: true, ContextUsage: "none", Sandbox: "soft", Options: without(setup.DirsOption)}
	tests := map[string]agent.Manifest{
		"opencode": {Label: "OpenCode", Version: "1.18.33", Status: agent.Supported, Capabilities: with(caps, func(c *agent.Capabilities) { c.Resume, c.Cost, c.ContextUsage = true, true, "native" })},
		"claude": {Label: "Claude Agent", Version: "0.100.0", Status: agent.Supported, Capabilities: with(caps, func(c *agent.Capabilities) {
			c.Resume, c.Cost, c.SessionScope, c.ContextUsage = true, true, true, "native"
			c.Options = slices.Clone(setup.ACP.Traits().Options)
		})},
		"gemini": {Label: "Gemini CLI", Version: "0.61.0", Status: agent.Degraded, StatusReason: "its sessions end with their process, and the settings of a repository can allow it tools", Capabilities: with(caps, func(c *agent.Capabilities) { c.SessionScope = true })},
		"codex":  {Label: "Codex", Version: "2.6.0", Status: agent.Supported, Capabilities: with(caps, func(c *agent.Capabilities) { c.Resume, c.ContextUsage = true, "native" })},
		"plain":  {Label: "plain", Version: "1", Status: agent.Degraded, StatusReason: "an agent unknown to this adapter", Capabilities: caps},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			adapter, program, log := named(t, name)
			want.Kind, want.Installed, want.Binary, want.Models, want.Modes = setup.ACP, true, program, []agent.Model{}, []agent.Mode{}
			for range 2 {
				if m := adapter.Manifest(t.Context()); !reflect.DeepEqual(m, want) {
					t.Errorf("got  %+v\nwant %+v", m, want)
				}
			}
			heard, err := os.ReadFile(log)
			if err != nil || strings.Count(string(heard), "\n") != 1 || !strings.Contains(string(heard), `"initialize"`) {
				t.Errorf("the agent heard %s (%v)", heard, err)
			}
		})
	}
}

// without returns the options that ACP agents take, but one.
func without(o setup.Option) []setup.Option {
	return slices.DeleteFunc(slices.Clone(setup.ACP.Traits().Options), func(other setup.Option) bool { return other == o })
}

func with(c agent.Capabilities, change func(*agent.Capabilities)) agent.Capabilities {
	change(&c)
	return c
}

func TestASessionTellsModesAndModels(t *testing.T) {
	b := newBench(t, "opencode")
	b.start()
	m := b.adapter.Manifest(t.Context())
	models := []agent.Model{{Code: "fake/a", Label: "A", Default: true}, {Code: "fake/b", Label: "B"}}
	modes := []agent.Mode{{Code: "build", Label: "build", Default: true}, {Code: "plan", Label: "plan"}}
	if !reflect.DeepEqual(m.Models, models) || !reflect.DeepEqual(m.Modes, modes) || m.ModelsSource != "runtime" {
		t.Errorf("got %+v", m)
	}
}

func TestTheManifestOfNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "text"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		ctx  context.Context
		argv []string
		says string
	}{
		"no program":                   {t.Context(), nil, "no program is configured"},
		"a program that is not there":  {t.Context(), []string{"no-such-agent"}, "no program no-such-agent in " + dir + ", /no/such/place"},
		"a path to nothing":            {t.Context(), []string{dir + "/nothing"}, "no such file"},
		"a file that is no program":    {t.Context(), []string{dir + "/text"}, "not an executable program"},
		"a program that is no agent":   {t.Context(), []string{"/bin/sh", "-c", "echo what >&2; exit 2"}, "exit code 2: what"},
		"a context that has ended":     {ended, []string{"/bin/sh"}, "canceled"},
		"an agent of another protocol": {t.Context(), self("play", "future"), "version 2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := acp.New(acp.Config{Greeting: acp.Greeting{Unboxed: true}, Argv: tt.argv, Environ: []string{"PATH=" + dir + ":/no/such/place"}}).Manifest(tt.ctx)
			if m.Installed || m.Status != agent.Unsupported || !strings.Contains(m.Unavailable, tt.says) || m.Models == nil || m.Modes == nil {
				t.Errorf("got %+v", m)
			}
		})
	}
}

// A slow agent is not asked a second time, and known once it has answered.
func TestTheManifestOfASlowAgentComesLater(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	adapter := acp.New(acp.Config{Greeting: acp.Greeting{Unboxed: true}, Argv: []string{"/bin/sh", "-c", `read -r line; while [ ! -e "` + pipe + `" ]; do sleep 0.01; done; echo '{"jsonrpc":"2.0","id":1,"result":` + greetings["plain"] + `}'`}})
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		answered := make(chan agent.Manifest)
		go func() { answered <- adapter.Manifest(ctx) }()
		cancel()
		if m := <-answered; m.Installed {
			t.Errorf("got %+v", m)
		}
	}
	first := make(chan agent.Manifest)
	go func() { first <- adapter.Manifest(t.Context()) }()
	if err := os.WriteFile(pipe, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if m := <-first; !m.Installed || m.Label != "plain" {
		t.Errorf("got %+v", m)
	}
}
