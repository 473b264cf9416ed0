package pi

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// clientNeeds returns what pi needs in a box: what it keeps, and the models whose keys it has or that its
// models.json names.
func clientNeeds(argv, env []string) child.Client {
	values := child.ParseEnviron(env)
	c := child.Client{Argv: argv, Env: env, Hosts: append(child.HostsOfKeys(values), APIHosts(values)...)}
	AddHome(&c, values)
	return c
}

// AddHome adds what pi keeps, by its environment. Its sessions are in its directory, also where the user's own are
// elsewhere.
func AddHome(c *child.Client, values map[string]string) {
	dir := c.DirOf(withDir(values), "PI_CODING_AGENT_DIR", ".pi/agent")
	c.AddHome(child.Home{
		Dir:      dir,
		Settings: []string{"settings.json", "models.json", "models-store.json", "extensions", "git", "npm", "prompts", "skills", "themes"},
		Logins:   []string{"auth.json"}, Kept: []string{"sessions"},
	})
	c.BoxEnv = append(c.BoxEnv, "PI_CODING_AGENT_SESSION_DIR="+dir+"/sessions")
}

// withDir returns an environment with pi's directory as pi reads it.
func withDir(values map[string]string) map[string]string {
	values = maps.Clone(values)
	values["PI_CODING_AGENT_DIR"] = expandHome(values["PI_CODING_AGENT_DIR"], values["HOME"])
	return values
}

// expandHome returns a path in which "~" at the beginning is the home directory, as pi reads its variables.
func expandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		return filepath.Join(home, rest)
	}
	return path
}

// APIHosts returns the hosts that pi's models.json names for the APIs of its providers.
func APIHosts(values map[string]string) []string {
	values = withDir(values)
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
