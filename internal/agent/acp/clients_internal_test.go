package acp

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestHostsThatSettingsName(t *testing.T) {
	agenttest.CheckHosts(t, opencodeHosts, map[string]agenttest.HostsCase{
		"no configuration": {Want: []string{"opencode.ai:443", "models.dev:443"}},
		"comments and a last comma": {File: ".config/opencode/opencode.jsonc", Text: `{ // "http://no.example"
			"provider": {"a": {"options": {"baseURL": "http://e.example:1/v1",}, /* "baseURL": "http://no.example", */ },}}`, Want: []string{"opencode.ai:443", "models.dev:443", "e.example:1"}},
		"a variable":      {File: ".config/opencode/opencode.json", Text: `{"provider":{"a":{"options":{"baseURL":"{env:BASE}/v1"}}}}`, Env: map[string]string{"BASE": "https://f.example"}, Want: []string{"opencode.ai:443", "models.dev:443", "f.example:443"}},
		"OPENCODE_CONFIG": {File: "o.json", Text: `{"provider":{"a":{"api":"https://g.example"}}}`, Env: map[string]string{"OPENCODE_CONFIG": "HOME/o.json"}, Want: []string{"opencode.ai:443", "models.dev:443", "g.example:443"}},
	})
}
