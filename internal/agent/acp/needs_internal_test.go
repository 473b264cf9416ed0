package acp

import (
	"reflect"
	"testing"

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
		got := clientNeeds([]string{"/usr/lib/node_modules/" + program + "/cli.js"}, []string{"HOME=/home/kim"})
		if len(want.Homes) == 0 || !reflect.DeepEqual(got.Homes, want.Homes) {
			t.Errorf("%s: %+v", program, got)
		}
	}
}
