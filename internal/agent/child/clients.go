package child

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// The names in a client's directory that its user's own sessions load, with hooks, commands, servers and
// programs among them. The client reads them, and works without writing them. Those that end in a slash are
// directories.
var (
	claudeFixed = []string{
		"settings.json", "settings.local.json", "CLAUDE.md", "agents/", "chrome/", "commands/", "cowork_plugins/", "hooks/", "local/", "output-styles/",
		"plugins/", "policy-limits.json", "remote-settings.json", "remote-settings.json.signature.json", "remote-settings.json.signature-iat.json",
		"remote-settings-consent.json", "remote-settings-helper-consent", "routines/", "rules/", "skills/", "workflows/",
	}
	codexFixed = []string{
		"config.toml", ".env", "managed_config.toml", "hooks.json", "AGENTS.md", "AGENTS.override.md", "agents/", "instructions/", "packages/", "plugins/", "prompts/", "rules/",
		"skills/", "themes/",
	}
	piFixed = []string{
		"settings.json", "models.json", "models-store.json", "keybindings.json", "trust.json", "AGENTS.md", "SYSTEM.md", "APPEND_SYSTEM.md", "bin/", "extensions/", "git/", "npm/",
		"prompts/", "skills/", "themes/", "tools/",
		// The registry of sessions: its records, mail and markers decide whom others believe and wake.
		"meta-mailbox/", "meta-receivers/", "meta-senders/", "meta-sessions/",
	}
	opencodeFixed = []string{
		"opencode.json", "opencode.jsonc", "config.json", "AGENTS.md", "agent/", "agents/", "command/", "commands/", "instructions/", "mode/", "modes/",
		"node_modules/", "package.json", "package-lock.json", "plugin/", "plugins/", "prompts/", "skill/", "skills/", "themes/", "tool/", "tools/",
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

// addTop adds a directory of the client of which a box shows the fixed names, and texts and programs.
func (c *Client) addTop(dir string, fixed, private []string) {
	c.Tops = append(c.Tops, dir+"/")
	c.addNames(dir, fixed, private)
}

// addNames adds names in a directory of the client.
func (c *Client) addNames(dir string, fixed, private []string) {
	for _, name := range fixed {
		c.Fixed = append(c.Fixed, dir+"/"+name)
	}
	for _, name := range private {
		c.Private = append(c.Private, dir+"/"+name)
	}
}

// dirOf returns the directory that a variable names, or one below HOME.
func (c *Client) dirOf(values map[string]string, variable, dir string) string {
	if path := values[variable]; path != "" {
		return c.absolute(variable, path)
	}
	return filepath.Join(c.absolute("HOME", values["HOME"]), dir)
}

// absolute returns the clean path that a variable names. One that is not absolute would be a place in the worker's own
// directory: the client is refused then.
func (c *Client) absolute(variable, path string) string {
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

// AddClaude adds what Claude Code keeps. Values are its environment, as for the others. Of the transcripts
// it adds the ones of the working directory alone: an agent could write others for sessions of the user.
func (c *Client) AddClaude(values map[string]string) {
	dir := c.dirOf(values, "CLAUDE_CONFIG_DIR", ".claude")
	c.addTop(dir, claudeFixed, claudePrivate)
	c.Logins = append(c.Logins, Login{dir + "/.credentials.json", lock{dirLock, dir + "/.oauth_refresh.lock"}})
	c.State = append(c.State, dir+"/sessions/") // it tells which sessions run
	c.State = append(c.State, claudeProjects(dir+"/projects", c.Dir, c.Resume)...)
	// The list of servers of the user's own sessions is in this file, which is not in ~/.claude.
	c.Fixed = append(c.Fixed, filepath.Join(cmp.Or(values["CLAUDE_CONFIG_DIR"], values["HOME"]), ".claude.json"))
}

// claudeProjects returns the directories of the transcripts of a working directory, and of a session that was
// begun in another (docs/contracts/claude-code.md, 8).
func claudeProjects(projects, dir, resume string) (found []string) {
	if dir == "" {
		return nil
	}
	add := func(name string) {
		if at := filepath.Join(projects, name) + "/"; !slices.Contains(found, at) {
			found = append(found, at)
		}
	}
	add(nameOf(dir))
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		add(nameOf(real))
	}
	if resume == "" {
		return found
	}
	entries, _ := os.ReadDir(projects) // of none there are none
	for _, e := range entries {
		if info, err := os.Lstat(filepath.Join(projects, e.Name(), resume+".jsonl")); e.IsDir() && err == nil && info.Mode().IsRegular() {
			add(e.Name())
		}
	}
	return found
}

// longestName bounds the name of a directory of transcripts, but for the hash at the end of a longer one.
const longestName = 200

// nameOf returns the name that Claude Code gives to the directory of the transcripts of a working directory.
func nameOf(dir string) string {
	units := utf16.Encode([]rune(dir))
	var name strings.Builder
	hash := int32(0)
	for _, u := range units {
		hash = hash*31 + int32(u)
		if u > unicode.MaxASCII || !unicode.IsLetter(rune(u)) && !unicode.IsDigit(rune(u)) {
			u = '-'
		}
		name.WriteByte(byte(u))
	}
	if name.Len() <= longestName {
		return name.String()
	}
	return name.String()[:longestName] + "-" + strconv.FormatInt(max(int64(hash), -int64(hash)), 36)
}

// AddCodex adds what Codex keeps: all transcripts, because their directories are named after days. Its databases
// can be made from them: each working directory has its own.
func (c *Client) AddCodex(values map[string]string) {
	dir := c.dirOf(values, "CODEX_HOME", ".codex")
	c.addTop(dir, codexFixed, codexPrivate)
	c.Logins = append(c.Logins, Login{dir + "/auth.json", lock{fileLock, dir + "/auth.json.lock"}})
	own := filepath.Join(dir, "ratchet", nameOf(c.Dir))
	c.State = append(c.State, dir+"/sessions/", dir+"/archived_sessions/", dir+"/thread-writer-locks/", own+"/")
	c.BoxEnv = append(c.BoxEnv, "CODEX_SQLITE_HOME="+own)
}

// AddPi adds what pi keeps.
func (c *Client) AddPi(values map[string]string) {
	values = maps.Clone(values)
	for _, name := range []string{"PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"} {
		values[name] = ExpandHome(values[name], values["HOME"])
	}
	dir := c.dirOf(values, "PI_CODING_AGENT_DIR", ".pi/agent")
	c.addTop(dir, piFixed, piPrivate)
	c.Logins = append(c.Logins, Login{dir + "/auth.json", lock{dirLock, dir + "/auth.json.lock"}})
	sessions := dir + "/sessions"
	if named := values["PI_CODING_AGENT_SESSION_DIR"]; named != "" {
		sessions = c.absolute("PI_CODING_AGENT_SESSION_DIR", named)
	}
	c.State = append(c.State, sessions+"/")
}

// AddOpencode adds what opencode keeps. It does not start where it cannot write beside its settings. Its
// cache holds programs that sessions outside of the box would run, and is made anew for each box. Its database
// holds commands and permissions beside the sessions: each working directory has its own.
func (c *Client) AddOpencode(values map[string]string) {
	data := c.dirOf(values, "XDG_DATA_HOME", ".local/share") + "/opencode"
	c.addTop(c.dirOf(values, "XDG_CONFIG_HOME", ".config")+"/opencode", opencodeFixed, nil)
	c.addTop(data, []string{"bin/"}, nil)
	c.addTop(c.dirOf(values, "XDG_STATE_HOME", ".local/state")+"/opencode", nil, nil)
	c.Logins = append(c.Logins, Login{File: data + "/auth.json"})
	own := filepath.Join(data, "ratchet", nameOf(c.Dir))
	c.State = append(c.State, own+"/")
	if file := values["OPENCODE_CONFIG"]; file != "" {
		c.Read = append(c.Read, c.absolute("OPENCODE_CONFIG", file))
	}
	c.BoxEnv = append(c.BoxEnv, "XDG_CACHE_HOME=/tmp/cache", "OPENCODE_DB="+filepath.Join(own, "opencode.db"))
}

// AddGemini adds what Gemini CLI keeps. It reads ~/.env where there is no .env in its directory, so an
// empty one is made only for a user who has neither.
func (c *Client) AddGemini(values map[string]string) {
	dir := filepath.Join(c.absolute("HOME", values["HOME"]), ".gemini")
	c.State = append(c.State, dir+"/", dir+"/tmp/") // so that tmp/bin is below a mount
	c.addNames(dir, geminiFixed, nil)
	_, own := os.Lstat(filepath.Join(dir, ".env"))
	if _, users := os.Lstat(filepath.Join(values["HOME"], ".env")); own == nil || users != nil {
		c.Fixed = append(c.Fixed, dir+"/.env")
	}
}
