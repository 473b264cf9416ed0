package child_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

func TestHostsThatSettingsName(t *testing.T) {
	const providers = `[model_providers.corp]
base_url = "https://llm.corp.example/v1"
[model_providers.other]
base_url = "http://10.0.0.7:8000/v1"
`
	for name, tt := range map[string]struct {
		hosts func(map[string]string) []string
		file  string // below HOME
		text  string
		env   map[string]string
		want  []string
	}{
		"claude: no settings":                       {child.ClaudeHosts, "x", "", nil, []string{"api.anthropic.com:443"}},
		"claude: the environment":                   {child.ClaudeHosts, "x", "", map[string]string{"ANTHROPIC_BASE_URL": "http://a.example"}, []string{"a.example:80"}},
		"claude: settings win over the environment": {child.ClaudeHosts, ".claude/settings.json", `{"env":{"ANTHROPIC_BASE_URL":"https://b.example/x"}}`, map[string]string{"ANTHROPIC_BASE_URL": "http://a.example"}, []string{"b.example:443"}},
		"claude: malformed settings":                {child.ClaudeHosts, ".claude/settings.json", `{"env":`, nil, []string{"api.anthropic.com:443"}},
		"codex: no configuration":                   {child.CodexHosts, "x", "", nil, []string{"api.openai.com:443"}},
		"codex: the chosen provider alone":          {child.CodexHosts, ".codex/config.toml", "model_provider = \"corp\"\n" + providers, nil, []string{"llm.corp.example:443"}},
		"codex: the provider of the profile":        {child.CodexHosts, ".codex/config.toml", "profile = \"p\"\n" + providers + "[profiles.p]\nmodel_provider = \"other\"\n", nil, []string{"10.0.0.7:8000"}},
		"codex: no provider is chosen":              {child.CodexHosts, ".codex/config.toml", providers, nil, []string{"api.openai.com:443"}},
		"codex: another address of OpenAI":          {child.CodexHosts, ".codex/config.toml", "openai_base_url = \"http://localhost:11434/v1\"\n", nil, []string{"127.0.0.1:11434"}},
		"codex: another address of ChatGPT":         {child.CodexHosts, ".codex/config.toml", "chatgpt_base_url = \"https://c.example/\"\n", nil, []string{"api.openai.com:443", "c.example:443"}},
		"codex: CODEX_HOME":                         {child.CodexHosts, "h/config.toml", "openai_base_url = \"https://d.example\"\n", map[string]string{"CODEX_HOME": "HOME/h"}, []string{"d.example:443"}},
		"opencode: no configuration":                {child.OpencodeHosts, "x", "", nil, nil},
		"opencode: comments and a last comma": {child.OpencodeHosts, ".config/opencode/opencode.jsonc", `{ // "http://no.example"
			"provider": {"a": {"options": {"baseURL": "http://e.example:1/v1",}, /* "baseURL": "http://no.example", */ },}}`, nil, []string{"e.example:1"}},
		"opencode: a variable":      {child.OpencodeHosts, ".config/opencode/opencode.json", `{"provider":{"a":{"options":{"baseURL":"{env:BASE}/v1"}}}}`, map[string]string{"BASE": "https://f.example"}, []string{"f.example:443"}},
		"opencode: OPENCODE_CONFIG": {child.OpencodeHosts, "o.json", `{"provider":{"a":{"api":"https://g.example"}}}`, map[string]string{"OPENCODE_CONFIG": "HOME/o.json"}, []string{"g.example:443"}},
		"pi: models.json":           {child.PiHosts, ".pi/agent/models.json", `{"providers":{"a":{"baseUrl":"http://[::1]:8080/v1"}}}`, nil, []string{"[::1]:8080"}},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			values := map[string]string{"HOME": home}
			for k, v := range tt.env {
				values[k] = strings.Replace(v, "HOME", home, 1)
			}
			path := filepath.Join(home, tt.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := tt.hosts(values); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
