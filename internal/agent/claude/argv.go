package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// The modes of the client that a caller can choose.
const (
	askMode    = "default"
	editMode   = "acceptEdits"
	planMode   = "plan"
	bypassMode = "bypassPermissions"
)

// readTools are the only tools of a read-only session. Plan mode is no sandbox:
// it writes if it is allowed to (CLIENT.md, 1).
const readTools = "Read,Grep,Glob"

// noTools are never offered: the first three would wait for a person at a
// terminal, the next three begin turns that the caller did not send. Then come
// those that find the user's other sessions and write prompts into them, and
// those that leave the working directory. The client asks about none of these.
var noTools = []string{
	"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "CronCreate", "ScheduleWakeup", "Monitor",
	"ListAgents", "SendMessage", "EnterWorktree", "ExitWorktree",
}

// noInbound lets no other session of the user's begin a turn, or answer in one:
// a session that we did not start may have the tools that noTools takes away.
const noInbound = `{"crossSessionInbound":"refuse"}`

// netTools reach the network by themselves. Commands reach it too, but they need
// a permission.
var netTools = []string{"WebFetch", "WebSearch"}

// clientArgs returns the arguments of the client (CLIENT.md, 3).
// A value that the caller chose is in one argument with its flag, so that no
// value is taken for a flag.
func clientArgs(o agent.Options, fresh string) ([]string, error) {
	limits, err := sandboxArgs(o)
	if err != nil {
		return nil, err
	}
	argv := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio", "--replay-user-messages",
	}
	if o.Resume != "" {
		argv = append(argv, "--resume", o.Resume)
	} else {
		argv = append(argv, "--session-id", fresh)
	}
	// The settings of the project hold hooks, servers and variables: programs of
	// the repository that would run unasked. Its CLAUDE.md is read because the
	// project is also named as an additional directory.
	argv = append(argv, "--setting-sources", "user", "--settings="+noInbound, "--add-dir="+o.Dir)
	argv = append(argv, limits...)
	if !o.UserServers || o.Sandbox == agent.ReadOnly {
		argv = append(argv, "--strict-mcp-config") // only the servers of o
	}
	if model := o.Choice().Model; model != "" {
		argv = append(argv, "--model="+model)
	}
	if o.System != "" {
		argv = append(argv, "--append-system-prompt="+o.System)
	}
	if len(o.Servers) > 0 {
		servers, err := json.Marshal(map[string]any{"mcpServers": child.ServerTables(o.Servers)})
		if err != nil {
			return nil, err
		}
		argv = append(argv, "--mcp-config="+string(servers))
	}
	argv = append(argv, repeatFlag("--add-dir=", slices.Concat(o.Dirs, o.ReadDirs))...)
	argv = append(argv, repeatFlag("--allowedTools=", slices.Concat(o.Tools, bridgeTools(o.Bridge)))...)
	forbidden := slices.Concat(noTools, o.NoTools)
	if !o.Network {
		forbidden = append(forbidden, netTools...)
	}
	return append(argv, repeatFlag("--disallowedTools=", forbidden)...), nil
}

// bridgeTools returns the names of the bridge's tools as the client has them.
func bridgeTools(b *agent.Bridge) (names []string) {
	if b == nil {
		return nil
	}
	for _, tool := range b.Tools {
		names = append(names, "mcp__"+b.Name+"__"+tool)
	}
	return names
}

// CheckOptions implements agent.OptionChecker.
func (a *adapter) CheckOptions(_ context.Context, o agent.Options) error {
	if _, err := child.FindServers(o.Servers, child.ParseEnviron(a.clientEnviron(o))["PATH"]); err != nil {
		return err
	}
	_, err := sandboxArgs(o)
	return err
}

func repeatFlag(flag string, values []string) []string {
	list := make([]string, 0, len(values))
	for _, v := range values {
		list = append(list, flag+v)
	}
	return list
}

// sandboxArgs returns the arguments that enforce the sandbox
// (CLIENT.md, 11). They always name the mode, because the
// user's settings would choose it otherwise.
func sandboxArgs(o agent.Options) ([]string, error) {
	mode := cmp.Or(o.Choice().Mode, defaultMode(o.Sandbox))
	if !slices.ContainsFunc(modes, func(m agent.Mode) bool { return m.Code == mode }) {
		return nil, badRequest("unknown mode %q: choose one of %s", mode, strings.Join(modeCodes(), ", "))
	}
	switch {
	case o.Sandbox == agent.ReadOnly:
		return []string{"--permission-mode", askMode, "--tools", readTools}, nil
	case o.Sandbox != agent.WorkspaceWrite && o.Sandbox != agent.FullAccess:
		return nil, badRequest("unknown sandbox %q", o.Sandbox)
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
