package pi

import "github.com/ratchet-dev/ratchet/internal/agent/child"

// clientNeeds returns what pi needs in a box: what it keeps, and the models whose keys it has or that its
// models.json names.
func clientNeeds(argv, env []string) child.Client {
	values := child.ParseEnviron(env)
	c := child.Client{Argv: argv, Env: env, Hosts: append(child.HostsOfKeys(values), child.PiHosts(values)...)}
	c.AddPi(values)
	return c
}
