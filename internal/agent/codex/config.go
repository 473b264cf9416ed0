package codex

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// keepAnswers is the setting of the process by which a steer waits for the answer in progress, which it would otherwise cut
// off and lose. Whether it holds is read back; see readConfig.
const keepAnswers = "features.instant_interrupt=false"

// threadConfig returns the settings that override the client's configuration
// file, in the dotted form of its -c.
func threadConfig(o agent.Options, env []string) object {
	c := object{
		"projects":                                  distrustDirs(o.Dir),
		"sandbox_workspace_write.network_access":    o.Network,
		"sandbox_workspace_write.writable_roots":    append([]string{}, o.Dirs...), // and may read everywhere
		"sandbox_workspace_write.exclude_slash_tmp": true,                          // the session has a TMPDIR of its own
	}
	if o.NoMemory {
		c["memories.use_memories"] = false
	}
	if !o.Network {
		c["web_search"] = "disabled"
	}
	if child.ParseEnviron(env)[keyVariable] != "" {
		c["shell_environment_policy.set."+keyVariable] = ""
	}
	c["mcp_servers"] = serverTables(o)
	return c
}

// bridgeTimeout bounds a call of a bridge's tool in seconds: a person may have to decide meanwhile.
const bridgeTimeout = 24 * 60 * 60

// serverTables returns the servers as the client has them. It lets calls of the bridge's tools pass, and waits for them.
func serverTables(o agent.Options) object {
	tables := object(child.ServerTables(o.Servers))
	if o.Bridge == nil {
		return tables
	}
	tools := object{}
	for _, name := range o.Bridge.Tools {
		tools[name] = object{"approval_mode": "approve"}
	}
	bridge := tables[o.Bridge.Name].(map[string]any)
	bridge["tools"], bridge["tool_timeout_sec"] = tools, bridgeTimeout
	return tables
}

// distrustDirs marks the working directory and all directories above it as
// untrusted. Otherwise the client would take a thread that may write for the
// user's word that the directory is trusted, store that in the user's
// configuration, and load the repository's own configuration: MCP servers that it
// starts outside of the sandbox, rules for commands that need no permission,
// directories that may be written. A user who trusts the repository does not
// mean the files that an agent writes into a worktree of it.
func distrustDirs(dir string) object {
	dirs := object{}
	for _, path := range []string{dir, resolveLinks(dir)} {
		for ; dirs[path] == nil; path = filepath.Dir(path) {
			dirs[path] = object{"trust_level": "untrusted"}
		}
	}
	return dirs
}

func resolveLinks(dir string) string {
	if path, err := filepath.EvalSymlinks(dir); err == nil {
		return path
	}
	return dir
}

// maxGuide bounds the part of an AGENTS.md that counts, as the client itself does.
const maxGuide = 32 << 10

// developerInstructions joins the system prompt and the repository's AGENTS.md,
// which the client leaves out of an untrusted directory. It is text for the model,
// and loosens no rule.
func developerInstructions(o agent.Options) string {
	guide := readGuide(o.Dir)
	if guide == "" {
		return o.System
	}
	text := "The repository's own instructions, from its AGENTS.md:\n\n" + guide
	return strings.TrimPrefix(o.System+"\n\n"+text, "\n\n")
}

// readGuide returns the AGENTS.md of dir. It is empty if there is none that lies
// within dir, or if reading the file could block.
func readGuide(dir string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	f, err := root.OpenFile("AGENTS.md", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, maxGuide))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "?")
}
