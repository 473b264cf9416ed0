package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/box/inner"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// curious is an agent of ACP that says in its greeting where it is and what it sees, and leaves a mark in the home.
const curious = `#!/bin/sh
read -r line
(: >%[1]s/mark) 2>/dev/null
title="on $(uname -n) with $(cat %[1]s/secret 2>/dev/null) in $(stat -c %%a .) $(ls -A . | wc -l):"
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"curious","title":"'"$title"'","version":"1"}}}'
`

// look is a home with a secret, and a repository whose agent is curious.
type look struct{ home, repo, path string }

func newLook(t *testing.T) look {
	t.Helper()
	need.Sandbox(t)
	l := look{home: t.TempDir(), repo: t.TempDir()}
	l.path = l.repo + ":/usr/bin:/bin"
	check(t, os.WriteFile(l.home+"/secret", []byte("secret"), 0o600))
	for _, name := range []string{"agent", "opencode"} {
		check(t, os.WriteFile(filepath.Join(l.repo, name), fmt.Appendf(nil, curious, l.home), 0o700))
	}
	return l
}

func (l look) config(policy run.Sandbox) host.Config {
	return host.Config{RunsDir: filepath.Join(l.home, "runs"), Environ: []string{"PATH=" + l.path, "HOME=" + l.home}, Sandbox: policy}
}

func (l look) marked() bool {
	_, err := os.Lstat(l.home + "/mark")
	return err == nil
}

const saidInBox = "on " + inner.BoxName + " with  in 700 0:"

// A run with a further directory asks its agent whether it takes one. The agent may be the repository's.
func TestTheProbeOfAnAgentIsHeld(t *testing.T) {
	name, err := os.Hostname()
	check(t, err)
	for what, tt := range map[string]struct {
		worker, run run.Sandbox
		path        string // of the worker; empty: as of the test
		says        string // empty: the agent is not started, and nothing is known against it
		marked      bool
	}{
		"run and worker require the box":   {worker: run.SandboxRequired, run: run.SandboxRequired, says: saidInBox},
		"a starter that names no policy":   {worker: run.SandboxRequired, says: saidInBox},
		"run and worker go without it":     {worker: run.SandboxOff, run: run.SandboxOff, says: "on " + name + " with secret in 700 0:", marked: true},
		"the run alone goes without it":    {worker: run.SandboxRequired, run: run.SandboxOff},
		"the worker alone goes without it": {worker: run.SandboxOff, run: run.SandboxRequired},
		"the worker has none that holds":   {worker: run.SandboxRequired, run: run.SandboxRequired, path: "/no/such/place"},
	} {
		t.Run(what, func(t *testing.T) {
			l := newLook(t)
			if tt.path != "" {
				l.path = tt.path
			}
			h, err := host.Open(t.Context(), l.config(tt.worker))
			check(t, err)
			const spec = "acp:./agent"
			got, err := h.Activities.Probe(t.Context(), activities.ProbeInput{
				Specs: []string{spec}, Dir: l.repo, Sandbox: tt.run, Options: map[string]setup.Options{spec: {Dirs: []string{t.TempDir()}}},
			})
			problems := strings.Join(got.Problems, "\n")
			if err != nil || !strings.Contains(problems, tt.says) || (problems == "") != (tt.says == "") || l.marked() != tt.marked {
				t.Errorf("got %q, %v; it left a mark: %v", problems, err, l.marked())
			}
		})
	}
}

func TestTheSurveyOfAnAgentIsHeld(t *testing.T) {
	for name, tt := range map[string]struct {
		policy run.Sandbox
		path   bool // leads to bwrap
		want   agent.Manifest
		marked bool
	}{
		"in the box":        {run.SandboxRequired, true, agent.Manifest{Label: saidInBox, Version: "1"}, false},
		"without a box":     {run.SandboxRequired, false, agent.Manifest{Label: "opencode", StatusReason: "unknown"}, false},
		"with the word off": {run.SandboxOff, true, agent.Manifest{Label: "with secret", Version: "1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLook(t)
			if !tt.path {
				l.path = l.repo
			}
			list := l.config(tt.policy).CollectManifests(t.Context(), l.repo)
			i := slices.IndexFunc(list, func(m agent.Manifest) bool { return m.Kind == setup.ACP && m.Installed })
			if i < 0 {
				t.Fatalf("no agent is there: %+v", list)
			}
			m := list[i]
			if !strings.Contains(m.Label, tt.want.Label) || m.Version != tt.want.Version || !strings.Contains(m.StatusReason, tt.want.StatusReason) || m.Status != agent.Degraded || l.marked() != tt.marked {
				t.Errorf("got %+v; it left a mark: %v", m, l.marked())
			}
		})
	}
}
