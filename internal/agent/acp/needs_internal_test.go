package acp

import (
	"reflect"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
)

// The same client keeps the same files, whoever speaks to it.
func TestBridgesKeepWhatTheirClientsKeep(t *testing.T) {
	values := map[string]string{"HOME": "/home/kim"}
	for program, add := range map[string]func(*child.Client, map[string]string){
		"claude-agent-acp": claude.AddHome, "claude-code-acp": claude.AddHome, "codex-acp": codex.AddHome,
		"opencode": AddOpencode, "gemini": AddGemini,
	} {
		var want child.Client
		add(&want, values)
		got := clientNeeds([]string{"/usr/lib/node_modules/" + program + "/cli.js"}, []string{"HOME=/home/kim"})
		if len(want.Homes) == 0 || !reflect.DeepEqual(got.Homes, want.Homes) {
			t.Errorf("%s: %+v", program, got)
		}
	}
}
