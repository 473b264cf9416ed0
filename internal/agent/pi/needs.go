package pi

import (
	"cmp"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// fixedState are the names in pi's directory that its user's own sessions load, with programs and
// commands among them. Pi works without writing them.
var fixedState = []string{
	"settings.json", "models.json", "keybindings.json", "AGENTS.md", "SYSTEM.md", "extensions/", "skills/", "prompts/", "themes/", "npm/", "git/",
}

// clientNeeds returns what pi needs in a box: its own directory, where the user's settings are
// read-only, and the models whose keys it has.
func clientNeeds(argv, env []string) child.Client {
	values := child.ParseEnviron(env)
	dir := cmp.Or(values[homeVariable], filepath.Join(values["HOME"], ".pi", "agent"))
	c := child.Client{Argv: argv, Env: env, State: []string{dir + "/"}, Hosts: child.HostsOfKeys(values)}
	if sessions := values[sessionsVariable]; sessions != "" {
		c.State = append(c.State, sessions+"/")
	}
	for _, name := range fixedState {
		c.Fixed = append(c.Fixed, dir+"/"+name)
	}
	return c
}
