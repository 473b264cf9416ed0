package claude

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// passedNames are the variables of ours that the client sees: variables that a
// program needs, and those by which it reaches the network and the model. Names
// with one of the passedPrefixes are passed as well.
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

// strippedNames are variables that only claim that there is a sandbox. They lift
// the client's refusal to bypass permissions as root (CLIENT.md, 11).
var strippedNames = []string{"IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"}

// fixedVariables switch off actions of the client that it was not asked for.
var fixedVariables = map[string]string{
	"DISABLE_AUTOUPDATER":                      "1",
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	// A result then ends a turn: no task outlasts it and begins another turn.
	"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
	// An @ in a prompt would read any file without a permission.
	"CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
	// A session would read in its prompt what an agent of an earlier one in the same checkout has written.
	ForgetVariable: "1",
	// With --setting-sources user, this makes the client read the project's CLAUDE.md.
	"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1",
}

// ForgetVariable makes the client, also behind a bridge, load no memory of a directory.
const ForgetVariable = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"

const maxOutputVariable = "CLAUDE_CODE_MAX_OUTPUT_TOKENS"

// clientEnviron returns the whole environment of the client.
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

// BinaryVariable names the program of the client, if it is not claude on PATH.
const BinaryVariable = "CLAUDE_BIN"

// Argv returns the command line of the client that an environment names.
func Argv(environ []string) ([]string, error) {
	return []string{cmp.Or(child.ParseEnviron(environ)[BinaryVariable], "claude")}, nil
}

// findBinary returns the absolute path of the client's program.
func (a *adapter) findBinary() (string, error) {
	return child.FindProgram(cmp.Or(a.Binary, "claude"), child.ParseEnviron(a.Environ)["PATH"])
}
