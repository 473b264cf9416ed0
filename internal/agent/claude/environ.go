package claude

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// passed are the variables of ours that the client sees: what a program needs,
// how it reaches the network, and how it reaches the model. The names that
// begin like passedPrefixes go with them.
var (
	passedNames = []string{
		"PATH", "HOME", "USER", "LANG", "TMPDIR", "TERM",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_MAX_RETRIES",
		"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
		"CLAUDE_CODE_SKIP_BEDROCK_AUTH", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
		"CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
	}
	passedPrefixes = []string{"LC_", "ANTHROPIC_"}
)

// stripped only claim that there is a sandbox, and lift the client's refusal
// to bypass permissions as root (docs/contracts/claude-code.md, 11).
var strippedNames = []string{"IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"}

// switches keep the client from what nobody asked it for.
var fixedVariables = map[string]string{
	"DISABLE_AUTOUPDATER":                      "1",
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	// A result then ends a turn: no task goes on, and begins another when it ends.
	"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
	// An @ in a prompt would read any file, unasked.
	"CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
	// With --setting-sources user, the way to the CLAUDE.md of the project.
	"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1",
}

const maxOutputVariable = "CLAUDE_CODE_MAX_OUTPUT_TOKENS"

// environ is the whole environment of the client.
func (a *adapter) clientEnviron(o agent.Options) []string {
	ours := child.ParseEnviron(a.Environ)
	extra := maps.Clone(fixedVariables)
	if o.MaxOutputTokens > 0 {
		extra[maxOutputVariable] = strconv.Itoa(o.MaxOutputTokens)
	}
	maps.Copy(extra, child.ParseEnviron(o.Env))
	for _, name := range strippedNames {
		delete(ours, name)
		delete(extra, name)
	}
	return child.BuildEnviron(ours, slices.Concat(passedNames, a.Allow), passedPrefixes, extra)
}

// find is the absolute path of the client's program.
func (a *adapter) findBinary() (string, error) {
	return child.FindProgram(cmp.Or(a.Binary, "claude"), child.ParseEnviron(a.Environ)["PATH"])
}
