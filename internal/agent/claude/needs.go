package claude

import (
	"cmp"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// fixedState are the names in the client's directory that its user's own sessions load, with hooks,
// commands and servers among them. The client works without writing them.
var fixedState = []string{
	"settings.json", "settings.local.json", "CLAUDE.md", "commands/", "agents/", "skills/", "hooks/", "plugins/", "rules/", "output-styles/",
}

// loginHosts renew the token of a subscription.
var loginHosts = []string{"console.anthropic.com:443", "platform.claude.com:443"}

// clientNeeds returns what the client needs in a box: its own directory, where the user's settings are
// read-only, and the model.
func clientNeeds(argv, env []string) child.Client {
	values := child.ParseEnviron(env)
	dir := configDir(env)
	c := child.Client{Argv: argv, Env: env, State: []string{dir + "/"}, Hosts: loginHosts}
	for _, name := range fixedState {
		c.Fixed = append(c.Fixed, dir+"/"+name)
	}
	// The list of servers of the user's own sessions is in this file, which is not in ~/.claude.
	c.Fixed = append(c.Fixed, filepath.Join(cmp.Or(values["CLAUDE_CONFIG_DIR"], values["HOME"]), ".claude.json"))
	c.Hosts = append(c.Hosts, child.HostsOf(values, "api.anthropic.com:443",
		"ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_FOUNDRY_BASE_URL")...)
	return c
}
