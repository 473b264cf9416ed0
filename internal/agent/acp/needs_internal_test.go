package acp

import (
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// The same client keeps the same files, whoever speaks to it.
func TestBridgesKeepWhatTheirClientsKeep(t *testing.T) {
	values := map[string]string{"HOME": "/home/kim"}
	for program, add := range map[string]func(*child.Client, map[string]string){
		"claude-agent-acp": (*child.Client).AddClaude, "claude-code-acp": (*child.Client).AddClaude, "codex-acp": (*child.Client).AddCodex,
		"opencode": (*child.Client).AddOpencode, "gemini": (*child.Client).AddGemini,
	} {
		var want child.Client
		add(&want, values)
		got := clientNeeds([]string{"/usr/lib/node_modules/" + program + "/cli.js"}, []string{"HOME=/home/kim"}, agent.Options{})
		if len(want.Fixed) == 0 || !slices.Equal(got.State, want.State) || !slices.Equal(got.Fixed, want.Fixed) || !slices.Equal(got.Private, want.Private) || !slices.Equal(got.Tops, want.Tops) {
			t.Errorf("%s: %+v", program, got)
		}
	}
}
