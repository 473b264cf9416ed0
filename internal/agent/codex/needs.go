package codex

import (
	"cmp"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// fixedState are the names in the client's directory that its user's own sessions load. The client
// works without writing them.
var fixedState = []string{"config.toml", "AGENTS.md", "AGENTS.override.md", "hooks.json", "rules/", "prompts/"}

// loginHosts serve a subscription.
var loginHosts = []string{"chatgpt.com:443", "auth.openai.com:443"}

// clientNeeds returns what the client needs in a box: its own directory, where the user's settings are
// read-only, and the model.
func clientNeeds(argv, env []string) child.Client {
	values := child.ParseEnviron(env)
	dir := cmp.Or(values["CODEX_HOME"], filepath.Join(values["HOME"], ".codex"))
	c := child.Client{Argv: argv, Env: env, State: []string{dir + "/"}, Hosts: loginHosts}
	for _, name := range fixedState {
		c.Fixed = append(c.Fixed, dir+"/"+name)
	}
	c.Hosts = append(c.Hosts, child.HostsOf(values, "api.openai.com:443", "OPENAI_BASE_URL")...)
	return c
}
