package acp

import "github.com/ratchet-dev/ratchet/internal/agent"

// habits holds the facts about an agent that it does not declare
// (CLIENT.md, 3 and 4).
type habits struct {
	// forSession says that the agent keeps an option labelled "for this session" no
	// longer than that.
	forSession bool
	// forgets says that the agent loads no session of an earlier process, regardless
	// of its declarations.
	forgets bool
	// prefixes says that the id of a call is the tool's name, two underscores,
	// and the rest.
	prefixes bool
	// names says that the agent names its messages: text without a name is a warning.
	names bool
	// modes holds, for a sandbox, the mode in which the agent asks its user about
	// every action that the sandbox forbids, regardless of its own settings. In other
	// modes it asks a model, or does not ask.
	modes map[agent.Sandbox]string
	// meta goes with the request that opens a session, in the agent's own words.
	meta any
	// cost and context say that the agent reports these.
	cost, context bool
	// short describes the agent's limitations, for the manifest.
	short string
}

// knownAgents holds the agents that we know, by the names that they report.
var knownAgents = map[string]habits{
	"OpenCode": {cost: true, context: true},
	"@agentclientprotocol/claude-agent-acp": {
		forSession: true, cost: true, context: true,
		// The settings of a repository could allow tools, and run hooks. This leaves
		// out its CLAUDE.md as well.
		meta: map[string]any{"claudeCode": map[string]any{"options": map[string]any{"settingSources": []string{"user"}}}},
		// In its mode plan a model decides about commands.
		modes: map[agent.Sandbox]string{agent.ReadOnly: "default", agent.WorkspaceWrite: "default"},
	},
	"gemini-cli": {
		forSession: true, forgets: true, prefixes: true,
		modes: map[agent.Sandbox]string{agent.WorkspaceWrite: "default"},
		short: "its sessions end with their process, and the settings of a repository can allow it tools",
	},
	// Its option allow_always is a rule that outlives the session.
	"@agentclientprotocol/codex-acp": {
		names: true, context: true,
		modes: map[agent.Sandbox]string{agent.WorkspaceWrite: "workspace-write"},
	},
}

func habitsOf(name string) habits {
	if h, ok := knownAgents[name]; ok {
		return h
	}
	return habits{short: "an agent unknown to this adapter"}
}
