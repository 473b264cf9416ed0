package claude

import (
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// loginHosts renew the token of a subscription.
var loginHosts = []string{"console.anthropic.com:443", "platform.claude.com:443"}

// clientNeeds returns what the client needs in a box: what it keeps, and the model.
func clientNeeds(argv, env []string) child.Client {
	values := child.ParseEnviron(env)
	c := child.Client{Argv: argv, Env: env}
	c.AddClaude(values)
	c.Hosts = append(c.Hosts, loginHosts...)
	c.Hosts = append(c.Hosts, child.ClaudeHosts(values)...)
	return c
}
