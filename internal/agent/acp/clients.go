package acp

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
)

// Program is a program that speaks ACP and is well known.
type Program struct {
	// Argv is its command line.
	Argv []string
	// Contained says that the settings of a repository allow it nothing.
	Contained bool
}

// Programs are the well known programs that need no bridge. Gemini CLI reads the repository's own servers, hooks and tools.
var Programs = []Program{{[]string{"opencode", "acp"}, true}, {[]string{"gemini", "--acp"}, false}}

// clients are the programs whose files and hosts are known, by the names of their programs or scripts.
var clients = []struct {
	names []string
	keeps func(*child.Client, map[string]string)
	hosts func(map[string]string) []string
}{
	{[]string{"opencode"}, AddOpencode, opencodeHosts},
	{[]string{"gemini"}, AddGemini, geminiHosts},
	{[]string{"codex-acp"}, codex.AddHome, codex.APIHosts},
	{[]string{"claude-agent-acp", "claude-code-acp"}, claude.AddHome, claude.APIHosts},
}

// clientNeeds returns what an agent needs in a box: what those that we know keep, and the models whose keys it has or that
// its settings name. Other agents get what the operator names.
func clientNeeds(argv, env []string) child.Client {
	values := child.ParseEnviron(env)
	c := child.Client{Argv: argv, Env: env, Hosts: child.HostsOfKeys(values)}
	for _, known := range clients {
		if slices.ContainsFunc(known.names, func(name string) bool { return names(argv, name) }) {
			known.keeps(&c, values)
			c.Hosts = append(c.Hosts, known.hosts(values)...)
			break
		}
	}
	return c
}

// names reports whether a part of the path of the program, or of its script, is the name.
func names(argv []string, name string) bool {
	return slices.ContainsFunc(argv[:min(len(argv), 2)], func(arg string) bool {
		return slices.Contains(strings.Split(strings.TrimSuffix(arg, ".js"), "/"), name)
	})
}

// AddOpencode adds what opencode keeps, by its environment. Its cache holds programs that sessions outside of the box would
// run, and is made again for each box.
func AddOpencode(c *child.Client, values map[string]string) {
	data := c.DirOf(values, "XDG_DATA_HOME", ".local/share") + "/opencode"
	c.AddHome(child.Home{Dir: c.DirOf(values, "XDG_CONFIG_HOME", ".config") + "/opencode", Settings: []string{
		"opencode.json*", "config.json", "agent*", "command*", "instructions", "mode*", "package*.json", "plugin*", "prompts", "skill*", "themes", "tool*",
	}})
	c.AddHome(child.Home{Dir: data, Logins: []string{"auth.json"}, Kept: []string{"opencode.db*"}})
	c.AddHome(child.Home{Dir: c.DirOf(values, "XDG_STATE_HOME", ".local/state") + "/opencode"})
	if file := values["OPENCODE_CONFIG"]; file != "" {
		c.Read = append(c.Read, c.AbsolutePath("OPENCODE_CONFIG", file))
	}
	c.BoxEnv = append(c.BoxEnv, "XDG_CACHE_HOME=/tmp/cache", "OPENCODE_DB="+data+"/opencode.db")
}

// AddGemini adds what Gemini CLI keeps, whose sessions end with their process.
func AddGemini(c *child.Client, values map[string]string) {
	c.AddHome(child.Home{
		Dir:      c.DirOf(values, "", ".gemini"),
		Settings: []string{"settings.json", "trustedFolders.json", ".env", "agents", "commands", "extensions", "hooks", "policies", "skills"},
		Logins:   []string{"oauth_creds.json", "gemini-credentials.json", "google_accounts.json", "installation_id"},
	})
}

func geminiHosts(map[string]string) []string {
	return []string{"oauth2.googleapis.com:443", "cloudcode-pa.googleapis.com:443"}
}

// opencodeHosts returns opencode's own hosts, and those that its configuration names for the APIs of its providers.
func opencodeHosts(values map[string]string) []string {
	dir := filepath.Join(child.HomeOf(values, "XDG_CONFIG_HOME", ".config"), "opencode")
	texts := [][]byte{[]byte(values["OPENCODE_CONFIG_CONTENT"]), child.ReadSettings(values["OPENCODE_CONFIG"])}
	for _, name := range []string{"config.json", "opencode.json", "opencode.jsonc"} {
		texts = append(texts, child.ReadSettings(filepath.Join(dir, name)))
	}
	hosts := []string{"opencode.ai:443", "models.dev:443"}
	var urls []string
	for _, text := range texts {
		var config struct {
			Provider map[string]struct {
				API     string
				Options struct {
					BaseURL string `json:"baseURL"`
				}
			}
		}
		_ = json.Unmarshal(child.PlainJSON(text), &config)
		for _, p := range config.Provider {
			urls = append(urls, expandEnv(p.API, values), expandEnv(p.Options.BaseURL, values))
		}
	}
	return append(hosts, child.HostsOfURLs(urls...)...)
}

var envReference = regexp.MustCompile(`\{env:([^}]*)\}`)

// expandEnv returns a text with the values of the variables that it names as opencode does.
func expandEnv(text string, values map[string]string) string {
	return envReference.ReplaceAllStringFunc(text, func(m string) string { return values[envReference.FindStringSubmatch(m)[1]] })
}
