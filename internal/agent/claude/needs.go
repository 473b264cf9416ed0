package claude

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// loginHosts renew the token of a subscription.
var loginHosts = []string{"console.anthropic.com:443", "platform.claude.com:443"}

// clientNeeds returns what the client needs in a box: what it keeps, and the model.
func clientNeeds(argv, env []string) child.Client {
	values := child.ParseEnviron(env)
	c := child.Client{Argv: argv, Env: env}
	AddHome(&c, values)
	c.Hosts = append(c.Hosts, loginHosts...)
	c.Hosts = append(c.Hosts, APIHosts(values)...)
	return c
}

// AddHome adds what Claude Code keeps, by its environment.
func AddHome(c *child.Client, values map[string]string) {
	c.AddHome(child.Home{
		Dir: c.DirOf(values, "CLAUDE_CONFIG_DIR", ".claude"),
		Settings: []string{
			"settings.json", ".claude.json", "policy-limits.json", "remote-settings*",
			"agents", "commands", "hooks", "local", "output-styles", "plugins", "rules", "skills", "workflows",
		},
		Logins: []string{".credentials.json"}, Kept: []string{"projects"},
	})
	path := filepath.Join(values["HOME"], ".claude.json") // where no variable names the directory
	if _, err := os.Stat(path); err == nil && values["CLAUDE_CONFIG_DIR"] == "" {
		c.Read = append(c.Read, path)
	}
}

// APIHosts returns the hosts of the API that Claude Code asks. The variables in its settings win over its environment.
func APIHosts(values map[string]string) []string {
	var settings struct{ Env map[string]string }
	_ = json.Unmarshal(child.ReadSettings(filepath.Join(child.HomeOf(values, "CLAUDE_CONFIG_DIR", ".claude"), "settings.json")), &settings)
	values = maps.Clone(values)
	maps.Copy(values, settings.Env)
	return child.HostsOf(values, "api.anthropic.com:443",
		"ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_FOUNDRY_BASE_URL")
}
