package acp

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// enclosed is an agent with its boundary.
type enclosed struct {
	child.Enclosed
	argv []string
}

// enclose returns the boundary around the agent.
func (a *adapter) enclose(o agent.Options) (enclosed, error) {
	env := a.agentEnviron(o)
	argv := slices.Clone(a.Argv)
	if a.Sandbox.Held() {
		path, err := child.FindProgram(argv[0], child.ParseEnviron(env)["PATH"])
		if err != nil {
			return enclosed{}, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
		}
		argv[0] = path
	}
	in, err := a.Sandbox.Enclose(clientNeeds(argv, env), o)
	return enclosed{in, argv}, err
}

// clientNeeds returns what an agent needs in a box: the directories of those that we know, where the
// user's settings are read-only, and the models whose keys it has. Other agents get what the operator
// names.
func clientNeeds(argv, env []string) child.Client {
	values := child.ParseEnviron(env)
	c := child.Client{Argv: argv, Env: env, Hosts: child.HostsOfKeys(values)}
	home := values["HOME"]
	dir := func(variable, fallback string) string { return cmp.Or(values[variable], filepath.Join(home, fallback)) }
	switch {
	case names(argv, "opencode"):
		config := dir("XDG_CONFIG_HOME", ".config") + "/opencode/"
		c.State = []string{dir("XDG_DATA_HOME", ".local/share") + "/opencode/", dir("XDG_STATE_HOME", ".local/state") + "/opencode/", config}
		for _, name := range opencodeFixed {
			c.Fixed = append(c.Fixed, config+name)
		}
		if file := values["OPENCODE_CONFIG"]; file != "" {
			c.Read = append(c.Read, filepath.Clean(file))
		}
		// Its cache holds programs that sessions outside of the box would run.
		c.Env = append(slices.Clone(env), "XDG_CACHE_HOME=/tmp/cache")
		c.Hosts = append(c.Hosts, "opencode.ai:443", "models.dev:443")
	case names(argv, "gemini"):
		c.State = []string{home + "/.gemini/"}
		c.Fixed = []string{home + "/.gemini/settings.json", home + "/.gemini/GEMINI.md", home + "/.gemini/extensions/", home + "/.gemini/commands/"}
		c.Hosts = append(c.Hosts, "oauth2.googleapis.com:443", "cloudcode-pa.googleapis.com:443")
	case names(argv, "codex-acp"):
		base := dir("CODEX_HOME", ".codex")
		c.State = []string{base + "/"}
		c.Fixed = []string{base + "/config.toml", base + "/AGENTS.md", base + "/hooks.json", base + "/rules/"}
	case names(argv, "claude-agent-acp"), names(argv, "claude-code-acp"):
		base := dir("CLAUDE_CONFIG_DIR", ".claude")
		c.State = []string{base + "/"}
		c.Fixed = []string{base + "/settings.json", base + "/hooks/", base + "/plugins/", cmp.Or(values["CLAUDE_CONFIG_DIR"], home) + "/.claude.json"}
	}
	return c
}

// opencodeFixed are the names in opencode's directory of settings that its user's own sessions load, with
// programs and commands among them. It does not start where it cannot write beside them.
var opencodeFixed = []string{
	"opencode.json", "opencode.jsonc", "config.json", "AGENTS.md", "agent/", "agents/", "command/", "commands/", "mode/", "modes/",
	"plugin/", "plugins/", "skill/", "skills/", "tool/", "tools/", "themes/",
}

// names reports whether a part of the path of the program, or of its script, is the name.
func names(argv []string, name string) bool {
	return slices.ContainsFunc(argv[:min(len(argv), 2)], func(arg string) bool {
		return slices.Contains(strings.Split(strings.TrimSuffix(arg, ".js"), "/"), name)
	})
}
