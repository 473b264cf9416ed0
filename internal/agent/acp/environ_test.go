package acp_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
)

func TestTheEnvironmentIsTheListedNames(t *testing.T) {
	kept := []string{
		"ANTHROPIC_API_KEY=k", "CODEX_HOME=/c", "GEMINI_API_KEY=g", "HOME=/h", "HTTPS_PROXY=http://p", "LANG=C", "LC_ALL=C",
		"MINE=1", "OPENAI_API_KEY=o", "OPENCODE_CONFIG=/o", "PATH=/usr/bin:/bin", "TERM=xterm", "TMPDIR=/tmp", "USER=u", "XDG_DATA_HOME=/x",
	}
	ours := append([]string{"AWS_SECRET_ACCESS_KEY=s", "LD_PRELOAD=/x.so", "NODE_OPTIONS=--inspect", "GITHUB_TOKEN=t"}, kept...)
	got := environment(t, ours, agent.Options{Sandbox: agent.FullAccess, NoMemory: true, Env: []string{"HOME=/other", "EXTRA=2"}})
	want := append(slices.Clone(kept), "EXTRA=2", "CLAUDE_CODE_DISABLE_AUTO_MEMORY=1", "OPENCODE_DISABLE_PROJECT_CONFIG=1")
	want[slices.Index(want, "HOME=/h")] = "HOME=/other"
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestOpencodeIsToAsk(t *testing.T) {
	t.Parallel()
	lax := `OPENCODE_PERMISSION={"*":"allow"}`
	tests := map[string]struct {
		options agent.Options
		lax     bool
	}{
		"a session that only reads":   {agent.Options{Sandbox: agent.ReadOnly}, false},
		"a session in the workspace":  {agent.Options{Sandbox: agent.WorkspaceWrite}, false},
		"full access":                 {agent.Options{Sandbox: agent.FullAccess}, true},
		"the options have their word": {agent.Options{Sandbox: agent.ReadOnly, Env: []string{lax}}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := environment(t, []string{lax}, tt.options)
			if slices.Contains(got, lax) != tt.lax {
				t.Errorf("got %q", got)
			}
		})
	}
}

// environment is what an agent sees of ours, sorted.
func environment(t *testing.T, ours []string, o agent.Options) []string {
	t.Helper()
	var said bytes.Buffer
	o.Dir, o.Log = t.TempDir(), &said
	adapter := acp.New(acp.Config{Argv: []string{"/bin/sh", "-c", "env >&2"}, Environ: ours, Allow: []string{"MINE"}})
	if _, err := adapter.Start(t.Context(), o); err == nil {
		t.Fatal("a shell was started as an agent")
	}
	seen := slices.DeleteFunc(strings.Split(strings.TrimSpace(said.String()), "\n"), func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		return slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_"}, name) // the shell's own
	})
	slices.Sort(seen)
	return seen
}
