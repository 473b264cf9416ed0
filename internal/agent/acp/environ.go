package acp

import (
	"maps"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
)

// passedNames are the variables that every agent sees: variables that any program
// needs, those for the network, and the keys and homes of the agents that we know.
var passedNames = []string{
	"PATH", "HOME", "USER", "LANG", "TMPDIR", "TERM",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL",
	"GEMINI_API_KEY", "GOOGLE_API_KEY", "CODEX_HOME",
}

// passedPrefixes are the prefixes of further variables that every agent sees.
var passedPrefixes = []string{"LC_", "XDG_", "OPENCODE_"}

// fixedVariables stop opencode from loading the settings of the repository in
// which it works: they could allow all tools, and name plugins to run. Other
// agents do not know these variables.
var fixedVariables = map[string]string{"OPENCODE_DISABLE_PROJECT_CONFIG": "1"}

// permissionVariable makes opencode ask about every call that changes something
// or reaches out, which it does not by default.
const (
	permissionVariable = "OPENCODE_PERMISSION"
	permissionRules    = `{"*":"ask","read":{"*":"allow","*.env":"ask","*.env.*":"ask","*.env.example":"allow"},` +
		`"glob":"allow","grep":"allow","list":"allow","lsp":"allow","skill":"allow","todoread":"allow","todowrite":"allow",` +
		`"question":"deny","plan_enter":"deny","plan_exit":"deny"}`
)

// agentEnviron returns the environment of the agent; the variables of o win.
func (a *adapter) agentEnviron(o agent.Options) []string {
	extra := maps.Clone(fixedVariables)
	if o.Sandbox != agent.FullAccess {
		extra[permissionVariable] = permissionRules
	}
	if o.NoMemory {
		extra[claude.ForgetVariable] = "1"
	}
	maps.Copy(extra, child.ParseEnviron(o.Env))
	return child.BuildEnviron(child.ParseEnviron(a.Environ), slices.Concat(passedNames, a.Allow), passedPrefixes, extra)
}
