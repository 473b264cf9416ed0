package codex

import (
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// loginHosts serve a subscription.
var loginHosts = []string{"chatgpt.com:443", "auth.openai.com:443"}

// clientNeeds returns what the client needs in a box: what it keeps, and the model.
func clientNeeds(argv, env []string) child.Client {
	values := child.ParseEnviron(env)
	c := child.Client{Argv: argv, Env: env}
	AddHome(&c, values)
	c.Hosts = append(c.Hosts, loginHosts...)
	c.Hosts = append(c.Hosts, APIHosts(values)...)
	return c
}

// AddHome adds what Codex keeps, by its environment.
func AddHome(c *child.Client, values map[string]string) {
	c.AddHome(child.Home{
		Dir:      c.DirOf(values, "CODEX_HOME", ".codex"),
		Settings: []string{".env", "hooks.json", "agents", "instructions", "packages", "plugins", "prompts", "rules", "skills"},
		Logins:   []string{"auth.json"}, Kept: []string{"sessions", "archived_sessions", "*.sqlite*"},
	})
}

// APIHosts returns the hosts of the API that Codex asks: of the provider that its configuration chooses, else OpenAI's.
func APIHosts(values map[string]string) []string {
	type choice struct {
		Provider string `toml:"model_provider"`
		OpenAI   string `toml:"openai_base_url"`
		ChatGPT  string `toml:"chatgpt_base_url"`
	}
	var config struct {
		choice
		Profile   string            `toml:"profile"`
		Profiles  map[string]choice `toml:"profiles"`
		Providers map[string]struct {
			URL string `toml:"base_url"`
		} `toml:"model_providers"`
	}
	_ = toml.Unmarshal(child.ReadSettings(filepath.Join(child.HomeOf(values, "CODEX_HOME", ".codex"), "config.toml")), &config)
	chosen := config.choice
	if p := config.Profiles[config.Profile]; p.Provider != "" {
		chosen.Provider = p.Provider
	}
	if url := config.Providers[chosen.Provider].URL; url != "" {
		return child.HostsOfURLs(url, config.ChatGPT)
	}
	usual := child.HostsOf(map[string]string{"": config.OpenAI, "OPENAI_BASE_URL": values["OPENAI_BASE_URL"]}, "api.openai.com:443", "", "OPENAI_BASE_URL")
	return append(usual, child.HostsOfURLs(config.ChatGPT)...)
}
