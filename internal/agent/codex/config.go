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

// configOf is what counts over the client's configuration file, in the dotted
// form of its -c.
func threadConfig(o agent.Options, env []string) (object, error) {
	c := object{
		"projects":                                  distrustDirs(o.Dir),
		"sandbox_workspace_write.network_access":    o.Network,
		"sandbox_workspace_write.writable_roots":    append([]string{}, o.Dirs...),
		"sandbox_workspace_write.exclude_slash_tmp": true, // the session has a TMPDIR of its own
	}
	if !o.Network {
		c["web_search"] = "disabled"
	}
	if child.ParseEnviron(env)[keyVariable] != "" {
		c["shell_environment_policy.set."+keyVariable] = ""
	}
	servers, err := readServers(o.MCPConfig)
	c["mcp_servers"] = servers
	return c, err
}

// distrusted says that nothing of the working directory is to be trusted. The
// client would else take a thread that may write for the user's word that it
// is, note so in the user's configuration, and take the repository's own: MCP
// servers that it starts outside of the sandbox, rules for what need not be
// asked, directories that may be written. A user who trusts the repository
// does not mean what an agent writes into a worktree of it.
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

// maxGuide is how much of an AGENTS.md counts, as with the client itself.
const maxGuide = 32 << 10

// instructionsOf joins the system prompt and the repository's AGENTS.md, which
// the client leaves out where it trusts nothing. It is text for the model, and
// loosens nothing.
func developerInstructions(o agent.Options) string {
	guide := readGuide(o.Dir)
	if guide == "" {
		return o.System
	}
	text := "The repository's own instructions, from its AGENTS.md:\n\n" + guide
	return strings.TrimPrefix(o.System+"\n\n"+text, "\n\n")
}

// guideIn is empty where there is none that lies within dir. A file that would
// keep its reader waiting does not.
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
