package acp

import (
	"maps"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// base are the variables that every agent sees: what any program needs, the way
// to the network, and the keys and the homes of the agents that we know.
var base = []string{
	"PATH", "HOME", "USER", "LANG", "TMPDIR", "TERM",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL",
	"GEMINI_API_KEY", "GOOGLE_API_KEY", "CODEX_HOME",
}

// families begin the names of further ones.
var families = []string{"LC_", "XDG_", "OPENCODE_"}

// switches keep opencode from what the repository that it works in would have
// it do: its settings could allow all tools, and name plugins to run. Other
// agents do not know them.
var switches = map[string]string{"OPENCODE_DISABLE_PROJECT_CONFIG": "1"}

// asking has opencode ask about whatever changes something or reaches out, as
// it does not by default.
const (
	asking         = "OPENCODE_PERMISSION"
	whatToAskAbout = `{"*":"ask","read":{"*":"allow","*.env":"ask","*.env.*":"ask","*.env.example":"allow"},` +
		`"glob":"allow","grep":"allow","list":"allow","lsp":"allow","skill":"allow","todoread":"allow","todowrite":"allow",` +
		`"question":"deny","plan_enter":"deny","plan_exit":"deny"}`
)

// environ is the environment of the agent; what the options add wins.
func (a *adapter) environ(o agent.Options) []string {
	extra := maps.Clone(switches)
	if o.Sandbox != agent.FullAccess {
		extra[asking] = whatToAskAbout
	}
	maps.Copy(extra, child.ParseEnviron(o.Env))
	return child.BuildEnviron(child.ParseEnviron(a.Environ), slices.Concat(base, a.Allow), families, extra)
}
