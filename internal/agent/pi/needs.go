package pi

import (
	"encoding/json"
	"maps"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// clientNeeds returns what pi needs in a box: what it keeps, and the models whose keys it has or that its
// models.json names.
func clientNeeds(argv, env []string) child.Client {
	values := child.ParseEnviron(env)
	c := child.Client{Argv: argv, Env: env, Hosts: append(child.HostsOfKeys(values), APIHosts(values)...)}
	c.AddPi(values)
	return c
}

// APIHosts returns the hosts that pi's models.json names for the APIs of its providers.
func APIHosts(values map[string]string) []string {
	values = maps.Clone(values)
	values["PI_CODING_AGENT_DIR"] = child.ExpandHome(values["PI_CODING_AGENT_DIR"], values["HOME"])
	var models struct {
		Providers map[string]struct {
			URL string `json:"baseUrl"`
		}
	}
	_ = json.Unmarshal(child.PlainJSON(child.ReadSettings(filepath.Join(child.HomeOf(values, "PI_CODING_AGENT_DIR", ".pi/agent"), "models.json"))), &models)
	var urls []string
	for _, p := range models.Providers {
		urls = append(urls, p.URL)
	}
	return child.HostsOfURLs(urls...)
}
