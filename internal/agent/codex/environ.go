package codex

import (
	"cmp"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// passedNames, and LC_*, are the variables of ours that the client sees:
// variables that a program needs, and those by which it reaches the network and
// the model.
var passedNames = []string{
	"PATH", "HOME", "CODEX_HOME", "USER", "LANG", "TMPDIR", "TERM",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CODEX_CA_CERTIFICATE",
	keyVariable, "OPENAI_BASE_URL",
}

// keyVariable is for the client alone: its tools do not see it.
const keyVariable = "OPENAI_API_KEY"

// clientEnviron returns the whole environment of the client; the entries of extra
// win.
func (a *adapter) clientEnviron(extra []string) []string {
	return child.BuildEnviron(child.ParseEnviron(a.Environ), slices.Concat(passedNames, a.Allow), []string{"LC_"}, child.ParseEnviron(extra))
}

// BinaryVariable names the program of the client, if it is not codex on PATH.
const BinaryVariable = "CODEX_BIN"

// Argv returns the command line of the client that an environment names.
func Argv(environ []string) ([]string, error) {
	return []string{cmp.Or(child.ParseEnviron(environ)[BinaryVariable], "codex")}, nil
}

// findBinary returns the absolute path of the client's program.
func (a *adapter) findBinary() (string, error) {
	return child.FindProgram(cmp.Or(a.Binary, "codex"), child.ParseEnviron(a.Environ)["PATH"])
}
