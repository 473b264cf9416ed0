package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// passed are the variables of ours that the client sees, and LC_*: what a
// program needs, how it reaches the network, and how it reaches the model.
var passed = []string{
	"PATH", "HOME", "CODEX_HOME", "USER", "LANG", "TMPDIR", "TERM",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CODEX_CA_CERTIFICATE",
	keyVariable, "OPENAI_BASE_URL",
}

// keyVariable is for the client alone: its tools do not see it.
const keyVariable = "OPENAI_API_KEY"

// environ is the whole environment of the client; the entries of extra win.
func (a *adapter) environ(extra []string) []string {
	ours := valuesOf(a.Environ)
	names := slices.Concat(passed, a.Allow)
	for name := range ours {
		if strings.HasPrefix(name, "LC_") {
			names = append(names, name)
		}
	}
	lookup := func(name string) (string, bool) {
		value, ok := ours[name]
		return value, ok
	}
	return proc.Environ(lookup, names, valuesOf(extra))
}

func valuesOf(environ []string) map[string]string {
	values := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	return values
}

func valueOf(environ []string, name string) string { return valuesOf(environ)[name] }

// find is the absolute path of the client's program. The error names every
// place that was looked at.
func (a *adapter) find() (string, error) {
	name := a.Binary
	if name == "" {
		name = "codex"
	}
	if strings.Contains(name, "/") {
		path, err := filepath.Abs(name)
		if err != nil {
			return "", fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
		}
		if !executable(path) {
			return "", fmt.Errorf("%w: no executable file %s", agent.ErrUnavailable, path)
		}
		return path, nil
	}
	var tried []string
	for _, dir := range filepath.SplitList(valueOf(a.Environ, "PATH")) {
		if !filepath.IsAbs(dir) { // what runs must not depend on where we are
			continue
		}
		path := filepath.Join(dir, name)
		if executable(path) {
			return path, nil
		}
		tried = append(tried, path)
	}
	return "", fmt.Errorf("%w: no %s on PATH: looked for %s", agent.ErrUnavailable, name, strings.Join(tried, ", "))
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
