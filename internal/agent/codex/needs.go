package codex

import (
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// loginHosts serve a subscription.
var loginHosts = []string{"chatgpt.com:443", "auth.openai.com:443"}

// clientNeeds returns what the client needs in a box: what it keeps, and the model.
func clientNeeds(argv, env []string) child.Client {
	values := child.ParseEnviron(env)
	c := child.Client{Argv: argv, Env: env}
	c.AddCodex(values)
	c.Hosts = append(c.Hosts, loginHosts...)
	c.Hosts = append(c.Hosts, child.CodexHosts(values)...)
	return c
}
