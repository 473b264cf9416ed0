package child

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
)

// The names in a client's directory that its user's own sessions load, with hooks, commands, servers and
// programs among them. The client works without writing them. Those that end in a slash are directories.
var (
	claudeFixed = []string{
		"settings.json", "settings.local.json", "CLAUDE.md", "agents/", "chrome/", "commands/", "cowork_plugins/", "hooks/", "local/", "output-styles/",
		"plugins/", "routines/", "rules/", "skills/", "workflows/",
	}
	codexFixed = []string{
		"config.toml", ".env", "managed_config.toml", "hooks.json", "AGENTS.md", "AGENTS.override.md", "packages/", "plugins/", "prompts/", "rules/",
		"skills/", "themes/",
	}
	piFixed = []string{
		"settings.json", "models.json", "keybindings.json", "trust.json", "AGENTS.md", "SYSTEM.md", "APPEND_SYSTEM.md", "bin/", "extensions/", "git/", "npm/",
		"prompts/", "skills/", "themes/", "tools/",
		// The registry of sessions: its records, mail and markers decide whom others believe and wake.
		"meta-mailbox/", "meta-receivers/", "meta-senders/", "meta-sessions/",
	}
	opencodeFixed = []string{
		"opencode.json", "opencode.jsonc", "config.json", "AGENTS.md", "agent/", "agents/", "command/", "commands/", "mode/", "modes/",
		"node_modules/", "package.json", "plugin/", "plugins/", "skill/", "skills/", "themes/", "tool/", "tools/",
	}
	geminiFixed = []string{
		"settings.json", "trustedFolders.json", "GEMINI.md", "agents/", "commands/", "extensions/", "hooks/", "policies/", "skills/", "tmp/bin/",
	}
)

// The directories in a client's directory that are made anew for each box: the files in them are
// executed, and belong to sessions that run, or programs of the user listen there.
var (
	claudePrivate = []string{"daemon/", "jobs/", "session-env/", "shell-snapshots/"}
	codexPrivate  = []string{"app-server-control/", "app-server-daemon/", "shell_snapshots/"}
	piPrivate     = []string{"intercom/"}
)

// addState adds a directory of the client, with names in it.
func (c *Client) addState(dir string, fixed, private []string) {
	c.State = append(c.State, dir+"/")
	for _, name := range fixed {
		c.Fixed = append(c.Fixed, dir+"/"+name)
	}
	for _, name := range private {
		c.Private = append(c.Private, dir+"/"+name)
	}
}

// dirOf returns the value of a variable, or a directory below HOME.
func dirOf(values map[string]string, variable, dir string) string {
	return filepath.Clean(cmp.Or(values[variable], filepath.Join(values["HOME"], dir)))
}

// AddClaude adds what Claude Code keeps. Values are its environment, as for the others.
func (c *Client) AddClaude(values map[string]string) {
	c.addState(dirOf(values, "CLAUDE_CONFIG_DIR", ".claude"), claudeFixed, claudePrivate)
	// The list of servers of the user's own sessions is in this file, which is not in ~/.claude.
	c.Fixed = append(c.Fixed, filepath.Join(cmp.Or(values["CLAUDE_CONFIG_DIR"], values["HOME"]), ".claude.json"))
}

// AddCodex adds what Codex keeps.
func (c *Client) AddCodex(values map[string]string) {
	c.addState(dirOf(values, "CODEX_HOME", ".codex"), codexFixed, codexPrivate)
}

// AddPi adds what pi keeps.
func (c *Client) AddPi(values map[string]string) {
	c.addState(dirOf(values, "PI_CODING_AGENT_DIR", ".pi/agent"), piFixed, piPrivate)
	dir, sessions := filepath.Clean(c.State[len(c.State)-1]), values["PI_CODING_AGENT_SESSION_DIR"]
	if sessions != "" && !strings.HasPrefix(filepath.Clean(sessions)+"/", dir+"/") {
		c.State = append(c.State, sessions+"/")
	}
}

// AddOpencode adds what opencode keeps. It does not start where it cannot write beside its settings. Its
// cache holds programs that sessions outside of the box would run, and is made anew for each box.
func (c *Client) AddOpencode(values map[string]string) {
	c.addState(dirOf(values, "XDG_CONFIG_HOME", ".config")+"/opencode", opencodeFixed, nil)
	c.addState(dirOf(values, "XDG_DATA_HOME", ".local/share")+"/opencode", []string{"bin/"}, nil)
	c.addState(dirOf(values, "XDG_STATE_HOME", ".local/state")+"/opencode", nil, nil)
	if file := values["OPENCODE_CONFIG"]; file != "" {
		c.Read = append(c.Read, filepath.Clean(file))
	}
	c.Env = append(c.Env[:len(c.Env):len(c.Env)], "XDG_CACHE_HOME=/tmp/cache")
}

// AddGemini adds what Gemini CLI keeps. It reads ~/.env where there is no .env in its directory, so an
// empty one is made only for a user who has neither.
func (c *Client) AddGemini(values map[string]string) {
	dir := filepath.Join(values["HOME"], ".gemini")
	c.addState(dir, geminiFixed, nil)
	c.State = append(c.State, dir+"/tmp/") // so that tmp/bin is below a mount
	_, own := os.Lstat(filepath.Join(dir, ".env"))
	if _, users := os.Lstat(filepath.Join(values["HOME"], ".env")); own == nil || users != nil {
		c.Fixed = append(c.Fixed, dir+"/.env")
	}
}
