package acp

import "github.com/ratchet-dev/ratchet/internal/agent"

// habits are what is known of an agent beyond what it declares (docs/contracts/acp.md, 3 and 4).
type habits struct {
	// forSession says that an option which it labels as one for this session is
	// kept no longer.
	forSession bool
	// forgets says that it loads no session of an earlier process, whatever it
	// declares.
	forgets bool
	// prefixes says that the id of a call is the tool's name, two underscores,
	// and the rest.
	prefixes bool
	// names says that it names its messages: text without a name is a warning.
	names bool
	// modes are those in which it asks whoever uses it about what a sandbox is to
	// keep it from, whatever its own settings are: elsewhere it asks a model, or
	// nobody.
	modes map[agent.Sandbox]string
	// meta goes with the request that opens a session, in its own words.
	meta any
	// cost and context say that it reports these.
	cost, context bool
	// short is what it lacks, for the manifest.
	short string
}

// agents are the agents that we know, by the names that they give themselves.
var agents = map[string]habits{
	"OpenCode": {cost: true, context: true},
	"@agentclientprotocol/claude-agent-acp": {
		forSession: true, cost: true, context: true,
		// The settings of a repository could allow tools, and run hooks. Its
		// CLAUDE.md goes with them.
		meta: map[string]any{"claudeCode": map[string]any{"options": map[string]any{"settingSources": []string{"user"}}}},
		// In its mode plan a model decides on commands.
		modes: map[agent.Sandbox]string{agent.ReadOnly: "default", agent.WorkspaceWrite: "default"},
	},
	"gemini-cli": {
		forSession: true, forgets: true, prefixes: true,
		modes: map[agent.Sandbox]string{agent.WorkspaceWrite: "default"},
		short: "its sessions end with their process, and the settings of a repository can allow it tools",
	},
	// What it offers as allow_always is a rule that outlives the session.
	"@agentclientprotocol/codex-acp": {
		names: true, context: true,
		modes: map[agent.Sandbox]string{agent.WorkspaceWrite: "workspace-write"},
	},
}

func habitsOf(name string) habits {
	if h, ok := agents[name]; ok {
		return h
	}
	return habits{short: "an agent that this adapter does not know"}
}
