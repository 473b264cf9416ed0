package codex_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestHostsThatSettingsName(t *testing.T) {
	const providers = `[model_providers.corp]
base_url = "https://llm.corp.example/v1"
[model_providers.other]
base_url = "http://10.0.0.7:8000/v1"
`
	agenttest.CheckHosts(t, codex.APIHosts, map[string]agenttest.HostsCase{
		"no configuration":            {Want: []string{"api.openai.com:443"}},
		"the chosen provider alone":   {File: ".codex/config.toml", Text: "model_provider = \"corp\"\n" + providers, Want: []string{"llm.corp.example:443"}},
		"the provider of the profile": {File: ".codex/config.toml", Text: "profile = \"p\"\n" + providers + "[profiles.p]\nmodel_provider = \"other\"\n", Want: []string{"10.0.0.7:8000"}},
		"no provider is chosen":       {File: ".codex/config.toml", Text: providers, Want: []string{"api.openai.com:443"}},
		"another address of OpenAI":   {File: ".codex/config.toml", Text: "openai_base_url = \"http://localhost:11434/v1\"\n", Want: []string{"127.0.0.1:11434"}},
		"another address of ChatGPT":  {File: ".codex/config.toml", Text: "chatgpt_base_url = \"https://c.example/\"\n", Want: []string{"api.openai.com:443", "c.example:443"}},
		"CODEX_HOME":                  {File: "h/config.toml", Text: "openai_base_url = \"https://d.example\"\n", Env: map[string]string{"CODEX_HOME": "HOME/h"}, Want: []string{"d.example:443"}},
	})
}
