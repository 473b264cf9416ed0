package claude_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestHostsThatSettingsName(t *testing.T) {
	agenttest.CheckHosts(t, claude.APIHosts, map[string]agenttest.HostsCase{
		"no settings":                       {Want: []string{"api.anthropic.com:443"}},
		"the environment":                   {Env: map[string]string{"ANTHROPIC_BASE_URL": "http://a.example"}, Want: []string{"a.example:80"}},
		"settings win over the environment": {File: ".claude/settings.json", Text: `{"env":{"ANTHROPIC_BASE_URL":"https://b.example/x"}}`, Env: map[string]string{"ANTHROPIC_BASE_URL": "http://a.example"}, Want: []string{"b.example:443"}},
		"malformed settings":                {File: ".claude/settings.json", Text: `{"env":`, Want: []string{"api.anthropic.com:443"}},
	})
}
