package claude

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// The modes of the client that can be chosen.
const (
	askMode    = "default"
	editMode   = "acceptEdits"
	planMode   = "plan"
	bypassMode = "bypassPermissions"
)

// readTools are all that a read-only session has. Plan mode is no sandbox: it
// writes when it is allowed to (docs/contracts/claude-code.md, 1).
const readTools = "Read,Grep,Glob"

// noTools are never offered: the first three would wait for a person at a
// terminal, the others begin turns that nobody sent.
var noTools = []string{"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "CronCreate", "ScheduleWakeup", "Monitor"}

// netTools reach the network by themselves. Commands do as well, and are asked
// about.
var netTools = []string{"WebFetch", "WebSearch"}

// arguments are those of the client (docs/contracts/claude-code.md, 3). Values that the caller chose
// stand in one argument with their flag, so that none is taken for a flag.
func clientArgs(o agent.Options, fresh string) ([]string, error) {
	limits, err := sandboxArgs(o)
	if err != nil {
		return nil, err
	}
	argv := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio",
	}
	if o.Resume != "" {
		argv = append(argv, "--resume", o.Resume)
	} else {
		argv = append(argv, "--session-id", fresh)
	}
	// The settings of the project hold hooks, servers and variables: programs of
	// the repository that would run unasked. Its CLAUDE.md comes in as that of an
	// additional directory.
	argv = append(argv, "--setting-sources", "user", "--add-dir="+o.Dir)
	argv = append(argv, limits...)
	if !o.UserServers || o.Sandbox == agent.ReadOnly {
		argv = append(argv, "--strict-mcp-config") // those of MCPConfig alone
	}
	if model := o.Choice().Model; model != "" {
		argv = append(argv, "--model="+model)
	}
	if o.System != "" {
		argv = append(argv, "--append-system-prompt="+o.System)
	}
	if o.MCPConfig != "" {
		argv = append(argv, "--mcp-config="+o.MCPConfig)
	}
	argv = append(argv, repeatFlag("--add-dir=", o.Dirs)...)
	argv = append(argv, repeatFlag("--allowedTools=", o.Tools)...)
	forbidden := slices.Concat(noTools, o.NoTools)
	if !o.Network {
		forbidden = append(forbidden, netTools...)
	}
	return append(argv, repeatFlag("--disallowedTools=", forbidden)...), nil
}

func repeatFlag(flag string, values []string) []string {
	list := make([]string, 0, len(values))
	for _, v := range values {
		list = append(list, flag+v)
	}
	return list
}

// limitsOf are the arguments that hold the sandbox (docs/contracts/claude-code.md, 11). The mode is
// always named, or the user's settings would choose it.
func sandboxArgs(o agent.Options) ([]string, error) {
	mode := cmp.Or(o.Choice().Mode, defaultMode(o.Sandbox))
	if !slices.ContainsFunc(modes, func(m agent.Mode) bool { return m.Code == mode }) {
		return nil, badRequest("no mode %q: choose one of %s", mode, strings.Join(modeCodes(), ", "))
	}
	switch {
	case o.Sandbox == agent.ReadOnly:
		return []string{"--permission-mode", askMode, "--tools", readTools}, nil
	case o.Sandbox != agent.WorkspaceWrite && o.Sandbox != agent.FullAccess:
		return nil, badRequest("no sandbox %q", o.Sandbox)
	case mode != bypassMode:
		return []string{"--permission-mode", mode}, nil
	case o.Sandbox != agent.FullAccess:
		return nil, badRequest("mode %s needs the sandbox %s", bypassMode, agent.FullAccess)
	case os.Geteuid() == 0:
		return nil, unavailableError(rootRefused)
	}
	return []string{"--dangerously-skip-permissions"}, nil
}

func defaultMode(s agent.Sandbox) string {
	if s == agent.FullAccess {
		return bypassMode
	}
	return askMode
}
