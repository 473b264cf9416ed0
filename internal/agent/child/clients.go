package child

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Home is a directory that a client keeps for its user. A session in a box has one of its own in the place of it.
type Home struct {
	Dir string
	// Settings are patterns of the names in Dir that the session sees, read-only, besides texts and programs: see
	// shown. Another name is not there, whatever a later version of the client makes of it.
	Settings []string
	// Logins are the names of files of credentials. The session has copies of them.
	Logins []string
	// Kept are patterns of the names that stay in the session's own directory for its next process: transcripts.
	Kept []string
}

// What a session sees of its user's settings. A pattern without an asterisk is a name.
var (
	claudeSettings = []string{
		"settings.json", ".claude.json", "policy-limits.json", "remote-settings*",
		"agents", "commands", "hooks", "local", "output-styles", "plugins", "rules", "skills", "workflows",
	}
	codexSettings    = []string{".env", "hooks.json", "agents", "instructions", "packages", "plugins", "prompts", "rules", "skills"}
	piSettings       = []string{"settings.json", "models.json", "models-store.json", "extensions", "git", "npm", "prompts", "skills", "themes"}
	opencodeSettings = []string{
		"opencode.json*", "config.json", "agent*", "command*", "instructions", "mode*", "package*.json", "plugin*", "prompts", "skill*", "themes", "tool*",
	}
	geminiSettings = []string{"settings.json", "trustedFolders.json", ".env", "agents", "commands", "extensions", "hooks", "policies", "skills"}
)

// dirOf returns the directory that a variable names, or one below HOME.
func (c *Client) dirOf(values map[string]string, variable, dir string) string {
	if path := values[variable]; path != "" {
		return c.absolutePath(variable, path)
	}
	return filepath.Join(c.absolutePath("HOME", values["HOME"]), dir)
}

// absolutePath returns the clean path that a variable names. One that is not absolute would be a place in the worker's own
// directory: the client is refused then.
func (c *Client) absolutePath(variable, path string) string {
	if !filepath.IsAbs(path) && c.refused == nil {
		c.refused = fmt.Errorf("%s=%s is not an absolute path: set it to one", variable, path)
	}
	return filepath.Clean(path)
}

// ExpandHome returns a path in which "~" at the beginning is the home directory, as pi reads its variables.
func ExpandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		return filepath.Join(home, rest)
	}
	return path
}

// AddClaude adds what Claude Code keeps. Values are its environment, as for the others.
func (c *Client) AddClaude(values map[string]string) {
	c.addHome(Home{Dir: c.dirOf(values, "CLAUDE_CONFIG_DIR", ".claude"), Settings: claudeSettings, Logins: []string{".credentials.json"}, Kept: []string{"projects"}})
	path := filepath.Join(values["HOME"], ".claude.json") // where no variable names the directory
	if _, err := os.Stat(path); err == nil && values["CLAUDE_CONFIG_DIR"] == "" {
		c.Read = append(c.Read, path)
	}
}

// AddCodex adds what Codex keeps.
func (c *Client) AddCodex(values map[string]string) {
	kept := []string{"sessions", "archived_sessions", "*.sqlite*"}
	c.addHome(Home{Dir: c.dirOf(values, "CODEX_HOME", ".codex"), Settings: codexSettings, Logins: []string{"auth.json"}, Kept: kept})
}

// AddPi adds what pi keeps. Its sessions are in its directory, also where the user's own are elsewhere.
func (c *Client) AddPi(values map[string]string) {
	values = maps.Clone(values)
	values["PI_CODING_AGENT_DIR"] = ExpandHome(values["PI_CODING_AGENT_DIR"], values["HOME"])
	dir := c.dirOf(values, "PI_CODING_AGENT_DIR", ".pi/agent")
	c.addHome(Home{Dir: dir, Settings: piSettings, Logins: []string{"auth.json"}, Kept: []string{"sessions"}})
	c.BoxEnv = append(c.BoxEnv, "PI_CODING_AGENT_SESSION_DIR="+dir+"/sessions")
}

// AddOpencode adds what opencode keeps. Its cache holds programs that sessions outside of the box would run, and is made
// again for each box.
func (c *Client) AddOpencode(values map[string]string) {
	data := c.dirOf(values, "XDG_DATA_HOME", ".local/share") + "/opencode"
	c.addHome(Home{Dir: c.dirOf(values, "XDG_CONFIG_HOME", ".config") + "/opencode", Settings: opencodeSettings})
	c.addHome(Home{Dir: data, Logins: []string{"auth.json"}, Kept: []string{"opencode.db*"}})
	c.addHome(Home{Dir: c.dirOf(values, "XDG_STATE_HOME", ".local/state") + "/opencode"})
	if file := values["OPENCODE_CONFIG"]; file != "" {
		c.Read = append(c.Read, c.absolutePath("OPENCODE_CONFIG", file))
	}
	c.BoxEnv = append(c.BoxEnv, "XDG_CACHE_HOME=/tmp/cache", "OPENCODE_DB="+data+"/opencode.db")
}

// AddGemini adds what Gemini CLI keeps, whose sessions end with their process.
func (c *Client) AddGemini(values map[string]string) {
	logins := []string{"oauth_creds.json", "gemini-credentials.json", "google_accounts.json", "installation_id"}
	c.addHome(Home{Dir: c.dirOf(values, "", ".gemini"), Settings: geminiSettings, Logins: logins})
}

// addHome adds a directory, unless it is there already.
func (c *Client) addHome(h Home) {
	if !slices.ContainsFunc(c.Homes, func(other Home) bool { return other.Dir == h.Dir }) {
		c.Homes = append(c.Homes, h)
	}
}
